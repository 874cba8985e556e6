"""Handlers that keep the order of a queue: one batch at a time per queue, and only while the broker's lock is ours.

A message that fails holds its queue up until it succeeds, or until it has been tried `max_reconsume_times`.
"""

from __future__ import annotations

import asyncio
import logging

from sprocketmq.client.push.context import Running
from sprocketmq.client.push.handlers import HandlerOutcome
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.received import ReceivedMessage

log = logging.getLogger("sprocketmq.client.push.orderly")


class OrderlyConsumption:
    """One task per queue, at most `concurrency` handlers at a time."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._slots = asyncio.Semaphore(running.settings.concurrency)
        self._tasks: dict[ProcessQueue, asyncio.Task[None]] = {}

    def start(self) -> None:
        return

    def arrived(self, queue: ProcessQueue) -> None:
        if queue not in self._tasks:
            task = self._running.tasks.spawn(self._consume_queue(queue), f"orderly {queue.queue}")
            self._tasks[queue] = task
            task.add_done_callback(lambda _: self._tasks.pop(queue, None))

    async def stop_queue(self, queue: ProcessQueue) -> None:
        """Returns when the handler has let go of the queue: only then may another consumer have it."""
        queue.drop()
        task = self._tasks.get(queue)
        if task is not None:
            await asyncio.wait([task], timeout=self._running.settings.stop_timeout)

    async def _consume_queue(self, queue: ProcessQueue) -> None:
        while True:
            await queue.messages()
            if queue.dropped:
                return
            async with self._slots:  # the lock is looked at with the slot in hand: it may be lost while one waits
                if self._may_consume(queue):
                    await self._consume(queue, self._running.take(queue, self._running.batch_of(queue.queue)))
                    continue
            await asyncio.sleep(self._running.settings.suspend)

    def _may_consume(self, queue: ProcessQueue) -> bool:
        return self._running.broadcasting or queue.is_locked

    async def _consume(self, queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        if not messages:
            return
        outcome = await self._running.consume(messages, queue.queue)
        if outcome.ok or not await self._hold(queue, messages, outcome):
            self._running.settle(queue, messages)

    async def _hold(self, queue: ProcessQueue, messages: list[ReceivedMessage], outcome: HandlerOutcome) -> bool:
        """Whether the messages stay, to be tried again in order."""
        if outcome.level < 0 or self._is_tired(messages):
            returned = [await self._running.send_back(message, outcome.level) for message in messages]
            if all(returned):
                return False
        for message in messages:
            message.local_tries += 1
        queue.put_back(messages)
        if not queue.dropped:
            await asyncio.sleep(self._running.settings.suspend)
        return True

    def _is_tired(self, messages: list[ReceivedMessage]) -> bool:
        most = self._running.settings.max_reconsume_times
        return most >= 0 and any(message.reconsume_times >= most for message in messages)
