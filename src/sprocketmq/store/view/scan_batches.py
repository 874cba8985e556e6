"""Scans of a store as Arrow record batches, made straight from the log's bytes.

    orders = Selection(topics=frozenset({"Orders"}))
    for batch in scan("/data/store", columns=("queueOffset", "body"), selection=orders):
        ...

`scan` reads a whole store here; `Scan` reads the pieces that `plan_splits` made, wherever it was sent to. Damage is
met in one of three ways: "fail" raises StoreCorrupt, "skip" leaves the bytes out, and "column" adds a row for them,
whose `damage` column says what is wrong there and whose `commitLogOffset` says where.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sprocketmq import extras
from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol.arrow import columns as arrow
from sprocketmq.protocol.arrow.rows import Rows, Wanted, rows_of_entries, rows_of_run
from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.queue.format import ENTRY, ENTRY_SIZE
from sprocketmq.store.view.configs import deletions
from sprocketmq.store.view.listing import open_log, queue_files
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.scan_mask import looked_at, mask
from sprocketmq.store.view.scan_select import Selection
from sprocketmq.store.view.scan_skim import wanted_entries
from sprocketmq.store.view.scan_splits import LogSplit, QueueSplit, Split, plan_splits
from sprocketmq.store.view.source import ByteSource, checked, open_source

if TYPE_CHECKING:
    import pyarrow as pa

OnDamage = Literal["fail", "skip", "column"]
Report = Callable[[Damage], object]
DAMAGE = "damage"
#: A batch is made of about so many bytes of the log, or of so many queue entries.
BATCH_BYTES = 4 * 1024 * 1024
_ENTRIES_AT_ONCE = 16_384


def scan(
    root: Path | str | ByteSource,
    *,
    columns: Sequence[str] = arrow.COLUMNS,
    selection: Selection | None = None,
    by_queue: bool = False,
    on_damage: Report | None = None,
) -> pa.RecordBatchReader:
    """The selected messages of a store, in commit order. Damage is raised, or handed to `on_damage` and passed over.

    With `by_queue`, queue by queue in the order of their offsets; what queues may not know yet comes last.
    """
    extras.need("a scan", "pyarrow", "arrow")
    import pyarrow as pa

    source = open_source(root) if isinstance(root, Path | str) else root
    how = Scan(source.describe(""), selection or Selection(), tuple(columns), "skip" if on_damage else "fail")
    reader = _Reader(how, ScanStats(), source, on_damage)
    parts = plan_splits(source, how.selection, by_queue=by_queue, split_bytes=1 << 62)
    return pa.RecordBatchReader.from_batches(how.schema(), (batch for part in parts for batch in reader.read(part)))


@dataclass
class ScanStats:
    """What a scan touched: records looked at in the log, their bytes, and the rows that came out."""

    rows_scanned: int = 0
    bytes_scanned: int = 0
    rows_returned: int = 0
    damaged: int = 0


@dataclass(frozen=True)
class Scan:
    """How pieces of a store are read. Plain data, so that it can travel to where the reading happens."""

    root: str
    selection: Selection = field(default_factory=Selection)
    columns: tuple[str, ...] = arrow.COLUMNS
    on_damage: OnDamage = "fail"
    check_crc: bool = True

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        if DAMAGE not in self.columns and self.on_damage != "column":
            return arrow.schema(self.columns)
        plain = tuple(name for name in self.columns if name != DAMAGE)
        fields = {item.name: item.with_nullable(True) for item in arrow.schema(plain)}
        return pa.schema([fields.get(name) or pa.field(DAMAGE, pa.string()) for name in self.columns])

    def read(
        self, split: Split, stats: ScanStats | None = None, source: ByteSource | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The selected messages of one piece."""
        return _Reader(self, stats or ScanStats(), source or open_source(self.root)).read(split)


