"""Scans of a store as Arrow record batches, made straight from the log's bytes.

    orders = Selection(topics=frozenset({"Orders"}))
    for batch in scan("/data/store", columns=("queueOffset", "body"), selection=orders):
        ...

In commit order every file is decoded in pieces of some megabytes that end where a record does. Damage is raised as
StoreCorrupt, or handed to `on_damage` and passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol.columns import COLUMNS, decode_columns, decode_entries, schema
from sprocketmq.protocol.hashing import tags_code
from sprocketmq.protocol.record import MAGIC_BLANK, Record
from sprocketmq.store.consumequeue_format import QueueEntry
from sprocketmq.store.view.log import Damage, LogFile, LogView
from sprocketmq.store.view.select import Selection
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.source import ByteSource, open_source
from sprocketmq.store.view.splits import LogRange, plan_splits
from sprocketmq.store.view.store import FOREVER, StoreView

if TYPE_CHECKING:
    import pyarrow as pa

OnDamage = Callable[[Damage], object]
BATCH_BYTES = 4 * 1024 * 1024
_HEAD = struct.Struct(">ii")
_ENTRIES_AT_ONCE = 4096


def scan(
    root: Path | str | StoreView,
    *,
    columns: Sequence[str] = COLUMNS,
    selection: Selection | None = None,
    by_queue: bool = False,
    on_damage: OnDamage | None = None,
    sizes: Sizes | None = None,
) -> pa.RecordBatchReader:
    """The selected messages of a store: in commit order, or queue by queue in the order of their offsets."""
    view = root if isinstance(root, StoreView) else StoreView(root, sizes)
    decode = _Decoder(columns, selection or Selection(), on_damage)
    if by_queue:
        return _reader(columns, decode.queues(view))
    return _reader(columns, (batch for part in plan_splits(view, 1 << 62) for batch in decode.part(view.log, part)))


def scan_range(
    part: LogRange,
    *,
    columns: Sequence[str] = COLUMNS,
    selection: Selection | None = None,
    on_damage: OnDamage | None = None,
    source: ByteSource | None = None,
) -> pa.RecordBatchReader:
    """The selected messages of one range of the log, in commit order."""
    file = LogFile(part.path, part.base, part.end - part.base)
    log = LogView(source or open_source(part.root), [file], part.file_size)
    return _reader(columns, _Decoder(columns, selection or Selection(), on_damage).part(log, part))


def _reader(columns: Sequence[str], batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema(tuple(columns)), batches)


class _Decoder:
    """Bytes to batches: what the decoder itself can filter it does, the rest is filtered from its columns."""

    def __init__(self, columns: Sequence[str], selection: Selection, on_damage: OnDamage | None) -> None:
        self._columns, self._selection, self._on_damage = tuple(columns), selection, on_damage
        needed = [name for name, used in self._needed() if used and name not in columns]
        queue_ids = sorted(selection.queue_ids)
        self._options: dict[str, Any] = {
            "columns": (*columns, *needed),
            "topics": sorted(selection.topics) or None,
            "queue_id": queue_ids[0] if len(queue_ids) == 1 else None,
            "tags_codes": {tags_code(tag) for tag in selection.tags} or None,
            "check_crc": True,
        }

    def part(self, log: LogView, part: LogRange) -> Iterator[pa.RecordBatch]:
        """The records of a range, a batch per piece; a piece with damage in it is taken apart."""
        at = part.begin
        while at < part.end and not _is_blank(log.read(at, _HEAD.size)):
            data = log.read(at, min(part.end - at, max(log.source.window, log.size_at(at))))
            here = at
            for begin, end in _pieces(data):
                try:
                    yield self._filtered(decode_columns(data, begin, end, **self._options))
                    at = here + end
                except BodyError:
                    at = yield from self._around_damage(log, here + begin, here + end)

    def queues(self, view: StoreView) -> Iterator[pa.RecordBatch]:
        for (topic, queue_id), queue in sorted(view.queues.items()):
            if not self._selection.wants_queue(topic, queue_id):
                continue
            begin, end = self._selection.begin_offset, min(self._selection.end_offset, queue.max_offset)
            for first in range(max(begin, queue.min_offset), end, _ENTRIES_AT_ONCE):
                entries = [entry for _, entry in queue.entries(first, min(first + _ENTRIES_AT_ONCE, end))]
                yield from self._entries(view.log, [entry for entry in entries if not entry.is_filler])

    def _entries(self, log: LogView, entries: list[QueueEntry]) -> Iterator[pa.RecordBatch]:
        for base, group in groupby(entries, key=lambda entry: entry.commit_offset // log.file_size * log.file_size):
            places = [(entry.commit_offset, entry.size) for entry in group]
            first, last = places[0][0], places[-1]
            data = log.read(first, last[0] + last[1] - first)
            try:
                inside = [(offset - first, size) for offset, size in places]
                yield self._filtered(decode_entries(data, inside, **self._options))
            except BodyError as error:
                if len(places) > 1:
                    for place in places:
                        yield from self._entries(log, [QueueEntry(*place, 0)])
                else:
                    self._report(log, Damage(f"commitlog/{base:020}", base, first, first + places[0][1], str(error)))

    def _around_damage(self, log: LogView, begin: int, end: int) -> Generator[pa.RecordBatch, None, int]:
        """The runs of whole records that start in [begin, end), and what lies between; returns where they end."""
        run_begin = run_end = begin
        for found in log.walk(begin, end, skip_damage=True):
            if isinstance(found, Record) and found.commit_offset == run_end:
                run_end += found.size
                continue
            yield from self._run(log, run_begin, run_end)
            if isinstance(found, Record):
                run_begin, run_end = found.commit_offset, found.commit_offset + found.size
            else:
                self._report(log, found)
                run_begin = run_end = found.end
        yield from self._run(log, run_begin, run_end)
        return max(run_end, end)

    def _run(self, log: LogView, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        if end > begin:
            yield self._filtered(decode_columns(log.read(begin, end - begin), **self._options))

    def _report(self, log: LogView, damage: Damage) -> None:
        if self._on_damage is None:
            raise StoreCorrupt(log.source.describe(damage.path), damage.begin - damage.base, damage.reason)
        self._on_damage(damage)

    def _needed(self) -> Iterator[tuple[str, bool]]:
        """The columns that a filter looks at."""
        chosen = self._selection
        yield "queueId", len(chosen.queue_ids) > 1
        yield "tags", bool(chosen.tags)
        yield "keys", bool(chosen.keys)
        yield "uniqKey", bool(chosen.keys)
        yield "storeTimestamp", (chosen.begin_time, chosen.end_time) != (0, FOREVER)
        yield "queueOffset", (chosen.begin_offset, chosen.end_offset) != (0, FOREVER)
        yield "commitLogOffset", (chosen.begin_physical, chosen.end_physical) != (0, FOREVER)

    def _filtered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow.compute as pc

        keep: Any = None
        for test in self._tests(batch):
            keep = test if keep is None else pc.and_(keep, test)
        if keep is not None:
            batch = batch.filter(keep)
        return batch.select(list(self._columns))

    def _tests(self, batch: pa.RecordBatch) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        chosen, used = self._selection, {name for name, used in self._needed() if used}
        if "queueId" in used:
            yield pc.is_in(batch.column("queueId"), pa.array(sorted(chosen.queue_ids), pa.int32()))
        if "tags" in used:
            yield pc.is_in(batch.column("tags"), pa.array(sorted(chosen.tags), pa.string()))
        if "keys" in used:
            pairs = zip(batch.column("keys").to_pylist(), batch.column("uniqKey").to_pylist(), strict=True)
            yield pa.array([not chosen.keys.isdisjoint([unique, *(keys or "").split()]) for keys, unique in pairs])
        if "storeTimestamp" in used:
            millis = pc.divide(batch.column("storeTimestamp").cast(pa.int64()), 1000)
            yield _within(millis, chosen.begin_time, min(chosen.end_time, FOREVER - 1) + 1)
        if "queueOffset" in used:
            yield _within(batch.column("queueOffset"), chosen.begin_offset, chosen.end_offset)
        if "commitLogOffset" in used:
            yield _within(batch.column("commitLogOffset"), chosen.begin_physical, chosen.end_physical)


def _within(values: Any, begin: int, end: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.and_(pc.greater_equal(values, pa.scalar(begin)), pc.less(values, pa.scalar(end)))


def _is_blank(head: memoryview) -> bool:
    return len(head) < _HEAD.size or _HEAD.unpack(head)[1] == MAGIC_BLANK


def _pieces(data: memoryview) -> Iterator[tuple[int, int]]:
    """Pieces of about BATCH_BYTES that end where a record does. What is no record at all is one piece."""
    begin = at = 0
    unpack, have = _HEAD.unpack_from, len(data)
    while at + 8 <= have:
        size, magic = unpack(data, at)
        if size <= 0 or size > have - at or magic == MAGIC_BLANK:
            break
        at += size
        if at - begin >= BATCH_BYTES:
            yield begin, at
            begin = at
    if at > begin:
        yield begin, at
    elif at == 0:
        yield 0, have
