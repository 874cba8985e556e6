"""How far the log may be read, and its way into the queues and the index up to there.

Under ASYNC_FLUSH a message may be read when it is written, and the appender dispatches it before `put` returns. Under
SYNC_FLUSH, with a transient buffer, and where replicas confirm, what may be read follows the disk or the replicas, and
`dispatch` takes the log up where it ended. The owner's thread does all of this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sprocketmq.errors import FlushFailed, StoreError
from sprocketmq.protocol.record.record import BLANK, CUT_OFF, REASONS, WHOLE, WRONG_SIZE
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.log.append import Appender
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.log.flush import LogFlusher

_log = logging.getLogger("sprocketmq.store.dispatch")


def written_is_safe(config: StoreConfig) -> bool:
    """Whether an acknowledgement promises no more than that the message is in its file."""
    return not config.sync_flush and not config.transient_buffer


class ReadableLog:
    def __init__(
        self, config: StoreConfig, log: CommitLog, dispatcher: Dispatcher, appender: Appender, flusher: LogFlusher,
        fail: Callable[[FlushFailed], object],
    ) -> None:  # fmt: skip
        #: As far as this replicas are known to have the log; None where nobody is asked.
        self.confirm_offset: int | None = None
        self._sync_flush = config.sync_flush
        self._buffered = config.transient_buffer
        self._written_is_safe = written_is_safe(config)
        self._log = log
        self._dispatcher = dispatcher
        self._appender = appender
        self._flusher = flusher
        self._fail = fail
        self._stalled = False

    @property
    def offset(self) -> int:
        """Up to here a reader may see the log: as far as the acknowledgements of this mode promise."""
        safe = self._flusher.flushed_offset if self._sync_flush else self.written_offset
        return safe if self.confirm_offset is None else min(safe, self.confirm_offset)

    @property
    def written_offset(self) -> int:
        """Up to here the log is in its files, though perhaps not on disk: what a replica may be given."""
        return self._flusher.committed_offset if self._buffered else self._appender.wrote_offset

    def limit(self, offset: int | None) -> None:
        """Readers see the log no further than this; what that lets them see is dispatched by whoever does it next."""
        self.confirm_offset = offset
        self._appender.inline = self._dispatches_inline and not self._stalled

    @property
    def _dispatches_inline(self) -> bool:
        return self._written_is_safe and self.confirm_offset is None

    # -- dispatch

    def stall(self, error: Exception) -> None:
        """What is safe in the log is dispatched when that works again; the appender asks before it goes on."""
        if not self._stalled:
            at = self._dispatcher.dispatched_offset
            _log.error("messages not dispatched from log offset %d on: %s", at, error, exc_info=error)
        self._stalled = True
        self._appender.inline = False
        self._appender.hold()

    def go_on(self) -> None:
        """Dispatch what a stall has left, if there was one. Raises StoreFull."""
        if self._stalled:
            self.dispatch()

    def dispatch(self) -> None:
        """Dispatch what became readable since the last time. Raises StoreFull."""
        readable = self.offset
        while self._dispatcher.dispatched_offset < readable:
            if not self._dispatch_file(readable):
                break
        if self._stalled:
            self._stalled = False
            _log.info("all messages dispatched again, up to log offset %d", self._dispatcher.dispatched_offset)
            self._appender.inline = self._dispatches_inline

    def _dispatch_file(self, readable: int) -> bool:
        """Go on to the end of the file, or to `readable`; whether there may be more behind."""
        dispatcher, log = self._dispatcher, self._log
        at = dispatcher.dispatched_offset
        base = log.base_of(at)
        view = None if base is None else log.view_of(base)
        if base is None or view is None:
            raise StoreError(f"the log has no file for offset {at}")
        kind = self.walk(view, base, at - base, min(readable - base, log.file_size))
        if kind == BLANK:
            dispatcher.dispatched_offset = base + log.file_size
        elif kind in (CUT_OFF, WRONG_SIZE) and readable < log.max_offset:
            return False  # what was confirmed may end inside a record
        elif kind != WHOLE:
            raise StoreError(f"no whole record at offset {dispatcher.dispatched_offset}: {REASONS[kind]}")
        return True

    def walk(self, view: memoryview, base: int, at: int, end: int) -> int:
        """Dispatch what a file has from `at` to `end`; the kind of what is there."""
        try:
            return self._dispatcher.walk(view, base, at, end, False)
        except FlushFailed as failure:  # a queue or an index lost what it was given
            self._fail(failure)
            raise
