"""Handlers that run side by side: order is free, and `concurrency` batches are in hand at a time."""

from __future__ import annotations

import asyncio
import logging

from sprocketmq.client.push.context import Running
from sprocketmq.client.push.handlers import HandlerOutcome
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.received import ReceivedMessage

log = logging.getLogger("sprocketmq.client.push.concurrent")

_RETRY_HERE_S = 5.0


class ConcurrentConsumption:
    """Workers that take from whichever queue has something."""

    def __init__(self, running: Running) -> None:
        self._running = running
        #: A queue and how many messages to take of it, as often as it takes; bounded by the queues' own limits.
        self._ready: asyncio.Queue[tuple[ProcessQueue, int]] = asyncio.Queue()

    def start(self) -> None:
        for number in range(self._running.settings.concurrency):
            self._running.tasks.spawn(self._work(), f"consume worker {number}")

    def arrived(self, queue: ProcessQueue) -> None:
        batch = self._running.batch_of(queue.queue)
        for _ in range(-(-queue.waiting // batch)):
            self._ready.put_nowait((queue, batch))

    async def stop_queue(self, queue: ProcessQueue) -> None:
        """Nothing more is handed out. What is in hand ends by itself: the next owner may see it again."""
        queue.drop()

    async def _work(self) -> None:
        while True:
            queue, wanted = await self._ready.get()
            batch = min(wanted, self._running.batch_of(queue.queue))
            if batch < wanted:  # meanwhile a handler has come that takes fewer
                self._ready.put_nowait((queue, wanted - batch))
            messages = self._running.take(queue, batch)
            if messages and not queue.dropped:
                await self._try_to_consume(queue, messages)

    async def _try_to_consume(self, queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        """Whatever goes wrong with these messages, the worker goes on."""
        try:
            await self._consume(queue, messages)
        except Exception:
            log.exception("messages not settled, they are tried again here queue=%s", queue.queue)
            self._running.tasks.spawn(self._again(queue, messages), "retry here")

    async def _consume(self, queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        running = self._running
        outcome = await running.consume(messages, queue.queue)
        if outcome.ok or running.broadcasting:  # a broadcast is not tried again: there is no retry topic for one member
            running.settle(queue, messages)
            return
        await self._return(queue, messages, outcome)

    async def _return(self, queue: ProcessQueue, messages: list[ReceivedMessage], outcome: HandlerOutcome) -> None:
        kept = [message for message in messages if not await self._running.send_back(message, outcome.level)]
        gone = [message for message in messages if message not in kept] if kept else messages
        self._running.settle(queue, gone)
        if kept and not queue.dropped:
            self._running.tasks.spawn(self._again(queue, kept), "retry here")

    async def _again(self, queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        await asyncio.sleep(_RETRY_HERE_S)
        for message in messages:
            message.local_tries += 1
        queue.put_back(messages)
        self.arrived(queue)
