"""Pieces of a store as Arrow batches: what a task of `rocketmq_store` does.

`sprocketmq.store.scan` reads a whole store in one process; here each piece is read where its task runs, by topic
through the queues, and counts what it touched.

Damage is met in one of three ways: "fail" raises StoreCorrupt, "skip" leaves the bytes out, and "column" adds a row for
them, whose `damage` column says what is wrong there and whose `commitLogOffset` says where.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol import columns as arrow
from sprocketmq.protocol.hashing import tags_code
from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.spark.store_splits import LogSplit, QueueSplit, Split
from sprocketmq.store.consumequeue_format import ENTRY, ENTRY_SIZE, QueueEntry
from sprocketmq.store.layout import base_offset_of
from sprocketmq.store.view.log import Damage, LogFile, LogView
from sprocketmq.store.view.select import Selection
from sprocketmq.store.view.source import ByteSource, open_source
from sprocketmq.store.view.store import FOREVER

if TYPE_CHECKING:
    import pyarrow as pa

OnDamage = Literal["fail", "skip", "column"]
DAMAGE = "damage"

_PIECE_BYTES = 8 * 1024 * 1024
_PIECE_ENTRIES = 32_768


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

        plain = [name for name in self.columns if name != DAMAGE]
        fields = {item.name: item.with_nullable(True) for item in arrow.schema(tuple(plain))}
        return pa.schema([fields.get(name) or pa.field(DAMAGE, pa.string()) for name in self.columns])

    def read(self, split: Split, stats: ScanStats | None = None) -> Iterator[pa.RecordBatch]:
        """The selected messages of one piece."""
        return _Reader(self, stats or ScanStats()).read(split)


def open_log(source: ByteSource) -> LogView:
    """The log's files, unchecked: where records are has been planned already."""
    files = [
        LogFile(f"commitlog/{entry.name}", base, entry.size)
        for entry in source.entries("commitlog")
        if (base := base_offset_of(entry.name)) is not None
    ]
    return LogView(source, files, files[0].size if files else 0)


