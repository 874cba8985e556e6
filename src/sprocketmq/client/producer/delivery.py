"""A closed batch on its way to its queue.

It is written at once when its broker is connected, so that the broker stores it while the next batch grows. A batch
that belongs to one queue is sent there until its deadline. Another goes elsewhere when its first queue fails.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import ClientError, Closed, Unreachable
from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.sender import PendingSend, Sender
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import Payload


@dataclass(slots=True)
class ClosedBatch:
    """The request of a batch. `done` hears of it once: the broker's receipt, or why there is none."""

    payload: Payload
    route: Route
    queue: MessageQueue
    is_bound: bool  # to `queue`
    deadline: float
    done: Callable[[SendReceipt | BaseException], None]


class Delivery:
    """That of one producer."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._loop = asyncio.get_running_loop()
        self._under_way: set[asyncio.Future[Any]] = set()

    def start(self, batch: ClosedBatch) -> None:
        """Launch it; most batches need no more than that, so a task is made only for what has to wait or to retry."""
        try:
            route = self._sender.choose(batch.route, batch.queue)
            pending = self._sender.launch(batch.payload, route, min(batch.deadline, self._sender.deadline()))
        except Unreachable:  # its master is not in the route: one that comes later may know it
            pending = None
        if pending is None:
            self._send_later(batch, is_first=True)
        else:
            self._under_way.add(pending.answer)
            pending.answer.add_done_callback(functools.partial(self._answered, batch, pending))

    async def stop(self) -> None:
        """Batches that are under way fail."""
        under_way = tuple(self._under_way)
        for future in under_way:
            future.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    def _answered(self, batch: ClosedBatch, pending: PendingSend, answer: asyncio.Future[Command]) -> None:
        self._under_way.discard(answer)
        if answer.cancelled():
            batch.done(Closed("the producer was stopped"))
            return
        try:
            outcome: SendReceipt | ClientError = self._sender.landed(batch.payload, pending)
        except ClientError as error:
            if error.retriable and self._loop.time() < batch.deadline:
                self._send_later(batch, is_first=False)
                return
            outcome = error
        batch.done(outcome)

    def _send_later(self, batch: ClosedBatch, *, is_first: bool) -> None:
        task = self._loop.create_task(self._send(batch, is_first))
        self._under_way.add(task)
        task.add_done_callback(functools.partial(self._ended, batch))

    def _ended(self, batch: ClosedBatch, task: asyncio.Task[SendReceipt]) -> None:
        self._under_way.discard(task)
        if task.cancelled():
            batch.done(Closed("the producer was stopped"))
        else:
            batch.done(task.exception() or task.result())

    async def _send(self, batch: ClosedBatch, is_first: bool) -> SendReceipt:
        if batch.is_bound:
            return await self._sender.insist(batch.payload, batch.deadline, batch.queue)
        pending = await self._launched(batch) if is_first else None
        return await self._sender.send(batch.payload, batch.deadline, pending=pending)

    async def _launched(self, batch: ClosedBatch) -> PendingSend | None:
        """The first attempt, on the queue that was free for it; None when it cannot be made."""
        deadline = min(batch.deadline, self._sender.deadline())
        try:
            route = self._sender.choose(await self._sender.route(batch.queue.topic, deadline), batch.queue)
            return await self._sender.launch_connected(batch.payload, route, deadline)
        except ClientError as error:
            if not error.retriable or self._loop.time() >= batch.deadline:
                raise
        return None
