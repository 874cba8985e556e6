"""Damaged bytes in the middle of the log, written over with the records that another replica has there.

The queue of such a record has its entry already, unless the entry was lost too and the start put a filler in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import BLANK_BYTES, Record
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.dispatch.record_dispatch import properties_of, queue_entry
from sprocketmq.store.files.files import File
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.log_truncation import is_blank
from sprocketmq.store.lookup import whole_record
from sprocketmq.store.queue.ends import find_min
from sprocketmq.store.store import MessageStore


class PeerRecord(NamedTuple):
    """A record of another replica's log, with its bytes."""

    record: Record
    data: bytes


def peer_record(data: bytes, at: int) -> PeerRecord:
    """The record in `data`, and nothing else. Raises StoreError when it is damaged or belongs elsewhere than `at`."""
    record = whole_record(memoryview(data))
    if record is None or record.commit_offset != at or record.size != len(data):
        raise StoreError(f"no whole record of the place {at}")
    return PeerRecord(record, data)


def following_place(log: CommitLog, at: int) -> int:
    """Where the record behind one that ends at `at` begins: there, or with the next file where this one has ended."""
    left = log.file_size - at % log.file_size
    head = log.bytes_at(at, BLANK_BYTES)
    ends = head is not None and is_blank(memoryview(head)) and int.from_bytes(head[:4], "big") == left
    return at + left if ends else at


def is_written(log: CommitLog, found: Sequence[PeerRecord]) -> bool:
    return all(log.bytes_at(each.record.commit_offset, len(each.data)) == each.data for each in found)


def write_over(store: MessageStore, found: Sequence[PeerRecord]) -> list[File]:
    """Put the records, one behind the other, into their places. The caller syncs the files, on any thread, and closes
    them: until then readers have the records, and a power cut may bring the damage back.
    """
    log, files = store.log, list[File]()
    for _base, run in groupby(found, lambda each: log.base_of(each.record.commit_offset)):
        records = list(run)
        files.append(log.overwrite(records[0].record.commit_offset, b"".join(each.data for each in records)))
    for each in found:
        _fill_queue_gap(store, each.record)
    return files


def sync_all(files: Sequence[File]) -> None:
    try:
        for file in files:
            file.sync()
    finally:
        for file in files:
            file.close()


def _fill_queue_gap(store: MessageStore, record: Record) -> None:
    """Where the queue has a filler in the place of the record, it gets its entry."""
    queue = store.queues.find(record.topic, record.queue_id) if is_queued(record.sys_flag) else None
    entry = None if queue is None else queue.entry(record.queue_offset)
    if queue is None or entry is None or not entry.is_filler:
        return
    code = queue_entry(record, properties_of(record), store.config.delay_level_ms).tags_code
    extend = store.dispatcher.extend
    if extend is not None:
        code = extend(queue.cursor, record.queue_offset, code, record.store_timestamp, record.properties)
    queue.mend(record.queue_offset, record.commit_offset, record.size, code)
    if record.queue_offset < queue.min_offset:
        find_min(queue, store.log.min_offset)