class _Reader:
    """Reads the pieces of one scan."""

    def __init__(self, how: Scan, stats: ScanStats) -> None:
        self.how, self.stats = how, stats
        self.source = open_source(how.root)
        self.log = open_log(self.source)
        needed = [name for name in how.columns if name != DAMAGE]
        self.decoded = (*needed, *(name for name in _filtered_by(how.selection) if name not in needed))
        self.codes = frozenset(tags_code(tag) for tag in how.selection.tags) or None

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        found = self._log(split) if isinstance(split, LogSplit) else self._queue(split)
        for batch in found:
            if batch.num_rows:
                self.stats.rows_returned += batch.num_rows
                yield batch

    # -- the log, in commit order -----------------------------------------------------------------------------------

    def _log(self, split: LogSplit) -> Iterator[pa.RecordBatch]:
        for file in self.log.files:
            begin, stop = max(file.base, split.begin), min(file.end, split.end)
            while begin < stop:
                target = begin + _PIECE_BYTES
                end = stop if target >= stop else self.log.next_record(target, stop) or stop
                yield from self._run(begin, end)
                begin = end

    def _run(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        data = self.log.read(begin, end - begin)
        self.stats.bytes_scanned += len(data)
        try:
            yield self._finish(self._columns(data))
        except BodyError:
            yield from self._damaged_run(begin, end)

    def _damaged_run(self, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """The whole records between the damaged places."""
        start = stop = begin
        for found in self.log.walk(begin, end, skip_damage=True):
            if isinstance(found, Damage):
                if stop > start:
                    yield self._finish(self._columns(self.log.read(start, stop - start)))
                yield from self._damage(found.begin, found.end - found.begin, found.reason)
                start = stop = found.end
            else:
                stop = found.commit_offset + found.size
        if stop > start:
            yield self._finish(self._columns(self.log.read(start, stop - start)))

    def _columns(self, data: memoryview) -> pa.RecordBatch:
        selection = self.how.selection
        batch = arrow.decode_columns(
            data, columns=self.decoded, topics=selection.topics or None, tags_codes=self.codes,
            check_crc=self.how.check_crc,
        )  # fmt: skip
        self.stats.rows_scanned += batch.num_rows
        return batch

    # -- a queue, in its order --------------------------------------------------------------------------------------

    def _queue(self, split: QueueSplit) -> Iterator[pa.RecordBatch]:
        codes = None if split.topic == SCHEDULE_TOPIC else self.codes
        physical = range(self.how.selection.begin_physical, self.how.selection.end_physical)
        wanted: list[tuple[int, QueueEntry]] = []
        for offset, entry in self._entries(split):
            if entry.is_filler or (codes is not None and entry.tags_code not in codes):
                continue
            if entry.commit_offset not in physical:
                continue
            if wanted and (len(wanted) >= _PIECE_ENTRIES or not self._same_read(wanted[0][1], entry)):
                yield from self._gather(split, wanted)
                wanted = []
            wanted.append((offset, entry))
        if wanted:
            yield from self._gather(split, wanted)

    def _entries(self, split: QueueSplit) -> Iterator[tuple[int, QueueEntry]]:
        """From the queue's files, then those that the plan carries."""
        folder = f"consumequeue/{split.topic}/{split.queue_id}"
        written_end = (split.end - len(split.entries)) * ENTRY_SIZE
        for file in self.source.entries(folder):
            base = base_offset_of(file.name)
            if base is None or base >= written_end or base + file.size <= split.begin * ENTRY_SIZE:
                continue
            at = max(base, split.begin * ENTRY_SIZE)
            data = self.source.open(f"{folder}/{file.name}").read(at - base, min(written_end, base + file.size) - at)
            for number, fields in enumerate(ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_SIZE])):
                yield at // ENTRY_SIZE + number, QueueEntry(*fields)
        yield from enumerate(split.entries, split.end - len(split.entries))

    def _same_read(self, first: QueueEntry, entry: QueueEntry) -> bool:
        """Whether one read of the log can serve both: same file, and near enough when the file is not mapped."""
        file = self.log.file_at(first.commit_offset)
        if file is None or not file.base <= entry.commit_offset < file.end:
            return False
        return 0 <= entry.commit_offset - first.commit_offset < self.source.window - entry.size

    def _gather(self, split: QueueSplit, wanted: list[tuple[int, QueueEntry]]) -> Iterator[pa.RecordBatch]:
        begin = wanted[0][1].commit_offset
        last = wanted[-1][1]
        data = self.log.read(begin, last.commit_offset + last.size - begin)
        places = [(entry.commit_offset - begin, entry.size) for _, entry in wanted]
        try:
            yield self._finish(self._messages(data, places))
        except BodyError:
            yield from self._damaged_entries(split, wanted)

    def _damaged_entries(self, split: QueueSplit, wanted: list[tuple[int, QueueEntry]]) -> Iterator[pa.RecordBatch]:
        for offset, entry in wanted:
            try:
                self.log.record(entry.commit_offset, entry.size, check_crc=self.how.check_crc)
            except StoreCorrupt as error:
                place = {"topic": split.topic, "queueId": split.queue_id, "queueOffset": offset}
                yield from self._damage(entry.commit_offset, entry.size, error.reason, **place)
            else:
                yield self._finish(self._messages(self.log.read(entry.commit_offset, entry.size), [(0, entry.size)]))

    def _messages(self, data: memoryview, places: list[tuple[int, int]]) -> pa.RecordBatch:
        batch = arrow.decode_entries(data, places, columns=self.decoded, check_crc=self.how.check_crc)
        self.stats.rows_scanned += batch.num_rows
        self.stats.bytes_scanned += sum(size for _, size in places)
        return batch

    # -- both ---------------------------------------------------------------------------------------------------------

    def _finish(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are really selected, in the columns that were asked for."""
        import pyarrow as pa

        mask = _mask(batch, self.how.selection)
        if mask is not None:
            batch = batch.filter(mask)
        schema = self.how.schema()
        arrays = [
            pa.nulls(batch.num_rows, pa.string()) if item.name == DAMAGE else batch.column(item.name) for item in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _damage(self, begin: int, size: int, reason: str, **place: Any) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        self.stats.damaged += 1
        if self.how.on_damage == "fail":
            file = self.log.file_at(begin)
            path = self.source.describe(file.path if file else "commitlog")
            raise StoreCorrupt(path, begin - (file.base if file else 0), reason)
        if self.how.on_damage == "column":
            row = {"commitLogOffset": begin, "storeSize": size, DAMAGE: reason, **place}
            yield pa.RecordBatch.from_pylist([row], schema=self.how.schema())


def _filtered_by(selection: Selection) -> list[str]:
    """The columns that the last check of a row looks at."""
    names = {
        "tags": bool(selection.tags),
        "keys": bool(selection.keys),
        "uniqKey": bool(selection.keys),
        "queueId": bool(selection.queue_ids),
        "queueOffset": (selection.begin_offset, selection.end_offset) != (0, FOREVER),
        "commitLogOffset": (selection.begin_physical, selection.end_physical) != (0, FOREVER),
        "storeTimestamp": (selection.begin_time, selection.end_time) != (0, FOREVER),
    }
    return [name for name, looked_at in names.items() if looked_at]


def _mask(batch: pa.RecordBatch, selection: Selection) -> Any:
    """Which rows are selected; None for all. A negative start keeps rows whose numbers no message should have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = []
    if selection.tags:
        parts.append(pc.is_in(batch["tags"], pa.array(sorted(selection.tags))))
    if selection.queue_ids:
        parts.append(pc.is_in(batch["queueId"], pa.array(sorted(selection.queue_ids), pa.int32())))
    if selection.keys:
        parts.append(_has_key(batch, selection.keys))
    parts += _between(batch, "queueOffset", selection.begin_offset, selection.end_offset)
    parts += _between(batch, "commitLogOffset", selection.begin_physical, selection.end_physical)
    times = (selection.begin_time * 1000, FOREVER if selection.end_time == FOREVER else selection.end_time * 1000 + 1)
    parts += _between(batch, "storeTimestamp", *times)
    mask = None
    for part in parts:
        mask = part if mask is None else pc.and_(mask, part)
    return mask


def _between(batch: pa.RecordBatch, name: str, begin: int, end: int) -> list[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = []
    if begin <= 0 and end == FOREVER:
        return parts
    values = batch[name].view(pa.int64()) if name == "storeTimestamp" else batch[name]
    if begin > 0:
        parts.append(pc.greater_equal(values, pa.scalar(begin, pa.int64())))
    if end != FOREVER:
        parts.append(pc.less(values, pa.scalar(end, pa.int64())))
    return parts


def _has_key(batch: pa.RecordBatch, keys: frozenset[str]) -> Any:
    import pyarrow as pa

    rows = zip(batch["keys"].to_pylist(), batch["uniqKey"].to_pylist(), strict=True)
    return pa.array([unique in keys or not keys.isdisjoint((text or "").split()) for text, unique in rows], pa.bool_())
