"""Acknowledgements that wait for the disk: the group commit seen from the loop.

Under SYNC_FLUSH a message is acknowledged when the log is flushed beyond it. The flush thread tells when it has moved;
on the loop, what became safe is dispatched to the readers, and everyone who waited below it is answered. One who waited
longer than the flush timeout is told so; the message is in the log all the same.

Messages that are flushed and cannot be dispatched, say on a full disk, are acknowledged. Puts are refused then, until
one of them finds space to dispatch what is behind: the same as where each message is dispatched when it is put.
"""

from __future__ import annotations

import asyncio
from collections import deque

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.codes import ResponseCode
from sprocketmq.logs import Events
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.remoting import Connection
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.send")

_SCAN_SECONDS = 0.2


class Acks:
    """`add` takes waiters in the order of the log."""

    def __init__(self, store: MessageStore) -> None:
        self.waits = store.config.sync_flush
        self._store = store
        self._timeout = store.config.sync_flush_timeout / 1000
        self._waiting: deque[tuple[int, float, Connection, bytes, Counter | None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._called = False

    def __len__(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._store.on_progress = self._flushed
        if self.waits:
            self._scan()

    def stop(self) -> None:
        self._store.on_progress = None
        if self._timer is not None:
            self._timer.cancel()
        self._loop = None

    def add(self, end_offset: int, connection: Connection, success: bytes, counter: Counter | None = None) -> None:
        """Answer with `success` when the log is flushed up to `end_offset`. `counter` is told how long that took."""
        assert self._loop is not None
        self._waiting.append((end_offset, self._loop.time() + self._timeout, connection, success, counter))

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
        store = self._store
        if store.failure is not None:
            self._fail_all()
            return
        self._dispatch()
        flushed, waiting = store.flushed_offset, self._waiting
        began = asyncio.get_running_loop().time() + self._timeout
        while waiting and waiting[0][0] <= flushed:
            _, deadline, connection, success, counter = waiting.popleft()
            if counter is not None:
                counter.micros += int((began - deadline) * 1e6)
            connection.reply(success)

    def _dispatch(self) -> None:
        """What cannot be dispatched is on disk all the same: its senders are answered, and the next put tries again."""
        try:
            self._store.dispatch_ready()
        except Exception as error:  # noqa: BLE001 - the edge of the loop: whatever it is, those who wait are answered
            events.error("messages not dispatched", error, dispatched=self._store.dispatcher.dispatched_offset)
            self._store.dispatch_failed()

    def _fail_all(self) -> None:
        reason = str(self._store.failure)
        while self._waiting:
            self._answer_first(ResponseCode.SERVICE_NOT_AVAILABLE, reason)

    def _scan(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._waiting and self._waiting[0][1] <= now:
            self._answer_first(ResponseCode.FLUSH_DISK_TIMEOUT, "the disk was not reached in time")
        self._timer = loop.call_later(_SCAN_SECONDS, self._scan)

    def _answer_first(self, code: int, remark: str) -> None:
        """Tell the one who waits longest that the message is not known to be safe."""
        _, _, connection, success, _ = self._waiting.popleft()
        connection.reply(changed_answer(success, code, remark))


def changed_answer(success: bytes, code: int, remark: str) -> bytes:
    """The answer that was to be given, with another code: what it says of the message is true all the same."""
    (answer,) = FrameDecoder().feed(success)
    answer.code = code
    answer.remark = remark
    answer.body = b""  # messages that POP took are given when that they were taken is safe
    return encode_frame(answer)
