"""A store directory cut into pieces that can be read one by one, on different machines.

A piece is plain data: a run of the log between two record boundaries, or a stretch of one queue. Which kind is planned
depends on the selection: a selection by topic reads through the topic's queues and so touches only its own messages;
one without reads the log, which also holds what is in no queue (half messages, rolled back ones).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from sprocketmq.errors import StoreCorrupt, StoreError
from sprocketmq.store.consumequeue_format import QueueEntry
from sprocketmq.store.view.log import LogFile, LogView
from sprocketmq.store.view.select import Selection
from sprocketmq.store.view.store import FOREVER, StoreView

#: A run of the log is about as long as this, so that a file of 1 GiB feeds eight readers.
SPLIT_BYTES = 128 * 1024 * 1024
#: A stretch of a queue has at most this many entries.
SPLIT_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class LogSplit:
    """The records that start in [begin, end) of the log; `begin` is where one starts."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class QueueSplit:
    """The messages [begin, end) of one queue. `entries` stand for those that are in no file yet, the last ones."""

    topic: str
    queue_id: int
    begin: int
    end: int
    entries: tuple[QueueEntry, ...] = ()


Split = LogSplit | QueueSplit


def plan_splits(view: StoreView, selection: Selection, *, at_least: int = 1) -> list[Split]:
    """Pieces that hold everything selected and, as far as queues and file times tell, little else."""
    if selection.topics and any(key[0] in selection.topics for key in view.queues):
        return _queue_splits(view, selection, at_least)
    return list(_log_splits(view, selection, at_least))


def _queue_splits(view: StoreView, selection: Selection, at_least: int) -> list[Split]:
    bounds = {
        key: bounds
        for key in sorted(view.queues)
        if selection.wants_queue(*key) and (bounds := _queue_bounds(view, key, selection))
    }
    total = sum(end - begin for begin, end in bounds.values())
    step = max(1, min(SPLIT_ENTRIES, -(-total // at_least)))
    return [
        _queue_split(view, key, at, min(at + step, end))
        for key, (begin, end) in bounds.items()
        for at in range(begin, end, step)
    ]


def _queue_bounds(view: StoreView, key: tuple[str, int], selection: Selection) -> tuple[int, int] | None:
    queue = view.queue(*key)
    begin = max(queue.min_offset, selection.begin_offset)
    end = min(queue.max_offset, selection.end_offset)
    if selection.begin_time > 0:
        begin = max(begin, view.offset_by_time(*key, selection.begin_time))
    if selection.end_time < FOREVER:
        end = min(end, view.offset_by_time(*key, selection.end_time + 1))
    return (begin, end) if begin < end else None


def _queue_split(view: StoreView, key: tuple[str, int], begin: int, end: int) -> QueueSplit:
    queue = view.queue(*key)
    unwritten = range(max(begin, queue.on_disk), end)
    return QueueSplit(*key, begin, end, tuple(queue.entry(offset) for offset in unwritten))


def _log_splits(view: StoreView, selection: Selection, at_least: int) -> Iterator[LogSplit]:
    begin, end = _log_bounds(view, selection)
    step = max(1, min(SPLIT_BYTES, -(-(end - begin) // at_least)))
    while begin < end:
        cut = _boundary(view.log, begin + step, end)
        yield LogSplit(begin, cut)
        begin = cut


def _boundary(log: LogView, at: int, end: int) -> int:
    """The first place at or after `at` where a record or a file begins; `end` when there is none before it."""
    file = log.file_at(at)
    if file is None or at >= end:
        return end
    found = log.next_record(at, min(file.end, end))
    return min(file.end, end) if found is None else found


def _log_bounds(view: StoreView, selection: Selection) -> tuple[int, int]:
    """Whole files at both ends: a file's first record tells when the file before it ended."""
    begin = max(view.log_begin, _record_start(view, selection.begin_physical))
    end = min(view.log_end, selection.end_physical)
    times = [_first_time(view.log, file) for file in view.log.files]
    known = [(when, file.base) for when, file in zip(times, view.log.files, strict=True) if when is not None]
    if selection.begin_time > 0 and (before := bisect_right(known, (selection.begin_time - 1, FOREVER))):
        begin = max(begin, known[before - 1][1])
    after = bisect_right(known, (selection.end_time, FOREVER))
    if after < len(known):
        end = min(end, known[after][1])
    return begin, end


def _record_start(view: StoreView, offset: int) -> int:
    if offset <= view.log_begin:
        return view.log_begin
    return view.log.next_record(offset, view.log_end) or view.log_end


def _first_time(log: LogView, file: LogFile) -> int | None:
    try:
        return log.record(file.base, check_crc=False).store_timestamp
    except StoreCorrupt:
        return None


def require_store(view: StoreView, where: str) -> StoreView:
    """The view itself; raises when there is no log to read."""
    if not view.log.files:
        raise StoreError(f"{where} is not a store: it has no commitlog files")
    return view
