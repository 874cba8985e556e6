"""From rows to the broker: batches per queue, several queues at a time.

    RowSender -> EntryFill -> RowSender.send_batch -> Pipeline          each calls the next, and none comes back

Rows that say where they go (queueId, shardingKey) are gathered per queue and keep their order. The others fill one
batch after the other, each for the next queue in turn. Delayed rows travel alone: a batch cannot hold them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from sprocketmq.client.blocking.connection import BlockingCluster, BlockingConnection
from sprocketmq.client.blocking.ordered_requests import OrderedRequest, Pipeline
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.errors import NoRoute
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.sysflag import TRANSACTION_PREPARED
from sprocketmq.protocol.requests.send_frame import Payload, SendFrames
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.write.batches import QueueBatch, TopicBatches
from sprocketmq.spark.write.rows import BadRow, EntryFill

_ELECTING_S = 0.1

#: Told where a message was stored, and what the broker said.
Stored = Callable[[MessageQueue, Command], None]


class BetweenMasters(NoRoute):
    """The brokers of a topic are there, and elect who takes messages."""


class RowSender:
    """Sends the rows of one task. A topic's queues are those it had when its first row came."""

    def __init__(self, cluster: BlockingCluster, options: SinkOptions) -> None:
        self._cluster, self._options = cluster, options
        self._topic = options.topic
        self._group = options.connect.full_name(options.group)
        self._pipeline = Pipeline(cluster, options.patience)
        self._topics: dict[str, TopicBatches] = {}
        self._frames: dict[MessageQueue, SendFrames] = {}
        self._turns: dict[str, int] = {}
        # Tasks that begin together begin with different queues.
        self._first_turn = random.randrange(1 << 16)  # noqa: S311

    def send(self, rows: EntryFill, row: int, end: int) -> None:
        """Take rows; they are on their way when their batch is full, and stored when `flush` returns."""
        while row < end:
            until = end if self._topic is not None else rows.topic_end(row, end)
            rows.fill(self._batches(rows, row), row, until, self)
            row = until

    def send_half(self, rows: EntryFill, row: int, stored: Stored) -> None:
        """Store a row where no consumer sees it yet."""
        if rows.delay(row):
            raise BadRow("delayLevel cannot be used with delivery exactly-once: a half message has no delay")
        self._send_alone(rows, row, rows.batch_of(self._batches(rows, row), row), TRANSACTION_PREPARED, stored)

    def flush(self) -> None:
        for batches in self._topics.values():
            for batch in batches.held():
                self.send_batch(batch)
        self._pipeline.flush()

    # -- where a row goes ---------------------------------------------------------------------------------------------

    def _batches(self, rows: EntryFill, row: int) -> TopicBatches:
        """Those of the row's topic; the option goes before the column."""
        name = rows.topic(row) if self._topic is None else self._topic
        found = self._topics.get(name)
        if found is None:
            topic = self._options.connect.full_name(name)
            found = self._topics[name] = TopicBatches(topic, self._route(topic).write_queues)
        return found

    def _queue(self, batch: QueueBatch) -> MessageQueue:
        """That of the batch, or the next in turn."""
        if batch.queue is not None:
            return batch.queue
        queues = self._route(batch.topic).write_queues
        turn = self._turns[batch.topic] = self._turns.get(batch.topic, self._first_turn) + 1
        return queues[turn % len(queues)]

    def _route(self, topic: str) -> Route:
        deadline = time.monotonic() + self._options.patience
        while True:
            try:
                return route_to_send(self._cluster, topic, self._options.topic_queues)
            except BetweenMasters:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_ELECTING_S)

    # -- requests -----------------------------------------------------------------------------------------------------

    def send_batch(self, batch: QueueBatch) -> None:
        """What it holds goes out; it is empty afterwards."""
        if batch.rows:
            queue = self._queue(batch)
            self._submit(queue, Payload(queue.topic, batch.take(), b"", code=RequestCode.SEND_BATCH_MESSAGE))

    def send_delayed(self, rows: EntryFill, row: int, batch: QueueBatch) -> None:
        """A row that the batch cannot hold, to the same queue."""
        self._send_alone(rows, row, batch)

    def _send_alone(
        self, rows: EntryFill, row: int, batch: QueueBatch, sys_flag: int = 0, stored: Stored | None = None
    ) -> None:
        queue = self._queue(batch)
        flag, body, octets = rows.alone(row)
        properties = octets.decode("utf-8", "replace").encode()  # a header is text, whatever the row holds
        self._submit(queue, Payload(queue.topic, body, properties, flag=flag, sys_flag=sys_flag), stored)

    def _submit(self, queue: MessageQueue, payload: Payload, stored: Stored | None = None) -> None:
        payload.born_ms = time.time_ns() // 1_000_000
        frames = self._frames.get(queue)
        if frames is None:
            frames = self._frames[queue] = SendFrames(
                group=self._group, topic=queue.topic, default_topic=AUTO_CREATE_TOPIC,
                topic_queues=self._options.topic_queues, queue_id=queue.queue_id, broker_name=queue.broker_name,
                sign=self._cluster.sign,
            )  # fmt: skip
        self._pipeline.submit(SendRows(queue, frames, payload, self._options.topic_queues, stored))


class SendRows(OrderedRequest):
    """A batch of rows, or one row, for one queue."""

    __slots__ = ("_frames", "_payload", "_queue", "_stored", "_topic_queues")

    def __init__(
        self, queue: MessageQueue, frames: SendFrames, payload: Payload, topic_queues: int, stored: Stored | None
    ) -> None:
        super().__init__(queue)
        self._queue, self._frames, self._payload = queue, frames, payload
        self._topic_queues, self._stored = topic_queues, stored

    def address(self, cluster: BlockingCluster) -> str:
        route = route_to_send(cluster, self._queue.topic, self._topic_queues)
        return route.master(self._queue.broker_name) or cluster.address(self._queue)

    def write(self, connection: BlockingConnection) -> int:
        number = connection.next_number()
        connection.put(self._frames.whole(self._payload, number))
        return number

    def answered(self, answer: Command) -> None:
        if self._stored is not None:
            self._stored(self._queue, answer)


def route_to_send(cluster: BlockingCluster, topic: str, topic_queues: int) -> Route:
    """Raises BetweenMasters, which passes, or BadRow for a topic that nobody may write to."""
    route = cluster.route_to_send(topic, topic_queues)
    if not route.write_queues and any(route.write_counts.values()):
        route = cluster.route(topic, fresh=True)
        if not route.write_queues and any(route.write_counts.values()):
            raise BetweenMasters(topic, "its brokers have no master now")
    if not route.write_queues:
        raise BadRow(f"no broker takes messages for {topic}")
    return route
