# cython: annotation_typing=False
"""The straight way to a queue: a request is encoded by one function, written, and its answer turned into a receipt.

It is open while the queue's broker is connected and requests need no signature. Who takes it goes on by the careful way
(`sending.py`) when it is shut, or when what was sent there failed.
"""

from __future__ import annotations

from random import randrange
from typing import TYPE_CHECKING

from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import SendFrames

if TYPE_CHECKING:
    from sprocketmq.client.cluster.transport import Transport
    from sprocketmq.remoting.connection import Connection


class Lane:
    """The way to one queue."""

    __slots__ = ("_transport", "address", "batches", "queue", "singles")

    def __init__(
        self, transport: Transport, address: str, queue: MessageQueue, singles: SendFrames, batches: SendFrames
    ) -> None:
        self._transport = transport
        self.address = address
        self.queue = queue
        self.singles = singles
        self.batches = batches

    def connection(self) -> Connection | None:
        """None while the way is shut."""
        return self._transport.straight(self.address)


class TopicLanes:
    """The lanes of a topic, as long as its route stays. `turn` counts the messages that took the next one in order."""

    __slots__ = ("by_queue", "in_order", "route", "turn")

    def __init__(self, route: Route, lanes: list[Lane], turn: int) -> None:
        self.route = route
        self.in_order = lanes
        self.by_queue = {lane.queue: lane for lane in lanes}
        self.turn = turn


class Lanes:
    """The lanes of one producer group."""

    __slots__ = ("_group", "_settings", "_topics", "_transport")

    def __init__(self, transport: Transport, group: str, settings: ProducerSettings) -> None:
        self._transport = transport
        self._group = group
        self._settings = settings
        self._topics: dict[str, TopicLanes] = {}

    def of(self, route: Route) -> TopicLanes:
        lanes = self._topics.get(route.topic)
        if lanes is None or lanes.route is not route:
            turn = randrange(1 << 16) if lanes is None else lanes.turn  # many that send once spread over the queues
            lanes = self._topics[route.topic] = TopicLanes(route, self._make(route), turn)
        return lanes

    def _make(self, route: Route) -> list[Lane]:
        lanes = []
        for queue in route.write_queues:
            address = route.master(queue.broker_name)
            if address is not None:
                frames = self._frames(queue, False), self._frames(queue, True)
                lanes.append(Lane(self._transport, address, queue, *frames))
        return lanes

    def _frames(self, queue: MessageQueue, is_batch: bool) -> SendFrames:
        return SendFrames(
            RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2,
            group=self._group, topic=queue.topic, default_topic=AUTO_CREATE_TOPIC,
            topic_queues=self._settings.topic_queues, queue_id=queue.queue_id, broker_name=queue.broker_name,
            is_batch=is_batch,
        )  # fmt: skip
