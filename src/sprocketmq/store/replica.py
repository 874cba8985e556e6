"""A log that is a copy of another one: it grows by the master's bytes, and may have to be cut where the two differ.

Bytes come in pieces that may begin and end anywhere. A record is written when it is whole, at its place, and agrees
with its checksums: so the log always ends behind a record, `end_offset` never promises a part of one, and whoever
becomes the master goes on writing where it ends. What is incomplete waits in memory, up to one record, and is forgotten
when the connection is.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.errors import FrameError, StoreError, StoreFull
from sprocketmq.protocol.record.record import BLANK, BLANK_BYTES, CUT_OFF, FIXED_BYTES, REASONS, WRONG_SIZE
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.log.record_run import RecordRun
from sprocketmq.store.log_reset import empty_log
from sprocketmq.store.log_truncation import LogTruncation, is_blank, place_end
from sprocketmq.store.recovery.quarantine import Quarantined
from sprocketmq.store.store import MessageStore

#: A record that claims more than this, and more than twice what this store takes, is not waited for.
_MAX_RECORD_BYTES = 16 << 20


class Replica:
    """`on_cut` is told of the new end of the log when a cut is done: what points behind it follows. `on_anew` is told
    that the log was emptied.
    """

    def __init__(self, store: MessageStore, files: Files) -> None:
        self._store = store
        self._files = files
        self._cut = LogTruncation(store, files)
        self._run = RecordRun()
        self._rest = bytearray()
        self._needed = 0  # so many bytes must be there before it is worth looking again
        self._skip = 0  # bytes of a blank record that are still to come
        self._stalled_at: int | None = None
        self.on_cut: list[Callable[[int], object]] = []
        self.on_anew: list[Callable[[], object]] = []

    @property
    def end_offset(self) -> int:
        """Behind the last record that is here as a whole."""
        return self._store.log.max_offset

    @property
    def received_offset(self) -> int:
        """Where the next byte belongs."""
        return self.end_offset - self._skip + len(self._rest)

    def forget_incomplete(self) -> None:
        """The connection is gone: the next one begins at `end_offset`."""
        self._rest.clear()
        self._needed = self._skip = 0

    # -- growing

    def begin_at(self, offset: int) -> None:
        """An empty log begins where the master's does, or its last file."""
        log = self._store.log
        if offset % log.file_size:
            raise StoreError(
                f"the master's log begins at {offset}; mappedFileSizeCommitLog={log.file_size} has no such file"
            )
        if log.bases or log.max_offset:
            raise StoreError(f"a log that ends at {log.max_offset} cannot begin at {offset}")
        place_end(self._store, offset, 0)

    def begin_anew(self, reason: str) -> None:
        """The master has left this log behind: empty it, durably, see `log_reset`."""
        self.forget_incomplete()
        self._stalled_at = None
        empty_log(self._store, self._files, reason)
        for hook in self.on_anew:
            hook()

    def append(self, data: bytes | memoryview) -> None:
        """Take bytes that belong at `received_offset`. Raises FrameError for what is no log, StoreFull."""
        data = self._after_blank(memoryview(data))
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return
            data = memoryview(bytes(self._rest))
            self._rest.clear()
        wrote = self.end_offset
        try:
            while len(data) and (taken := self._append_run(data)):
                data = self._after_blank(data[taken:])
            self._rest += data
        finally:  # what was whole before a damaged record counts: the next connection goes on behind it
            if self.end_offset > wrote:
                if self._store.appender.on_append is not None:
                    self._store.appender.on_append()
                self.dispatch()

    def _after_blank(self, data: memoryview) -> memoryview:
        """What a blank record fills its file with means nothing."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        return data[skipped:]

    def _append_run(self, data: memoryview) -> int:
        """Write what is whole at the beginning of `data`, up to the end of the file; how much that is."""
        log, run = self._store.log, self._run
        end = log.max_offset
        left = log.file_size - end % log.file_size
        length = run.measure(data[:left], end)
        if length > left - BLANK_BYTES:
            raise FrameError(f"no blank record before the end of the log file at {end + left}")
        if length:
            log.append_run(data[:length])
            self._store.appender.store_timestamp = run.store_timestamp
        if length == min(left, len(data)):
            self._needed = 0
            return length
        if run.kind == BLANK or is_blank(data[length:]):
            return length + self._end_file(data[length:], left - length)
        self._check_incomplete(len(data) - length, left - length)
        return length

    def _end_file(self, data: memoryview, left: int) -> int:
        if int.from_bytes(data[:4], "big") != left:
            raise FrameError(f"a blank record of {data[:4].hex()} bytes, where {left} are left of the log file")
        self._store.log.end_file()
        self._skip = left - BLANK_BYTES
        return BLANK_BYTES

    def _check_incomplete(self, have: int, left: int) -> None:
        """What is behind the whole records may be the beginning of one; anything else is damage."""
        run = self._run
        limit = min(left, max(_MAX_RECORD_BYTES, 2 * self._store.config.max_message_size))
        if run.kind == CUT_OFF:
            self._needed = have + 1
        elif run.kind == WRONG_SIZE and FIXED_BYTES <= run.size <= limit and run.size > have:
            self._needed = run.size
        else:
            at = self._store.log.max_offset
            raise FrameError(f"the master's log at {at}: {REASONS.get(run.kind, 'blank')}")

    def check_dispatched(self) -> None:
        """Raises StoreError when records here cannot be dispatched. Of a record's head no checksum tells that it is
        damaged, but the queues it names do.
        """
        if self._stalled_at == self._store.dispatcher.dispatched_offset:
            raise StoreError(f"the record at {self._stalled_at} is not dispatched, see the log before this")

    def drop_undispatched(self) -> None:
        """Before the master is asked again: forget what it must send anew. Raises StoreFull."""
        if self._stalled_at is None:
            return
        self._stalled_at = None
        try:
            self._store.dispatch_ready()
        except StoreFull:
            raise
        except StoreError as error:
            self.cut(self._store.dispatcher.dispatched_offset, str(error))

    def dispatch(self) -> None:
        """Let readers see what they may; what cannot be dispatched now is tried again."""
        store = self._store
        try:
            store.dispatch_ready()
        except StoreError as error:
            store.dispatch_failed(error)
            self._stalled_at = store.dispatcher.dispatched_offset

    # -- reading, for the slaves of this one

    def slice_at(self, offset: int, size: int) -> memoryview | None:
        """Up to `size` bytes of the log from `offset` on, all of one file; None where it has none."""
        log, end = self._store.log, self._store.readable.written_offset
        base = log.base_of(offset)
        view = None if base is None or offset >= end else log.view_of(base)
        if base is None or view is None:
            return None
        found = view[offset - base : min(offset - base + size, end - base, log.file_size)]
        bytes(found[::PAGE])  # read each page here: whoever sends the bytes does not ask what became of them
        BAD_PAGES.check()
        return found

    # -- taking over

    def take_over(self) -> None:
        """This log is the master's from now on: puts go on where the records, dispatched or not, left the queues."""
        self.forget_incomplete()
        store = self._store
        for queue in store.queues:
            queue.cursor.next_offset = queue.max_offset
        for record in store.reader.records_between(store.dispatcher.dispatched_offset, store.log.max_offset):
            cursor = store.dispatcher.queue(record.topic, record.queue_id)
            cursor.next_offset = max(cursor.next_offset, record.queue_offset + 1)

    def cut(self, end: int, reason: str) -> list[Quarantined]:
        """Cut the log behind `end`, durably, see `log_truncation`; returns what was set aside."""
        self.forget_incomplete()
        kept = self._cut.cut(end, reason)
        for hook in self.on_cut:
            hook(end)
        return kept
