"""The last word on which rows of a batch are selected: what queues, hashes and the decoder could not decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sprocketmq.protocol.arrow.literals import number, numbers, texts
from sprocketmq.protocol.record.properties import split_keys
from sprocketmq.protocol.record.sysflag import TRANSACTION_MASK, TRANSACTION_PREPARED, TRANSACTION_ROLLBACK
from sprocketmq.store.files.deleted_topics import Deletion, Deletions
from sprocketmq.store.view.scan_select import Selection
from sprocketmq.store.view.store import FOREVER

if TYPE_CHECKING:
    import pyarrow as pa

NONE_DELETED: dict[str, Deletion] = {}


def looked_at(selection: Selection, queued: bool = False, deleted: Deletions = NONE_DELETED) -> list[str]:
    """The columns that `mask` needs."""
    gone = bool(deleted)
    uses = {
        "tags": bool(selection.tags),
        "keys": bool(selection.keys),
        "uniqKey": bool(selection.keys),
        "queueId": len(selection.queue_ids) > 1,
        "queueOffset": (selection.begin_offset, selection.end_offset) != (0, FOREVER),
        "commitLogOffset": gone or (selection.begin_physical, selection.end_physical) != (0, FOREVER),
        "storeTimestamp": gone or (selection.begin_time, selection.end_time) != (0, FOREVER),
        "sysFlag": queued,
        "topic": gone,
    }
    return [name for name, used in uses.items() if used]


def mask(batch: pa.RecordBatch, selection: Selection, queued: bool = False, deleted: Deletions = NONE_DELETED) -> Any:
    """Which rows are selected, as an Arrow array; None for all. With `queued`, only what a queue has an entry for."""
    if not looked_at(selection, queued, deleted):
        return None
    import pyarrow.compute as pc

    found: Any = None
    for test in (*_tests(batch, selection, queued), *_undeleted(batch, deleted)):
        found = test if found is None else pc.and_(found, test)
    return found


def _tests(batch: pa.RecordBatch, chosen: Selection, queued: bool) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if chosen.tags:
        yield pc.is_in(batch["tags"], texts(chosen.tags))
    if len(chosen.queue_ids) > 1:
        yield pc.is_in(batch["queueId"], numbers(chosen.queue_ids, 32))
    if chosen.keys:
        rows = zip(batch["keys"].to_pylist(), batch["uniqKey"].to_pylist(), strict=True)
        found = [not chosen.keys.isdisjoint([unique, *split_keys(keys or "")]) for keys, unique in rows]
        yield pa.array(found, pa.bool_())
    yield from _within(batch, "queueOffset", chosen.begin_offset, chosen.end_offset)
    yield from _within(batch, "commitLogOffset", chosen.begin_physical, chosen.end_physical)
    end_time = FOREVER if chosen.end_time == FOREVER else chosen.end_time * 1000 + 1
    yield from _within(batch, "storeTimestamp", chosen.begin_time * 1000, end_time)
    if queued:
        kind = pc.bit_wise_and(batch["sysFlag"], number(TRANSACTION_MASK, 32))
        yield pc.invert(pc.is_in(kind, numbers([TRANSACTION_PREPARED, TRANSACTION_ROLLBACK], 32)))


def _undeleted(batch: pa.RecordBatch, deleted: Deletions) -> Iterator[Any]:
    """What is of no topic that was deleted since."""
    import pyarrow.compute as pc

    for topic, deletion in deleted.items():
        others = pc.invert(pc.is_in(batch["topic"], texts([topic])))
        behind = pc.greater_equal(_whole_numbers(batch["commitLogOffset"]), number(deletion.commit_offset))
        later = pc.greater(_whole_numbers(batch["storeTimestamp"]), number(deletion.store_timestamp * 1000))
        yield pc.or_(others, pc.or_(behind, later))


def _within(batch: pa.RecordBatch, name: str, begin: int, end: int) -> Iterator[Any]:
    """Bounds that exclude nothing are not looked at: a message may have a number that none should have."""
    import pyarrow.compute as pc

    if begin > 0:
        yield pc.greater_equal(_whole_numbers(batch[name]), number(begin))
    if end != FOREVER:
        yield pc.less(_whole_numbers(batch[name]), number(end))


def _whole_numbers(values: Any) -> Any:
    import pyarrow as pa

    return values.view(pa.int64())
