"""From rows to the broker: batches per queue, several queues at a time.

Rows that say where they go (queueId, shardingKey) are gathered per queue and keep their order. The others fill one
batch after the other, each for the next queue in turn. Delayed rows travel alone: a batch cannot hold them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.blocking.ordered_requests import Errand, Pipeline
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.write.batches import Parcel, TopicParcels
from sprocketmq.spark.write.rows import BadRow, EntryFill

HALF = 0x4


class RowSender:
    """Sends the rows of one task. A topic's queues are those it had when its first row came."""

    def __init__(self, cluster: BlockingCluster, options: SinkOptions) -> None:
        self._cluster, self._options = cluster, options
        self._topic = options.topic
        self._group = options.connect.full_name(options.group)
        self._pipeline = Pipeline(cluster, options.patience)
        self._topics: dict[str, TopicParcels] = {}
        self._turns: dict[str, int] = {}
        self._first_turn = random.randrange(1 << 16)  # tasks that begin together begin with different queues

    def send(self, rows: EntryFill, row: int, end: int) -> None:
        """Take rows; they are on their way when their batch is full, and stored when `flush` returns."""
        while row < end:
            parcels = self._parcels(rows, row)
            until = end if self._topic is not None else rows.topic_end(row, end)
            while (row := rows.fill(parcels, row, until)) < until:
                assert rows.full is not None
                self._send_parcel(rows.full)
                if rows.delay(row):
                    self._send_alone(rows, row, self._queue(rows.full), 0, lambda _: None)
                    row += 1

    def send_half(self, rows: EntryFill, row: int, sent: Callable[[MessageQueue, Command], None]) -> None:
        """Store a row where no consumer sees it yet; `sent` is called with its queue and the reply."""
        if rows.delay(row):
            raise BadRow("delayLevel cannot be used with delivery exactly-once: a half message has no delay")
        queue = self._queue(rows.parcel_of(self._parcels(rows, row), row))
        self._send_alone(rows, row, queue, HALF, lambda reply: sent(queue, reply))

    def flush(self) -> None:
        for parcels in self._topics.values():
            for parcel in parcels.held():
                self._send_parcel(parcel)
        self._pipeline.flush()

    # -- where a row goes ---------------------------------------------------------------------------------------------

    def _parcels(self, rows: EntryFill, row: int) -> TopicParcels:
        """Those of the row's topic; the option goes before the column."""
        name = rows.topic(row) if self._topic is None else self._topic
        found = self._topics.get(name)
        if found is None:
            topic = self._options.connect.full_name(name)
            found = self._topics[name] = TopicParcels(topic, self._route(topic).write_queues)
        return found

    def _queue(self, parcel: Parcel) -> MessageQueue:
        return parcel.queue or self._next_queue(parcel.topic)

    def _next_queue(self, topic: str) -> MessageQueue:
        queues = self._route(topic).write_queues
        turn = self._turns[topic] = self._turns.get(topic, self._first_turn) + 1
        return queues[turn % len(queues)]

    def _route(self, topic: str) -> Route:
        route = self._cluster.route_to_send(topic, self._options.topic_queues)
        if not route.write_queues:
            raise BadRow(f"no broker takes messages for {topic}")
        return route

    # -- requests -----------------------------------------------------------------------------------------------------

    def _send_parcel(self, parcel: Parcel) -> None:
        if not parcel.rows:
            return
        queue, body = self._queue(parcel), parcel.take()
        self._submit(queue, lambda: self._command(queue, body, "", 0, 0, batch=True), lambda _: None)

    def _send_alone(
        self, rows: EntryFill, row: int, queue: MessageQueue, sys_flag: int, done: Callable[[Command], None]
    ) -> None:
        flag, body, octets = rows.alone(row)
        properties = octets.decode("utf-8", "replace")
        self._submit(queue, lambda: self._command(queue, body, properties, flag, sys_flag), done)

    def _submit(self, queue: MessageQueue, command: Callable[[], Command], done: Callable[[Command], None]) -> None:
        self._pipeline.submit(Errand(queue, lambda: self._master(queue), command, done))

    def _master(self, queue: MessageQueue) -> str:
        address = self._route(queue.topic).master(queue.broker_name)
        return address or self._cluster.address(queue)

    def _command(
        self, queue: MessageQueue, body: bytes, properties: str, flag: int, sys_flag: int, *, batch: bool = False
    ) -> Command:
        fields = {
            "a": self._group, "b": queue.topic, "c": AUTO_CREATE_TOPIC, "d": str(self._options.topic_queues),
            "e": str(queue.queue_id), "f": str(sys_flag), "g": str(time.time_ns() // 1_000_000), "h": str(flag),
            "j": "0", "k": "false", "m": "true" if batch else "false", "n": queue.broker_name,
        }  # fmt: skip
        if properties:
            fields["i"] = properties
        code = RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2
        return Command(code, ext_fields=fields, body=body)
