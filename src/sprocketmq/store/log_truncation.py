"""Cutting a log that serves, where it differs from its master's.

What is cut was acknowledged to somebody, perhaps, so it is kept in `quarantine/`. The order is: set aside, queues,
checkpoint, index, log. All of it is durable before the cut returns. A crash in between leaves a log that is longer than
the cut, and the epochs that call for it: the cut is made again.
"""

from __future__ import annotations

import logging

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import BLANK, BLANK_BYTES, MAGIC_BLANK, REASONS, WHOLE
from sprocketmq.store.files.files import Files
from sprocketmq.store.recovery.cut import cut_queues, set_aside_behind
from sprocketmq.store.recovery.quarantine import Quarantined
from sprocketmq.store.recovery.resync import record_at
from sprocketmq.store.store import MessageStore

_log = logging.getLogger("sprocketmq.store.log_truncation")


class LogTruncation:
    def __init__(self, store: MessageStore, files: Files) -> None:
        self._store = store
        self._files = files

    def cut(self, end: int, reason: str) -> list[Quarantined]:
        """Cut the log behind `end`, durably; returns what was set aside. Raises StoreError where no record ends."""
        store = self._store
        if end >= store.log.max_offset:
            return []
        self._check_boundary(end)
        with store.flusher.flushing, store.queue_flusher.flushing:
            store.flusher.flush()
            if store.failure is not None:
                raise store.failure
            kept = set_aside_behind(self._files, store.layout, store.log, end, reason)
            self._cut(end)
        _log.warning("the log was cut to %d, %s; %s", end, reason, _told(kept))
        return kept

    def _check_boundary(self, end: int) -> None:
        log = self._store.log
        base = log.base_of(end)
        view = None if base is None else log.view_of(base)
        if base is None or view is None:
            raise StoreError(f"the log begins at {log.min_offset} and cannot be cut to {end}")
        at = end - base
        if record_at(view, base, at) is None and not is_blank(view[at:]):
            raise StoreError(f"no record begins at {end}, so the log cannot be cut there")

    def _cut(self, end: int) -> None:
        store = self._store
        cut_queues(self._files, store.queues, end)
        for queue in store.queues:
            queue.cursor.next_offset = queue.max_offset
        timestamp = self._last_timestamp()
        lower_checkpoint(store, self._files, end, timestamp)
        rebuild_from = self._drop_indexes(end)
        store.log.close()
        store.log.cut(end)
        store.deleted.settle(store.log.min_offset, end)
        store.queues.deletions_changed()
        dispatched = min(store.dispatcher.dispatched_offset, end)
        if rebuild_from < dispatched:
            self._index_again(rebuild_from, dispatched)
        store.dispatcher.dispatched_offset = dispatched
        place_end(store, end, timestamp)

    def _last_timestamp(self) -> int:
        """The store time of the last message that a queue knows; what is behind it is not older."""
        store = self._store
        last = max(store.queues, key=lambda queue: queue.cursor.max_commit_offset, default=None)
        entry = None if last is None else last.raw_entry(last.max_offset - 1)
        found = None if entry is None or entry.is_filler else store.reader.store_timestamp_at(entry.commit_offset)
        return found or 0

    def _drop_indexes(self, end: int) -> int:
        """Remove index files that know of what is cut; from where on the log is to be indexed again."""
        index = self._store.index
        if index is None:
            return end
        dropped = [name for name, header in index.headers() if header.end_offset >= end]
        for name in dropped:
            index.remove(name)
        if not dropped:
            return end
        return index.header(index.names[-1]).end_offset if index.names else self._store.log.min_offset

    def _index_again(self, start: int, end: int) -> None:
        """Dispatching a record twice changes nothing in its queue."""
        log, dispatcher = self._store.log, self._store.dispatcher
        at = max(start, log.min_offset)
        while at < end:
            base = log.base_of(at)
            view = None if base is None else log.view_of(base)
            if base is None or view is None:
                raise StoreError(f"the log has no file for offset {at}")
            dispatcher.dispatched_offset = at
            kind = dispatcher.walk(view, base, at - base, min(end - base, log.file_size), False)
            at = base + log.file_size if kind == BLANK else dispatcher.dispatched_offset
            if kind not in (BLANK, WHOLE):
                raise StoreError(f"no whole record at offset {at}: {REASONS[kind]}")


def lower_checkpoint(store: MessageStore, files: Files, end: int, timestamp: int) -> None:
    """First of what changes on disk: a start after a crash must not trust what is about to go."""
    store.checkpoint.lower(end, timestamp)
    files.write_bytes(store.layout.checkpoint, store.checkpoint.encode())
    if store.readable.confirm_offset is not None:
        store.readable.limit(min(store.readable.confirm_offset, end))


def place_end(store: MessageStore, offset: int, timestamp: int) -> None:
    """Go on writing at `offset`, behind a message of that store time; nothing waits to be flushed."""
    base = offset - offset % store.log.file_size
    store.appender.place(None, base, offset - base, 0)
    store.appender.store_timestamp = store.dispatcher.store_timestamp = timestamp
    store.flusher.begin_at(offset, timestamp)
    if store.dispatcher.dispatched_offset > offset or not store.log.bases:
        store.dispatcher.dispatched_offset = offset


def is_blank(data: memoryview) -> bool:
    return len(data) >= BLANK_BYTES and int.from_bytes(data[4:8], "big", signed=True) == MAGIC_BLANK


def _told(kept: list[Quarantined]) -> str:
    if not kept:
        return "no whole record was lost"
    return (
        f"{sum(each.records for each in kept)} records were set aside in {', '.join(str(each.path) for each in kept)}"
    )
