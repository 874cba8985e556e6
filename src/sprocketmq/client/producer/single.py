# cython: annotation_typing=False
"""A single send by the straight way: from the message to the frame to the receipt, with nothing in between.

It is for what most sends are: no hook looks on, the queue is the next in turn, the body is not compressed, and the
broker is connected. The rest goes by the careful way, and so does what has failed here.
"""

from __future__ import annotations

import asyncio
import time

from sprocketmq.client.cluster.identity import id_block
from sprocketmq.client.errors import ClientError
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.producer.encoder import Encoder, Outgoing, check_properties
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.producer.straight import Lane
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.errors import RemotingError
from sprocketmq.protocol.command import Command

_BLOCK = 256  # ids that are taken at once ...
_BLOCK_S = 0.1  # ... and used within this time: an id tells when it was made


class Flight:
    """One request that is on its way; `answer` brings what the broker says."""

    __slots__ = ("answer", "born_ms", "deadline", "key", "lane", "message", "properties", "started")

    message: Message
    lane: Lane
    key: str
    properties: str
    born_ms: int
    started: float
    deadline: float
    answer: asyncio.Future[Command]

    def outgoing(self) -> Outgoing:
        """The same message for the careful way."""
        message = self.message
        return Outgoing(
            self.lane.queue.topic, bytes(message.body), self.key, self.properties, message.flag, 0, self.born_ms
        )


class SingleSends:
    """Those of one producer."""

    __slots__ = (
        "_compress_over", "_encoder", "_extra", "_first_id", "_ids_head", "_ids_left", "_ids_until", "_known", "_lanes",
        "_loop", "_max_message_bytes", "_sender", "_timeout", "_transport", "_watches",
    )  # fmt: skip

    def __init__(self, sender: Sender, encoder: Encoder, settings: ProducerSettings) -> None:
        self._sender = sender
        self._encoder = encoder
        self._known = sender.instance.routes.known
        self._lanes = sender.lanes
        self._transport = sender.instance.transport
        self._loop = asyncio.get_running_loop()
        self._timeout = settings.send_timeout
        self._max_message_bytes = settings.max_message_bytes
        self._compress_over = settings.max_message_bytes if settings.compression == "none" else settings.compress_over
        self._watches = settings.avoid_slow_brokers
        self._extra = encoder.property_text(None, with_namespace=True)
        self._ids_head = ""
        self._first_id = self._ids_left = 0
        self._ids_until = 0.0

    def launch(self, message: Message, timeout: float | None) -> Flight | None:
        """Send it now; None when it has to go by the careful way."""
        message.validate(self._max_message_bytes)
        if message.sharding_key is not None or len(message.body) >= self._compress_over:
            return None
        lane = self._next_lane(self._encoder.topic(message.topic))
        connection = None if lane is None else lane.connection()
        if lane is None or connection is None:
            return None
        flight = Flight.__new__(Flight)
        flight.message = message
        flight.lane = lane
        flight.started = self._loop.time()
        seconds = self._timeout if timeout is None else timeout
        flight.deadline = flight.started + seconds
        flight.key = self._next_key(flight.started)
        flight.properties = check_properties(message.property_text(flight.key, self._extra))
        flight.born_ms = time.time_ns() // 1_000_000
        opaque, flight.answer = connection.expect(seconds)
        body = message.body if type(message.body) is bytes else bytes(message.body)
        connection.put(lane.singles.whole(opaque, flight.born_ms, message.flag, flight.properties.encode(), body))
        return flight

    def landed(self, flight: Flight, answer: Command) -> SendReceipt:
        """Raises Refused when the broker did not store it."""
        lane = flight.lane
        if self._watches:
            self._sender.took(lane.queue, flight.started)
        return receipt_of(answer, flight.key, lane.queue, lane.address)

    def lost(self, flight: Flight, error: RemotingError) -> ClientError:
        """No answer came: what that is called among the client's errors."""
        self._sender.took(flight.lane.queue, flight.started, failed=True)
        return self._transport.failure(flight.lane.address, error, flight.deadline - flight.started)

    def _next_lane(self, topic: str) -> Lane | None:
        route = self._known(topic)
        if route is None or not route.write_queues:
            return None
        lanes = self._lanes.of(route)
        if self._watches:
            return lanes.by_queue.get(self._sender.next_queue(topic, route.write_queues))
        lanes.turn += 1
        return lanes.in_order[lanes.turn % len(lanes.in_order)] if lanes.in_order else None

    def _next_key(self, now: float) -> str:
        if self._ids_left == 0 or now > self._ids_until:
            self._ids_head, self._first_id = id_block(_BLOCK)
            self._ids_left, self._ids_until = _BLOCK, now + _BLOCK_S
        self._ids_left -= 1
        counter = self._first_id + self._ids_left & 0xFFFF
        return f"{self._ids_head}{counter:04X}"
