"""Pulls that found nothing and wait for a message.

A parked pull belongs to one queue. Dispatch tells of each message that comes to a queue where someone is parked, and
only there. The message is held against the pull's filter first, so that one that does not match wakes nobody: the pull
then merely waits further on. Who is woken, or has waited long enough, is answered with others like it, see
`woken_requests`. One timer serves all deadlines.

A pull whose connection closes is answered as well, for the answer may be awaited on behalf of the client that left, see
`static_topic.loopback`.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from functools import partial

from sprocketmq.broker.pull.handler import Parked, PullAdmission
from sprocketmq.broker.pull.waiting_requests import WaitingRequests
from sprocketmq.broker.pull.woken_requests import WokenRequests
from sprocketmq.broker.tables.subscriptions import matches
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.store.store import MessageStore

#: So many deadlines of pulls that are answered already may stay in the heap; above that, half of it.
_FEW_ENDED = 64


#: Told that a message has come to a queue.
Arrived = Callable[[str, int], object]


class LongPolls:
    """A pull for which something has come, or whose time is over, is served: it looks again, and is answered."""

    def __init__(self, store: MessageStore, waiting: WaitingRequests, woken: WokenRequests) -> None:
        self.waiting = waiting
        self.woken = woken
        self._store = store
        #: By queue, in the order they came; a dict, because one in the midst of many leaves as fast as the first.
        self._queues: dict[tuple[str, int], dict[Parked, None]] = {}
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._ended = 0  # of those in the heap
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0
        self._listeners: dict[tuple[str, int], Arrived] = {}
        store.on_dispatch = self.arrived

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def park(self, parked: Parked) -> None:
        """Raises RequestRefused when too many wait already: clients ask again after a while."""
        if parked.connection.closed:
            self.answer(parked)
            return
        if self.waiting.is_full(parked.connection):
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, "[OVERLOAD]too many requests wait here for messages")
        parked.strip()
        self.waiting.add(parked.connection, parked, self._drop)
        self._keep_filter(parked.admission)
        key = (parked.pull.topic, parked.pull.queue_id)
        waiting = self._queues.get(key)
        if waiting is None:
            waiting = self._queues[key] = {}
            self._store.watch(*key)
        waiting[parked] = None
        self._count += 1
        heapq.heappush(self._deadlines, (parked.deadline, self._count, parked))
        if self._timer is None or parked.deadline < self._rings_at:
            self._ring_at(parked.deadline)

    def arrived(
        self, topic: str, queue_id: int, max_offset: int, tags_code: int, _store_timestamp: int, properties: bytes
    ) -> None:
        """A message has come to a watched queue; its offset is one below `max_offset`."""
        listener = self._listeners.get((topic, queue_id))
        if listener is not None:
            listener(topic, queue_id)
        waiting = self._queues.get((topic, queue_id))
        if waiting is None:
            return
        woken = []
        for parked in waiting:
            if matches(parked.admission.wanted, tags_code, properties):
                woken.append(parked)
            elif parked.pull.queue_offset == max_offset - 1:
                parked.pull.queue_offset = max_offset
        for parked in woken:
            self._wake(parked)

    def wake(self, topic: str, queue_id: int, group: str | None = None) -> None:
        """Have the parked pulls of a queue, or a group's of them, look again: an administrator has changed things."""
        for parked in list(self._queues.get((topic, queue_id), ())):
            if group in (None, parked.pull.consumer_group):
                self._wake(parked)

    def wake_topic(self, topic: str) -> None:
        for name, queue_id in list(self._queues):
            if name == topic:
                self.wake(topic, queue_id)

    def wake_all(self) -> None:
        """Answer everyone now: the broker is stopping."""
        for waiting in list(self._queues.values()):
            for parked in list(waiting):
                self._wake(parked)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def listen(self, topic: str, queue_id: int, hook: Arrived) -> None:
        """Tell `hook` of every message that comes to a queue, whoever else waits there."""
        self._listeners[topic, queue_id] = hook
        self._store.watch(topic, queue_id)

    def unlisten(self, topic: str, queue_id: int) -> None:
        del self._listeners[topic, queue_id]
        self._store.watch(topic, queue_id, (topic, queue_id) in self._queues)

    def _wake(self, parked: Parked) -> None:
        self.woken.add(parked.connection, partial(self.answer, parked))  # first: it is answered, whatever fails then
        self._end(parked)

    def answer(self, parked: Parked) -> int:
        """Once, with what there is; who has left is only told that it is over. The size of the answer."""
        if parked.answered:
            return 0
        parked.answered = True
        self.waiting.discard(parked.connection, parked)
        if parked.connection.closed:
            left = parked.request.reply(ResponseCode.SYSTEM_ERROR, "the client has left")
            parked.connection.reply(left, parked.request, waited=True)
            return 0
        return parked.serve()

    def _end(self, parked: Parked) -> None:
        """It waits for no message any longer. Its deadline stays in the heap until there are too many like it."""
        parked.done = True
        key = (parked.pull.topic, parked.pull.queue_id)
        waiting = self._queues[key]
        del waiting[parked]
        if not waiting:
            del self._queues[key]
            self._store.watch(*key, key in self._listeners)
        self._drop_filter(parked.admission)
        self._ended += 1
        if self._ended > max(_FEW_ENDED, len(self._deadlines) // 2):
            self._deadlines[:] = [each for each in self._deadlines if not each[2].done]
            heapq.heapify(self._deadlines)
            self._ended = 0

    def _drop(self, parked: Parked) -> None:
        """Its connection has closed."""
        if not parked.done:
            self._end(parked)
        self.answer(parked)

    def _keep_filter(self, admission: PullAdmission) -> None:
        """Pulls of one admission share its filter."""
        if admission.parked == 0:
            self.waiting.kept_bytes += admission.filter_bytes
        admission.parked += 1

    def _drop_filter(self, admission: PullAdmission) -> None:
        admission.parked -= 1
        if admission.parked == 0:
            self.waiting.kept_bytes -= admission.filter_bytes

    def _ring_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        deadlines = self._deadlines
        while deadlines and (deadlines[0][0] <= now or deadlines[0][2].done):
            parked = heapq.heappop(deadlines)[2]
            if not parked.done:
                self._wake(parked)
            self._ended = max(0, self._ended - 1)  # those that ended and are still in the heap
        if deadlines:
            self._ring_at(deadlines[0][0])
