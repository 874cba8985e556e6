# cython: annotation_typing=False
"""The way to each queue that messages go to, kept as long as the route of its topic stays.

A `QueueRoute` is a cached answer to "where is this queue, and what does a request to it look like?": the address of its
master, the connection while that is open, and the part of a frame that all requests to the queue have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import randrange
from typing import TYPE_CHECKING, Protocol, TypeVar

from sprocketmq.client.arguments import check_queue
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.errors import Unreachable
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import SendFrames

if TYPE_CHECKING:
    from sprocketmq.client.cluster.transport import Transport
    from sprocketmq.remoting.connection import Connection


class _OnBroker(Protocol):
    @property
    def broker_name(self) -> str: ...


Q = TypeVar("Q", bound=_OnBroker)


class QueueRoute:
    __slots__ = ("_connection", "_transport", "address", "broker_name", "frames", "queue")

    def __init__(self, transport: Transport, address: str, queue: MessageQueue, frames: SendFrames) -> None:
        self._transport = transport
        self._connection: Connection | None = None
        self.address = address
        self.queue = queue
        self.broker_name = queue.broker_name
        self.frames = frames

    def connection(self) -> Connection | None:
        """None while the broker is not connected. The transport is asked again only when the connection has ended."""
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._transport.connected(self.address)
        return connection


class TopicRoutes:
    """The queues of a topic that have a master, as long as `route` stays. `turn` counts the choices among them."""

    __slots__ = ("_make", "by_queue", "in_order", "route", "turn")

    def __init__(self, route: Route, turn: int, make: Callable[[MessageQueue, str], QueueRoute]) -> None:
        self.route = route
        self.turn = turn
        self._make = make
        masters = [(queue, route.master(queue.broker_name)) for queue in route.write_queues]
        self.in_order = [make(queue, address) for queue, address in masters if address is not None]
        self.by_queue = {made.queue: made for made in self.in_order}

    def to(self, queue: MessageQueue) -> QueueRoute:
        """Also to a queue that the route does not list: it is the broker's to refuse it."""
        found = self.by_queue.get(queue)
        if found is not None:
            return found
        check_queue(queue)
        if queue.topic != self.route.topic:  # the message would be stored there
            raise ValueError(f"the queue {queue} does not belong to topic {self.route.topic}")
        address = self.route.master(queue.broker_name)
        if address is None:
            raise Unreachable(queue.broker_name, "its master is not in the route")
        return self._make(queue, address)

    def next(self, avoid: str | None, is_available: Callable[[str], bool] | None) -> QueueRoute:
        """The next in turn; see `in_turn`."""
        if not self.in_order:
            return self.to(self.route.write_queues[0])
        self.turn += 1
        return in_turn(self.in_order, self.turn, avoid, is_available)


class QueueRoutes:
    """Those of one producer group."""

    __slots__ = ("_group", "_queue_count", "_topics", "_transport")

    def __init__(self, transport: Transport, group: str, settings: ProducerSettings) -> None:
        self._transport = transport
        self._group = group
        self._queue_count = settings.topic_queues
        self._topics: dict[str, TopicRoutes] = {}

    def of(self, route: Route) -> TopicRoutes:
        routes = self._topics.get(route.topic)
        if routes is None or routes.route is not route:
            # Many that send once spread over the queues.
            turn = randrange(1 << 16) if routes is None else routes.turn  # noqa: S311
            routes = self._topics[route.topic] = TopicRoutes(route, turn, self._make)
        return routes

    def _make(self, queue: MessageQueue, address: str) -> QueueRoute:
        frames = SendFrames(
            group=self._group, topic=queue.topic, default_topic=AUTO_CREATE_TOPIC, topic_queues=self._queue_count,
            queue_id=queue.queue_id, broker_name=queue.broker_name, sign=self._transport.sign,
        )  # fmt: skip
        return QueueRoute(self._transport, address, queue, frames)


def in_turn(
    queues: Sequence[Q], turn: int, avoid: str | None = None, is_available: Callable[[str], bool] | None = None
) -> Q:
    """The queue whose turn it is, on a broker that `is_available`, and not on the one that has just failed.

    When no broker is available the order of turns is kept: sending somewhere beats not sending.
    """
    count = len(queues)
    if avoid is None and is_available is None:
        return queues[turn % count]
    order = [queues[(turn + i) % count] for i in range(count)]
    favoured = [queue for queue in order if is_available is None or is_available(queue.broker_name)]
    elsewhere = [queue for queue in favoured or order if queue.broker_name != avoid]
    return (elsewhere or favoured or order)[0]
