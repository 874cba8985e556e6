"""From rows to the broker: batches per queue, several queues at a time.

Rows that say where they go (queueId, shardingKey) are gathered per queue and keep their order. The others fill one
batch after the other, each for the next queue in turn. Delayed rows travel alone: a batch cannot hold them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sprocketmq.client.blocking import BlockingCluster
from sprocketmq.client.pipeline import Errand, Pipeline
from sprocketmq.client.routes import AUTO_CREATE_TOPIC, Route
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.batch import encode_entry
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.outgoing import BadRow, OutRow
from sprocketmq.spark.sink_options import SinkOptions

_MAX_BODY = 4 * 1024 * 1024
HALF = 0x4


@dataclass
class _Gathered:
    parts: list[bytes] = field(default_factory=list)
    size: int = 0


class RowSender:
    """Sends the rows of one task. `sent` is called with the reply to each half message, and its row."""

    def __init__(self, cluster: BlockingCluster, options: SinkOptions) -> None:
        self._cluster, self._options = cluster, options
        self._group = options.connect.full_name(options.group)
        self._pipeline = Pipeline(cluster, options.patience)
        self._gathered: dict[tuple[str, MessageQueue | None], _Gathered] = {}
        self._turns: dict[str, int] = {}
        self._first_turn = random.randrange(1 << 16)  # tasks that begin together begin with different queues

    def send(self, row: OutRow) -> None:
        """Take a row; it is on its way when its batch is full, and stored when `flush` returns."""
        queue = self._place(row)
        if row.delayed:
            self._flush_one((row.topic, queue))
            self._send_alone(row, queue, 0, lambda _: None)
            return
        entry = encode_entry(row.flag, row.body, row.properties)
        if len(entry) > _MAX_BODY:
            raise BadRow(f"a message of {len(entry)} bytes for {row.topic}; a broker takes {_MAX_BODY}")
        key = row.topic, queue
        gathered = self._gathered.setdefault(key, _Gathered())
        if gathered.size + len(entry) > self._options.batch_bytes or len(gathered.parts) >= self._options.batch_rows:
            self._flush_one(key)
            gathered = self._gathered.setdefault(key, _Gathered())
        gathered.parts.append(entry)
        gathered.size += len(entry)

    def send_half(self, row: OutRow, sent: Callable[[MessageQueue, Command], None]) -> None:
        """Store a row where no consumer sees it yet."""
        if row.delayed:
            raise BadRow("delayLevel cannot be used with delivery exactly-once: a half message has no delay")
        queue = self._place(row) or self._next_queue(row.topic)
        self._send_alone(row, queue, HALF, lambda reply: sent(queue, reply))

    def flush(self) -> None:
        for key in list(self._gathered):
            self._flush_one(key)
        self._pipeline.flush()

    # -- where a row goes ---------------------------------------------------------------------------------------------

    def _place(self, row: OutRow) -> MessageQueue | None:
        """The queue a row asks for; None when any will do."""
        if row.queue_id is None and row.shard is None:
            return None
        queues = self._route(row.topic).write_queues
        if row.shard is not None and row.queue_id is None:
            return queues[abs(row.shard) % len(queues)]
        found = [queue for queue in queues if queue.queue_id == row.queue_id]
        if not found:
            raise BadRow(f"topic {row.topic} has no queue {row.queue_id}")
        return found[0]

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

    def _flush_one(self, key: tuple[str, MessageQueue | None]) -> None:
        gathered = self._gathered.pop(key, None)
        if gathered is None or not gathered.parts:
            return
        queue = key[1] or self._next_queue(key[0])
        body = b"".join(gathered.parts)
        self._submit(queue, lambda: self._command(queue, body, "WAIT\x01true\x02", 0, 0, batch=True), lambda _: None)

    def _send_alone(
        self, row: OutRow, queue: MessageQueue | None, sys_flag: int, done: Callable[[Command], None]
    ) -> None:
        to = queue or self._next_queue(row.topic)
        properties = row.properties.decode()
        self._submit(to, lambda: self._command(to, row.body, properties, row.flag, sys_flag), done)

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
            "i": properties, "j": "0", "k": "false", "m": "true" if batch else "false", "n": queue.broker_name,
        }  # fmt: skip
        code = RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2
        return Command(code, ext_fields=fields, body=body)
