"""A store cut into pieces that can be read one by one, on different machines.

A piece is plain data: a run of the log between two record boundaries, or a stretch of one queue. Which kind is planned
depends on the selection: one by topic or tag is read through the queues, whose entries tell where the messages are and
what hash their tags have, and so touches only what it needs; the part of the log that queues may not know yet is read
beside them. One without reads the log, which also holds what is in no queue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sprocketmq.errors import StoreCorrupt, StoreError
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.view.configs import deletions
from sprocketmq.store.view.listing import list_queues, open_log
from sprocketmq.store.view.log import LogFile, LogView
from sprocketmq.store.view.queue import QueueView
from sprocketmq.store.view.scan_bounds import Bounds, find_bounds
from sprocketmq.store.view.scan_select import Selection
from sprocketmq.store.view.sizes import queue_file_size
from sprocketmq.store.view.source import ByteSource, open_source
from sprocketmq.store.view.store import FOREVER

#: A run of the log is about as long as this, so that a file of 1 GiB feeds eight readers.
SPLIT_BYTES = 128 * 1024 * 1024
#: A stretch of a queue has at most this many entries.
SPLIT_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class LogSplit:
    """The records that start in [begin, end) of the log, `begin` being where one starts; or those that queues hold."""

    begin: int
    end: int
    queued: bool = False


@dataclass(frozen=True, slots=True)
class QueueSplit:
    """The messages [begin, end) of one queue."""

    topic: str
    queue_id: int
    begin: int
    end: int


Split = LogSplit | QueueSplit


def plan_splits(
    root: Path | str | ByteSource,
    selection: Selection | None = None,
    *,
    at_least: int = 1,
    split_bytes: int | None = None,
    by_queue: bool | None = None,
) -> list[Split]:
    """Pieces that hold everything selected and, as far as queues and file times tell, little else.

    Raises StoreError where there is no log. `by_queue` decides how to read where the selection would.
    """
    source = open_source(root) if isinstance(root, Path | str) else root
    return _Planner(source, selection or Selection(), at_least, split_bytes or SPLIT_BYTES).plan(by_queue)


def require_log(source: ByteSource) -> LogView:
    """The log; raises when there is none to read."""
    log = open_log(source)
    if not log.files:
        raise StoreError(f"{source.describe('')} is not a store: it has no commitlog files")
    return log


class _Planner:
    def __init__(self, source: ByteSource, selection: Selection, at_least: int, split_bytes: int) -> None:
        self._source, self._selection, self._at_least, self._split_bytes = source, selection, at_least, split_bytes
        self._log = require_log(source)
        self._deleted = deletions(source)

    def plan(self, by_queue: bool | None) -> list[Split]:
        chosen, bounds = self._selection, find_bounds(self._log)
        if by_queue is None:
            by_queue = bool(chosen.topics or chosen.tags)
        queues = self._queues(bounds) if by_queue else []
        if not queues:
            return list(self._log_splits(bounds, queued=by_queue))
        return [*self._queue_splits(queues), *self._log_splits(bounds._replace(begin=bounds.settled), queued=True)]

    # -- queues

    def _queues(self, bounds: Bounds) -> list[QueueView]:
        """The selected queues, as far as they were safe at the checkpoint."""
        chosen = self._selection
        every = list_queues(self._source, chosen.topics or None)
        listed = {key: files for key, files in every.items() if chosen.wants_queue(*key)}
        file_size = queue_file_size(listed.values(), None)
        found = [
            QueueView(self._source, *key, files, file_size, bounds.settled) for key, files in sorted(listed.items())
        ]
        for queue in found:
            queue.cut(bounds.begin, bounds.settled)
        return [] if any(map(self._is_stale, found)) else found

    def _is_stale(self, queue: QueueView) -> bool:
        """Whether entries of a deleted topic came back: then only the log tells what its successor holds."""
        deletion = self._deleted.get(queue.topic)
        return deletion is not None and queue.begins_deleted(deletion, self._store_time)

    def _queue_splits(self, queues: list[QueueView]) -> list[Split]:
        bounds = [(queue, *self._queue_bounds(queue)) for queue in queues]
        total = sum(max(0, end - begin) for _, begin, end in bounds)
        step = max(1, min(SPLIT_ENTRIES, -(-total // self._at_least)))
        return [
            QueueSplit(queue.topic, queue.queue_id, at, min(at + step, end))
            for queue, begin, end in bounds
            for at in range(begin, end, step)
        ]

    def _queue_bounds(self, queue: QueueView) -> tuple[int, int]:
        chosen = self._selection
        begin, end = max(queue.min_offset, chosen.begin_offset), min(queue.max_offset, chosen.end_offset)
        if chosen.begin_time > 0:
            begin = max(begin, queue.offset_by_time(chosen.begin_time, self._store_time))
        if chosen.end_time < FOREVER:
            end = min(end, queue.offset_by_time(chosen.end_time + 1, self._store_time))
        return begin, end

    def _store_time(self, entry: QueueEntry) -> int:
        try:
            return self._log.record(entry.commit_offset, entry.size, check_crc=False).store_timestamp
        except StoreCorrupt:
            return -1

    # -- the log

    def _log_splits(self, bounds: Bounds, *, queued: bool) -> Iterator[LogSplit]:
        begin, end = self._log_bounds(bounds)
        step = max(1, min(self._split_bytes, -(-(end - begin) // self._at_least)))
        while begin < end:
            cut = self._boundary(begin + step, end)
            yield LogSplit(begin, cut, queued)
            begin = cut

    def _boundary(self, at: int, end: int) -> int:
        """The first place at or after `at` where a record or a file begins; `end` when there is none before it."""
        file = self._log.file_at(at)
        if file is None or at >= end:
            return end
        found = self._log.next_record(at, min(file.end, end))
        return min(file.end, end) if found is None else found

    def _log_bounds(self, bounds: Bounds) -> tuple[int, int]:
        """Whole files at both ends: a file's first record tells when the file before it ended."""
        chosen = self._selection
        begin, end = bounds.begin, min(bounds.end, chosen.end_physical)
        if chosen.begin_physical > begin:
            begin = self._boundary(chosen.begin_physical, bounds.end)
        if (chosen.begin_time, chosen.end_time) == (0, FOREVER):
            return begin, end
        times = [(when, file.base) for file in self._log.files if (when := self._first_time(file)) is not None]
        if before := bisect_right(times, (chosen.begin_time - 1, FOREVER)):
            begin = max(begin, times[before - 1][1])
        after = bisect_right(times, (chosen.end_time, FOREVER))
        return begin, min(end, times[after][1]) if after < len(times) else end

    def _first_time(self, file: LogFile) -> int | None:
        try:
            return self._log.record(file.base, check_crc=False).store_timestamp
        except StoreCorrupt:
            return None