class _Reader:
    """Reads the pieces of one scan."""

    def __init__(self, how: Scan, stats: ScanStats, source: ByteSource, report: Report | None = None) -> None:
        self._how, self._stats, self._report = how, stats, report
        self._source, self._log = source, open_log(source)
        self._deleted = deletions(source)
        self._schema = how.schema()
        chosen = how.selection
        self._codes = frozenset(tags_code(tag) for tag in chosen.tags) or None
        queue_id = min(chosen.queue_ids) if len(chosen.queue_ids) == 1 else None
        self._wanted = Wanted(sorted(chosen.topics) or None, queue_id, self._codes, how.check_crc)
        self._asked = [name for name in how.columns if name != DAMAGE]
        self._queued = False

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        self._queued = isinstance(split, LogSplit) and split.queued
        needed = (
            name for name in looked_at(self._how.selection, self._queued, self._deleted) if name not in self._asked
        )
        self._decoded = (*self._asked, *needed)
        found = self._log_batches(split) if isinstance(split, LogSplit) else self._queue_batches(split)
        for batch in found:
            if batch.num_rows:
                self._stats.rows_returned += batch.num_rows
                yield batch

    # -- the log, in commit order

    def _log_batches(self, split: LogSplit) -> Iterator[pa.RecordBatch]:
        for file in self._log.files:
            begin, stop = max(file.base, split.begin), min(file.end, split.end)
            while begin < stop:
                end = self._readable(begin, stop)
                yield from self._run(begin, end)
                begin = end

    def _readable(self, begin: int, stop: int) -> int:
        """How far one read goes: to the end of what is mapped, and elsewhere to a record near the window's end."""
        target = begin + self._source.window
        return stop if target >= stop else self._log.next_record(target, stop) or stop

    def _run(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        data = self._log.read(begin, end - begin)
        at, length = 0, len(data)
        while at < length:
            try:
                rows = checked(rows_of_run(data, at, length, self._wanted, at + BATCH_BYTES))
            except BodyError as error:
                checked(error)
                resumed = self._log.next_record(begin + min(at + BATCH_BYTES, length), end) or end
                yield from self._around_damage(begin + at, resumed)
                at = resumed - begin
            else:
                yield self._batch(data, rows)
                at = rows.stop

    def _around_damage(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """The runs of whole records that start in [begin, end), and what lies between."""
        start = stop = begin
        for found in self._log.walk(begin, end, skip_damage=True):
            if isinstance(found, Record):
                stop = found.commit_offset + found.size
                continue
            yield from self._whole_run(start, stop)
            yield from self._damage(found)
            start = stop = found.end
        yield from self._whole_run(start, stop)

    def _whole_run(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        if end > begin:
            data = self._log.read(begin, end - begin)
            yield self._batch(data, rows_of_run(data, 0, len(data), self._wanted))

    # -- a queue, in its order

    def _queue_batches(self, split: QueueSplit) -> Iterator[pa.RecordBatch]:
        chosen = self._how.selection
        codes = None if split.topic == SCHEDULE_TOPIC else self._codes  # there it is the time of delivery
        for entries in self._entries(split):
            places = checked(wanted_entries(entries, codes, chosen.begin_physical, chosen.end_physical))
            while places:
                count = self._at_once(places)
                yield from self._gather(split, places[:count])
                places = places[count:]

    def _entries(self, split: QueueSplit) -> Iterator[memoryview]:
        folder = f"consumequeue/{split.topic}/{split.queue_id}"
        begin, end, step = split.begin * ENTRY_SIZE, split.end * ENTRY_SIZE, _ENTRIES_AT_ONCE * ENTRY_SIZE
        for listed in queue_files(self._source, folder):
            stop = min(end, listed.base + listed.size)
            if listed.base < end and stop > begin:
                file = self._source.open(listed.path)
                for at in range(max(listed.base, begin), stop, step):
                    yield file.read(at - listed.base, min(step, stop - at))

    def _at_once(self, places: list[tuple[int, int]]) -> int:
        """How many of them one read of the log serves: in one file, and near enough when it is not mapped."""
        first, size = places[0]
        file = self._log.file_at(first)
        end = first + 1 if file is None else min(file.end, first + max(size, self._source.window))
        count = bisect_left(places, (end, 0))
        return max(1, count if sum(places[count - 1]) <= end else count - 1)

    def _gather(self, split: QueueSplit, places: list[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        begin = places[0][0]
        data = self._log.read(begin, sum(places[-1]) - begin)
        try:
            rows = checked(rows_of_entries(data, places, self._wanted, begin))
        except BodyError as error:
            checked(error)
            if len(places) > 1:
                for place in places:
                    yield from self._gather(split, [place])
            else:
                file = self._log.file_at(begin)
                path, base = (file.path, file.base) if file else ("commitlog", 0)
                damage = Damage(path, base, begin, sum(places[0]), str(error).partition(": ")[2])
                offset = self._queue_offset(split, places[0])
                yield from self._damage(damage, topic=split.topic, queueId=split.queue_id, queueOffset=offset)
        else:
            yield self._batch(data, rows)

    def _queue_offset(self, split: QueueSplit, place: tuple[int, int]) -> int | None:
        """The offset of the entry that names this place."""
        offset = split.begin
        for entries in self._entries(split):
            for number, (commit_offset, size, _) in enumerate(ENTRY.iter_unpack(entries)):
                if (commit_offset, size) == place:
                    return offset + number
            offset += len(entries) // ENTRY_SIZE
        return None

    # -- both

    def _batch(self, data: memoryview, rows: Rows) -> pa.RecordBatch:
        """The rows that are really selected, in the columns that were asked for."""
        import pyarrow as pa

        self._stats.rows_scanned += rows.seen
        self._stats.bytes_scanned += rows.seen_bytes
        batch = checked(arrow.batch_of(data, rows, self._decoded))  # which copies, so that nothing looks again
        keep = mask(batch, self._how.selection, self._queued, self._deleted)
        if keep is not None:
            batch = batch.filter(keep)
        arrays: list[Any] = [
            pa.nulls(batch.num_rows, pa.string()) if item.name == DAMAGE else batch.column(item.name)
            for item in self._schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _damage(self, found: Damage, **place: Any) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        self._stats.damaged += 1
        if self._report is not None:
            self._report(found)
        if self._how.on_damage == "fail":
            raise StoreCorrupt(self._source.describe(found.path), found.begin - found.base, found.reason)
        if self._how.on_damage == "column":
            row = {"commitLogOffset": found.begin, "storeSize": found.end - found.begin, DAMAGE: found.reason} | place
            yield pa.RecordBatch.from_pylist([row], schema=self._schema)
