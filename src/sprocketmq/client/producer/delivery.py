"""A closed batch on its way to its queue.

It is written at once when its broker is connected, so that the broker stores it while the next batch grows; a task
awaits the answer. A batch that belongs to one queue is sent there until its deadline. Another goes elsewhere when its
first queue fails.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import ClientError, Closed, Unreachable
from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import PendingSend, Sender
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import Payload


@dataclass(slots=True)
class ClosedBatch:
    """The body of a batch. `done` hears of it once: the broker's receipt, or why there is none."""

    body: bytearray
    route: Route
    queue: MessageQueue
    is_bound: bool  # to `queue`
    deadline: float
    done: Callable[[SendReceipt | BaseException], None]


class Delivery:
    """That of one producer."""

    def __init__(self, sender: Sender, encoder: Encoder) -> None:
        self._sender = sender
        self._encoder = encoder
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[SendReceipt]] = set()

    def start(self, batch: ClosedBatch) -> None:
        payload = self._encoder.batch(batch.queue.topic, batch.body)
        try:
            route = self._sender.choose(batch.route, batch.queue)
            pending = self._sender.launch(payload, route, self._first_deadline(batch))
        except Unreachable:  # its master is not in the route: one that comes later may know it
            pending = None
        task = self._loop.create_task(self._send(batch, payload, pending))
        self._tasks.add(task)
        task.add_done_callback(functools.partial(self._ended, batch))

    async def stop(self) -> None:
        """Batches that are under way fail."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, batch: ClosedBatch, task: asyncio.Task[SendReceipt]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            batch.done(Closed("the producer was stopped"))
        else:
            batch.done(task.exception() or task.result())

    async def _send(self, batch: ClosedBatch, payload: Payload, pending: PendingSend | None) -> SendReceipt:
        if batch.is_bound:
            return await self._sender.insist(payload, batch.deadline, batch.queue, pending)
        try:
            route = self._sender.choose(batch.route, batch.queue)
            return await self._sender.attempt(payload, route, self._first_deadline(batch), pending)
        except ClientError as error:
            if not error.retriable or self._loop.time() >= batch.deadline:
                raise
        return await self._sender.send(payload, batch.deadline)

    def _first_deadline(self, batch: ClosedBatch) -> float:
        return min(batch.deadline, self._sender.deadline())
