"""Acknowledgements that wait: for the disk under SYNC_FLUSH, for replicas under a synchronous role, or for both.

A message is acknowledged when the log beyond it is flushed and replicated, as far as the mode asks for that. The flush
thread tells when it has moved, a replica when it has reported; on the loop, what became safe is dispatched to the
readers, and everyone who waited below it is answered. One who waited too long is told so; the message is in the log
all the same.

Readers never see more than an acknowledgement has promised. What no replica confirms is answered with
FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE, "stored, may be lost", and from then on it may be read. Messages that nobody
waits for are readable after the same time.

A message of a topic that is new waits until the topic is on disk as well, in the table of topics; those of other topics
do not wait for that.

Messages that are flushed and cannot be dispatched, say on a full disk, are acknowledged. Puts are refused then, until
one of them finds space to dispatch what is behind: the same as where each message is dispatched when it is put.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.send.waiting_answers import WaitingAnswers
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection
from sprocketmq.store.store import MessageStore

_SCAN_SECONDS = 0.2


class Copies(Protocol):
    """The replicas that an acknowledgement waits for."""

    @property
    def offset(self) -> int:
        """All that are needed have the log up to here."""
        ...

    #: What is not confirmed in time may be read all the same. Under a controller it may not: it may be cut.
    gives_up: bool

    @property
    def available(self) -> bool:
        """Whether there are enough to confirm anything."""
        ...

    @property
    def timeout(self) -> float:
        """Seconds to wait for them."""
        ...


class Acks:
    """`add` takes waiters in the order of the log."""

    def __init__(self, store: MessageStore, topics: Saver) -> None:
        #: Called when `waits` may have changed.
        self.on_change: list[Callable[[], object]] = []
        #: Called when more of the log is on disk or replicated.
        self.on_progress: list[Callable[[], object]] = []
        self._store = store
        self._copies: Copies | None = None
        self._flushes = store.config.sync_flush
        self._timeout = store.config.sync_flush_timeout / 1000
        topics.on_saved.append(self._answer_saved)
        self.answers = WaitingAnswers(topics)
        self._written: deque[tuple[float, int]] = deque()
        self._given_up = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scans = Periodic("answer who waited too long", lambda: _SCAN_SECONDS, self._scan)
        self._called = False

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def waits(self) -> bool:
        """Whether an acknowledgement waits for anything."""
        return self._flushes or self._copies is not None

    def wait_for(self, copies: Copies | None) -> None:
        """From now on replicas confirm, or None of them. What is readable already stays so."""
        if copies is self._copies:
            return
        before, self._copies = self._copies, copies
        self._given_up = self._store.log.max_offset
        self._written.clear()
        if before is not None and not before.gives_up:
            self._break_promises(before)
        elif copies is None or copies.gives_up:
            self._store.readable.limit(None if copies is None else self._given_up)
        for hook in self.on_change:
            hook()
        if self._loop is not None:
            self.progress()

    def _break_promises(self, copies: Copies) -> None:
        """The set is another master's now, or nobody's: what it has not confirmed may be cut, and is not readable."""
        while self.answers.first is not None:
            self.answers.fail_first(ResponseCode.FLUSH_SLAVE_TIMEOUT, "this broker is the master no more")
        self._store.readable.limit(copies.offset)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answers.time = self._loop.time
        self._store.on_progress = self._flushed
        self._scans.start()

    def stop(self) -> None:
        self._store.on_progress = None
        self._scans.stop()
        self._loop = None

    def add(
        self, end_offset: int, connection: Connection, request: Command, success: bytes, counter: Counter | None = None
    ) -> None:
        """Answer with `success` when the log is safe up to `end_offset`. `counter` is told how long that took."""
        self.answers.add(end_offset, connection, request, success, counter)

    def is_safe(self, offset: int) -> bool:
        """Whether an acknowledgement of what ends at `offset` need not wait."""
        if self._flushes and offset > self._store.flushed_offset:
            return False
        return self._copies is None or offset <= self._copies.offset

    def _flushed(self) -> None:
        """Called on the flush thread.

        `_called` and `_loop` are read here and written on the loop without a lock. That rests on the GIL: a plain
        attribute is seen whole, and `progress` clears the flag before it looks, so at worst it is called once more.
        """
        loop = self._loop
        if loop is not None and not self._called:
            self._called = True
            try:
                loop.call_soon_threadsafe(self.progress)
            except RuntimeError:  # the loop was closed meanwhile: nobody is there to answer
                return

    def progress(self) -> None:
        """Dispatch what became readable and answer those who waited for it."""
        self._called = False
        if self._store.failure is not None:
            self._fail_all()
            return
        self._progress()
        for hook in self.on_progress:
            hook()

    def _progress(self) -> None:
        store, copies = self._store, self._copies
        flushed = store.flushed_offset if self._flushes else store.log.max_offset
        if copies is None:
            self._dispatch()
            self._answer(flushed)
            return
        if copies.gives_up and not copies.available:
            self._given_up = max(self._given_up, flushed)
        store.readable.limit(max(copies.offset, self._given_up) if copies.gives_up else copies.offset)
        self._dispatch()
        self._answer(min(flushed, copies.offset))
        if copies.gives_up and not copies.available:
            while (first := self.answers.first) is not None and first.end_offset <= flushed:
                self.answers.fail_first(ResponseCode.SLAVE_NOT_AVAILABLE, "no slave is there to confirm")

    def _answer(self, safe: int) -> None:
        self.answers.succeed(safe, asyncio.get_running_loop().time())

    def _answer_saved(self) -> None:
        self.answers.succeed_saved(asyncio.get_running_loop().time())

    def _dispatch(self) -> None:
        """What cannot be dispatched is on disk all the same: its senders are answered, and the next put tries again."""
        try:
            self._store.dispatch_ready()
        except Exception as error:  # noqa: BLE001 - the edge of the loop: whatever it is, those who wait are answered
            self._store.dispatch_failed(error)

    def _fail_all(self) -> None:
        reason = str(self._store.failure)
        while self.answers.first is not None:
            self.answers.fail_first(ResponseCode.SERVICE_NOT_AVAILABLE, reason)

    def _scan(self) -> None:
        now, answers = asyncio.get_running_loop().time(), self.answers
        while (first := answers.first) is not None and (late := self._late(first.end_offset, now - first.since)):
            answers.fail_first(*late)
        while (first := answers.first_unsaved) is not None and now - first.since >= self._timeout:
            answers.fail_first_unsaved(ResponseCode.FLUSH_DISK_TIMEOUT, "the new topic was not saved in time")
        if self._copies is not None and self._copies.gives_up:
            self._give_up(self._copies, now)
        if len(answers):
            self.progress()  # whatever kept an answer back, it is not kept back for ever
            self._answer_saved()

    def _late(self, end_offset: int, waited: float) -> tuple[int, str] | None:
        """What one who has waited so long is told; the replicas' failure goes before the disk's, as in RocketMQ."""
        copies = self._copies
        if copies is not None and end_offset > copies.offset and waited >= copies.timeout:
            return ResponseCode.FLUSH_SLAVE_TIMEOUT, "no slave confirmed in time"
        if self._flushes and waited >= self._timeout:
            return ResponseCode.FLUSH_DISK_TIMEOUT, "the disk was not reached in time"
        return None

    def _give_up(self, copies: Copies, now: float) -> None:
        """Whoever waited for what was written so long ago has been answered, so it may be read."""
        written, end = self._written, self._store.log.max_offset
        if end > copies.offset and (not written or written[-1][1] < end):
            written.append((now, end))
        while written and written[0][0] + copies.timeout <= now:
            self._given_up = max(self._given_up, written.popleft()[1])
            if not written or written[0][0] + copies.timeout > now:
                self.progress()
