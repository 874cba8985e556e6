"""What has been pulled from one queue and is not settled yet.

    pulled -> waiting -> in hand -> settled
    commit_offset = the smallest offset that is not settled, or the next one to pull when all are

So a crash repeats messages and never skips one.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import FlowLimits
from sprocketmq.protocol.message_queue import MessageQueue

LOCK_LIFE_S = 30.0  # a broker frees a lock after 60 s without renewal; we stop trusting ours in time


class ProcessQueue:
    """Belongs to one assigned queue from its assignment until it is dropped; never reused after that."""

    def __init__(self, queue: MessageQueue, clock: Callable[[], float] = time.monotonic) -> None:
        self.queue = queue
        self.dropped = False
        self.abandoned = False
        self.locked_at: float | None = None
        self.size_bytes = 0
        self.last_pull = self.last_consume = clock()
        self._clock = clock
        self._next_offset: int | None = None
        self._unsettled: OrderedDict[int, int] = OrderedDict()  # offset to size, ascending
        self._waiting: deque[ReceivedMessage] = deque()
        self._changed = asyncio.Event()

    @property
    def count(self) -> int:
        return len(self._unsettled)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def span(self) -> int:
        if not self._unsettled:
            return 0
        return next(reversed(self._unsettled)) - next(iter(self._unsettled))

    @property
    def offset_range(self) -> tuple[int, int]:
        """Smallest and largest unsettled offset; zeros when there is none."""
        if not self._unsettled:
            return 0, 0
        return next(iter(self._unsettled)), next(reversed(self._unsettled))

    @property
    def commit_offset(self) -> int | None:
        """Where the group should go on after a restart; None before the first pull answered."""
        first, after = next(iter(self._unsettled), None), self._next_offset
        return after if first is None else first if after is None else min(first, after)

    @property
    def is_locked(self) -> bool:
        return self.locked_at is not None and self._clock() - self.locked_at < LOCK_LIFE_S

    def lock(self) -> None:
        self.locked_at = self._clock()

    def unlock(self) -> None:
        self.locked_at = None

    def start_at(self, offset: int) -> None:
        self._next_offset = offset

    def put(self, messages: Sequence[ReceivedMessage], next_offset: int) -> None:
        """Messages of one pull, ascending, and where the next pull begins. Filtered ones are simply not among them."""
        self.last_pull = self._clock()
        unsettled = self._unsettled
        for message in messages:
            unsettled[message.queue_offset] = message.size
            self.size_bytes += message.size
        self._waiting.extend(messages)
        self._next_offset = next_offset
        self._changed.set()

    def take(self, limit: int) -> list[ReceivedMessage]:
        """Up to `limit` waiting messages, oldest first."""
        waiting = self._waiting
        taken = [waiting.popleft() for _ in range(min(limit, len(waiting)))]
        if taken:
            self.last_consume = self._clock()
        return taken

    def put_back(self, messages: Sequence[ReceivedMessage]) -> None:
        """Return what was taken to the front, for another try in order."""
        self._waiting.extendleft(reversed(messages))

    def settle(self, messages: Iterable[ReceivedMessage]) -> int | None:
        """These need no further try. Returns the commit offset."""
        for message in messages:
            size = self._unsettled.pop(message.queue_offset, None)
            if size is not None:
                self.size_bytes -= size
        self._changed.set()
        return self.commit_offset

    def is_full(self, limits: FlowLimits, *, bound_span: bool) -> bool:
        over = self.count >= limits.count or self.size_bytes >= limits.size_bytes
        return over or (bound_span and self.span > limits.span)

    async def room(self, limits: FlowLimits, *, bound_span: bool) -> None:
        """Wait until handlers have settled enough for another pull, or the queue is dropped."""
        while self.is_full(limits, bound_span=bound_span) and not self.dropped:
            self._changed.clear()
            await self._changed.wait()

    async def messages(self) -> None:
        """Wait until something waits here, or the queue is dropped."""
        while not self._waiting and not self.dropped:
            self._changed.clear()
            await self._changed.wait()

    async def settled(self) -> None:
        """Wait until nothing is in hand."""
        while len(self._unsettled) > len(self._waiting):
            self._changed.clear()
            await self._changed.wait()

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on from `offset`; what is in hand no longer counts."""
        self._unsettled.clear()
        self._waiting.clear()
        self.size_bytes = 0
        self._next_offset = offset
        self._changed.set()

    def drop(self, *, abandon: bool = True) -> None:
        """Hand out nothing more. What was not handed out will be pulled again, here or by the next owner.

        An abandoned queue has another owner: its offsets are not ours to note any more.
        """
        self.dropped = True
        self.abandoned = abandon
        if self._waiting:
            self._next_offset = min(message.queue_offset for message in self._waiting)
        for message in self._waiting:
            self.size_bytes -= self._unsettled.pop(message.queue_offset, 0)
        self._waiting.clear()
        self._changed.set()
