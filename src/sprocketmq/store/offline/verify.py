"""A check of everything in a store against everything else. It reads; it never repairs.

    log         every record is whole and lies where it says; files follow each other without a gap
    queues      every record that belongs in a queue has the entry it should have, and no entry points elsewhere
    index       every key of every record is there, in order, and chained into the slot of its hash
    checkpoint  it vouches for nothing that the log does not hold
    config      every file can be read; offsets lie within their queues; every queue's topic is known

The log is the truth: it is walked once, and the others are compared with what it calls for. Where all agree nothing is
decoded; records of which that cannot be said at a glance are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from sprocketmq.protocol.record.record import BLANK_BYTES, MAGIC_BLANK, Record
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.files.checkpoint import PLACES_AT, written_timestamps
from sprocketmq.store.offline.verify_config import check_config
from sprocketmq.store.offline.verify_fast import Agreement
from sprocketmq.store.offline.verify_findings import Finding, Severity
from sprocketmq.store.offline.verify_index import IndexCheck
from sprocketmq.store.offline.verify_queues import QueueCheck
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.source import checked
from sprocketmq.store.view.store import StoreView

Progress = Callable[[int], None]
_STEP_BYTES = 16 * 1024 * 1024
_MOST_TOGETHER = 64


def verify(view: StoreView, progress: Progress = lambda _offset: None) -> Iterator[Finding]:
    """Every finding: the log's first, then those of queues, index, checkpoint and config."""
    yield from _check_files(view)
    queues, index, newest = QueueCheck(view), IndexCheck(view), 0
    agreement = Agreement(queues.agreements, queues.fetch, index.agreement)
    for found in unagreed(view, agreement, view.log_begin, view.log_end, progress):
        if isinstance(found, Damage):
            yield _damage(found)
            index.skip(found.end)
            continue
        yield from _check_record(view, found, queues, index)
        newest = max(newest, found.store_timestamp)
    newest = max(newest, agreement.newest)
    yield from _check_tail(view)
    yield from queues.rest()
    yield from index.rest()
    yield from _check_checkpoint(view, newest)
    yield from check_config(view)


def unagreed(
    view: StoreView, agreement: Agreement, begin: int, end: int, progress: Progress = lambda _offset: None
) -> Iterator[Record | Damage]:
    """What of the log in [begin, end) has to be looked at. Who takes one has judged it when he asks for the next."""
    at, together = begin, 1
    while at < end:
        passed = _pass_over(view, agreement, at, end)
        if passed > at:
            at, together = passed, 1
            progress(at)
            continue
        found = None
        for found in islice(view.read_log(at, end), together):
            yield found
            at = found.end if isinstance(found, Damage) else found.commit_offset + found.size
            progress(at)
        if found is None:
            return
        together = min(2 * together, _MOST_TOGETHER)  # unusual ones come in crowds, and each beginning costs


def _pass_over(view: StoreView, agreement: Agreement, at: int, end: int) -> int:
    """The end of the records from `at` on that agree with everything; not beyond one file, nor one step."""
    file = view.log.file_at(at)
    if file is None:
        return at
    data = view.log.read(at, min(file.end - at, view.log_end - at, view.source.window))
    return at + checked(agreement.walk(data, at, min(len(data), end - at, _STEP_BYTES)))


def _check_record(view: StoreView, record: Record, queues: QueueCheck, index: IndexCheck) -> Iterator[Finding]:
    properties = record_dispatch.properties_of(record)
    queues.agreement(record.topic, record.queue_id)
    if is_queued(record.sys_flag):
        yield from queues.check(record, record_dispatch.queue_entry(record, properties, view.delays))
    yield from index.check(record, record_dispatch.key_hashes(record, properties))


def _check_files(view: StoreView) -> Iterator[Finding]:
    """Each file has its full size, and begins where the one before it ends."""
    size, expected = view.log.file_size, view.log.min_offset
    for file in view.log.files:
        if file.base != expected:
            yield Finding(file.path, 0, f"the file that should begin at {expected} is missing")
        if file.size != size:
            yield Finding(file.path, file.size, f"the file has {file.size} bytes, not {size}")
        expected = file.base + size
    for path, index_size in view.index_paths:
        if index_size != view.index_shape.file_size:
            yield Finding(path, index_size, f"the file has {index_size} bytes, not {view.index_shape.file_size}")


def _damage(found: Damage) -> Finding:
    bytes_hit = found.end - found.begin
    return Finding(found.path, found.begin - found.base, f"{bytes_hit} bytes hold no whole record: {found.reason}")


def _check_tail(view: StoreView) -> Iterator[Finding]:
    """What lies behind the log's end: nothing, a write that a crash tore, or records that damage cuts off."""
    end = view.log_end
    file = view.log.file_at(end)
    if file is None or view.log.is_empty(end, file.end) or is_blank(view.log.read(end, BLANK_BYTES)):
        return
    lost = [found for found in view.log.walk(end, view.log.limit, skip_damage=True) if isinstance(found, Record)]
    if lost:
        what = f"no whole record here, and {len(lost)} whole ones follow, the first at {lost[0].commit_offset}"
        yield Finding(file.path, end - file.base, what)
    elif view.crashed:
        yield Finding(file.path, end - file.base, "a record that was not wholly written", Severity.RECOVERABLE)
    else:
        yield Finding(file.path, end - file.base, "bytes that are no record, though the broker stopped cleanly")


def is_blank(head: memoryview) -> bool:
    """The record that fills a file; the next message goes to the next file, and may not have come yet."""
    return checked(int.from_bytes(head[4:8], "big", signed=True)) == MAGIC_BLANK


def _check_checkpoint(view: StoreView, newest: int) -> Iterator[Finding]:
    source = view.source
    if not view.log.files:
        return
    if not any(entry.name == "checkpoint" for entry in source.entries("")):
        if not (view.crashed and view.log_begin == 0):  # a broker that has begun saves its first after a minute
            yield Finding("checkpoint", 0, "there is none")
        return
    data = bytes(source.open("checkpoint").read(0, 24))
    if len(data) < 24:
        yield Finding("checkpoint", 0, "it is too short to hold its three times")
        return
    names = ("physicMsgTimestamp", "logicsMsgTimestamp", "indexMsgTimestamp")
    for number, (name, time) in enumerate(zip(names, written_timestamps(data), strict=True)):
        if time < 0:
            yield Finding("checkpoint", 8 * number, f"{name} {time} is no time")
        elif time > newest:
            yield Finding("checkpoint", 8 * number, f"{name} {time} is newer than the newest record, {newest}")
    flushed, end = view.stored_checkpoint.flushed_offset, _written_end(view)
    if flushed is not None and flushed > end:
        yield Finding("checkpoint", PLACES_AT, f"the log was safe up to {flushed}, and ends at {end}")


def _written_end(view: StoreView) -> int:
    """Where the next message goes: behind the last one, and behind the blank that fills its file."""
    file = view.log.file_at(view.log_end)
    if file is not None and is_blank(view.log.read(view.log_end, BLANK_BYTES)):
        return file.end
    return view.log_end
