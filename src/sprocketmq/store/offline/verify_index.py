"""The index's part of a check: its chains, and its entries against the keys of the log.

Entries lie in the order of the log, so both are walked together. A message may be indexed twice, by recovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.index.cursor import index_seconds
from sprocketmq.store.index.format import IndexEntry, slot_at
from sprocketmq.store.offline.verify_fast import IndexAgreement, chain_faults
from sprocketmq.store.offline.verify_findings import Finding, Severity
from sprocketmq.store.view.index import IndexView
from sprocketmq.store.view.source import checked
from sprocketmq.store.view.store import StoreView


class _Place(NamedTuple):
    file: IndexView
    number: int
    entry: IndexEntry

    def finding(self, what: str, severity: Severity = Severity.ERROR) -> Finding:
        return Finding(self.file.path, self.file.shape.entry_at(self.number), f"entry {self.number} {what}", severity)


class IndexCheck:
    """Fed with the records that no agreement passed over, in log order; then asked for what is left over."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._files = [IndexView(view.source, path, view.index_shape) for path, size in view.index_paths if size]
        self._following = iter(self._files)
        self._file: IndexView | None = None
        self._agreement = IndexAgreement()
        first = self._next
        self._begin = self._agreement.begin = first.entry.commit_offset if first else 0
        self._unindexed: tuple[int, int] | None = None

    @property
    def agreement(self) -> IndexAgreement | None:
        """Where the index is on its way through the log; None where there is none."""
        return self._agreement if self._files else None

    def check(self, record: Record, hashes: list[int]) -> Iterator[Finding]:
        """The entries at the record's offset are those of its keys."""
        yield from self._before(record.commit_offset)
        found: list[int] = []
        while (place := self._next) is not None and place.entry.commit_offset == record.commit_offset:
            found.append(place.entry.key_hash)
            if place.entry.key_hash not in hashes:
                yield place.finding(f"has a hash that no key of the message at {record.commit_offset} has")
            yield from _check_time(place, record)
            self._agreement.number += 1
        if Counter(hashes) - Counter(found) and record.commit_offset >= self._begin:
            first, count = self._unindexed or (record.commit_offset, 0)
            self._unindexed = first, count + 1

    def skip(self, offset: int) -> None:
        """Entries of a damaged stretch of the log cannot be judged; the damage is a finding already."""
        while (place := self._next) is not None and place.entry.commit_offset < offset:
            self._agreement.number += 1

    def rest(self) -> Iterator[Finding]:
        yield from self._before(1 << 63)
        if self._unindexed is not None and self._files:
            first, count = self._unindexed
            last = self._files[-1]
            severity = Severity.RECOVERABLE if self._view.crashed else Severity.ERROR
            what = f"{count} messages of the log lack an entry for a key, the first at {first}"
            yield Finding(last.path, last.shape.entry_at(last.count), what, severity)
        for file in self._files:
            yield from _check_chains(file)

    def _before(self, offset: int) -> Iterator[Finding]:
        """Entries that point to a place in the log where no record starts."""
        while (place := self._next) is not None and place.entry.commit_offset < offset:
            self._agreement.number += 1
            target = place.entry.commit_offset
            if target < self._view.log_begin:
                continue
            beyond = target >= self._view.log_end and self._view.crashed
            severity = Severity.RECOVERABLE if beyond else Severity.ERROR
            if not self._repeats(place):
                yield place.finding(f"points to {target}, where no record starts", severity)

    def _repeats(self, place: _Place) -> bool:
        """Whether it is a second entry for a message further back in the log."""
        try:
            record = self._view.log.record(place.entry.commit_offset)
        except StoreCorrupt:
            return False
        return place.entry.key_hash in record_dispatch.key_hashes(record, record_dispatch.properties_of(record))

    @property
    def _next(self) -> _Place | None:
        """The entry that comes next, in this file or the first of those that follow; None when there is none left."""
        while self._file is None or self._agreement.number >= self._agreement.count:
            following = next(self._following, None)
            if following is None:
                return None
            self._file = following
            is_last = following is self._files[-1]
            self._agreement.place(
                following.stored_entries(), following.count, following.header.begin_timestamp, is_last
            )
        return _Place(self._file, self._agreement.number, self._file.entry(self._agreement.number))


def _check_time(place: _Place, record: Record) -> Iterator[Finding]:
    """Seconds since the file's begin; the first entry of a file was counted from the end of the one before."""
    header, entry = place.file.header, place.entry
    seconds = index_seconds(record.store_timestamp, header.begin_timestamp)
    if place.number > 1 and entry.seconds != seconds:
        yield place.finding(
            f"says {entry.seconds} s after the file's begin, but the message was stored after {seconds}"
        )


def _check_chains(file: IndexView) -> Iterator[Finding]:
    """Each entry follows the one before it in its slot; each slot names the newest; the header counts them."""
    chains, heads, used = checked(
        chain_faults(file.stored_entries(), file.count, file.stored_slots(), file.shape.slots)
    )
    for number, stored, last in chains:
        yield _Place(file, number, file.entry(number)).finding(f"is chained to {stored}, not to {last}")
    for slot, stored, last in heads:
        yield Finding(file.path, slot_at(slot), f"slot {slot} names entry {stored}, not {last}")
    yield from _check_header(file, used)


def _check_header(file: IndexView, used: int) -> Iterator[Finding]:
    header = file.header
    if header.index_count > file.count:
        yield Finding(file.path, 36, f"the header counts {header.index_count} entries, the file holds {file.count}")
        return
    if header.used_slots != used:
        yield Finding(file.path, 32, f"the header counts {header.used_slots} slots, {used} are used")
    if file.count <= 1:
        return
    first, last = file.entry(1), file.entry(file.count - 1)
    if header.begin_offset != first.commit_offset:
        yield Finding(file.path, 16, f"the begin offset is {header.begin_offset}, not {first.commit_offset}")
    if header.end_offset != last.commit_offset:
        yield Finding(file.path, 24, f"the end offset is {header.end_offset}, not {last.commit_offset}")
    if header.begin_timestamp > header.end_timestamp:
        yield Finding(file.path, 0, f"it begins at {header.begin_timestamp} and ends before, at {header.end_timestamp}")
