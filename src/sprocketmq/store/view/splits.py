"""Parts of the log that several readers can scan at once. Each begins and ends where a record does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record import Record
from sprocketmq.store.view.log import Damage, LogFile, LogView
from sprocketmq.store.view.queue import QueueView
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.source import ByteSource, open_source
from sprocketmq.store.view.store import StoreView

#: Boundaries are looked up in this many queues, the longest ones; they have an entry near any place.
_QUEUES_ASKED = 32


@dataclass(frozen=True, slots=True)
class LogRange:
    """The records that start in [begin, end) of one file; plain data, to be sent to another machine."""

    root: str
    path: str
    base: int
    file_size: int
    begin: int
    end: int


def plan_splits(root: Path | str | StoreView, target_bytes: int, sizes: Sizes | None = None) -> list[LogRange]:
    """Ranges of about `target_bytes` that together hold every record of the store once."""
    view = root if isinstance(root, StoreView) else StoreView(root, sizes)
    return [part for file in view.log.files for part in _split_file(view, file, max(1, target_bytes))]


def read_range(part: LogRange, source: ByteSource | None = None) -> Iterator[Record | Damage]:
    """The records of one range, on whichever machine; needs that one file only."""
    source = source or open_source(part.root)
    log = LogView(source, [LogFile(part.path, part.base, part.end - part.base)], part.file_size)
    return log.walk(part.begin, part.end, skip_damage=True)


def _split_file(view: StoreView, file: LogFile, target: int) -> Iterator[LogRange]:
    begin, stop = file.base, min(file.end, view.log_end)
    while begin < stop:
        end = _boundary(view, begin, begin + target, stop) if begin + target < stop else stop
        yield LogRange(view.source.describe(""), file.path, file.base, view.log.file_size, begin, end)
        begin = end


def _boundary(view: StoreView, begin: int, wanted: int, stop: int) -> int:
    """A record's start at or after `wanted`: where a queue points to, or found by walking from `begin`."""
    asked = nlargest(_QUEUES_ASKED, view.queues.values(), key=lambda queue: queue.max_offset - queue.min_offset)
    for place in sorted(filter(None, (_first_entry(queue, wanted) for queue in asked))):
        if wanted <= place < stop and _is_record(view.log, place):
            return place
    for found in view.log.walk(begin, stop, skip_damage=True):
        if isinstance(found, Record) and found.commit_offset >= wanted:
            return found.commit_offset
    return stop


def _first_entry(queue: QueueView, offset: int) -> int | None:
    offsets = range(queue.min_offset, queue.max_offset)
    found = bisect_left(offsets, offset, key=lambda one: queue.entry(one).commit_offset)
    return queue.entry(offsets[found]).commit_offset if found < len(offsets) else None


def _is_record(log: LogView, offset: int) -> bool:
    try:
        log.record(offset)
    except StoreCorrupt:
        return False
    return True
