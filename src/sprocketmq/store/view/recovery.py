"""What recovery would make of a store, worked out in memory.

After a clean stop the log is checked from the last queued message on. After a crash it is checked from the last file
whose first record is older than the checkpoint, and every record from there is dispatched again: queues and index
skip what they have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.files.checkpoint import Checkpoint
from sprocketmq.store.view.log import Damage, LogView
from sprocketmq.store.view.queue import QueueView

#: Whether a record was safe at the checkpoint and its queue points at it; None for one that has no queue entry.
Vouched = Callable[[Record], bool | None]
#: Deals with the records from a place on, and returns where the first begins that is left to others.
PassOver = Callable[[int], int]
#: Records that are looked at one by one come in crowds, and each beginning costs.
_MOST_TOGETHER = 64


def clean_start(log: LogView, queues: Iterable[QueueView]) -> int:
    """Where the check begins after a clean stop."""
    ends = [queue.max_physical() for queue in queues]
    last = max(ends, default=0)
    file = log.file_at(max(last - 1, 0))
    if file is None:
        return log.min_offset
    return last if _ends_a_record(log, queues, last) else file.base


def crash_start(log: LogView, checkpoint: Checkpoint) -> int:
    """Where the check begins after a crash: a file's start."""
    for file in reversed(log.files):
        try:
            first = log.record(file.base, check_crc=False)
        except StoreCorrupt:
            continue
        if 0 < first.store_timestamp <= checkpoint.recovery_timestamp:
            return file.base
    return log.min_offset


def surviving(log: LogView, start: int, vouched: Vouched, pass_over: PassOver) -> Iterator[Record | Damage]:
    """The records from `start` to where the log ends, without those that are passed over.

    It ends at the first place without a whole record, unless a record behind it was safe at the checkpoint: that one
    proves damage in the middle, which takes away what it hit and nothing else.
    """
    at, together = start, 0
    while True:
        passed = pass_over(at)
        together = 1 if passed > at else min(2 * together + 1, _MOST_TOGETHER)
        left, damage, at = together, None, passed
        for found in log.walk(at, log.limit, skip_damage=True):
            if isinstance(found, Damage):
                damage = found if damage is None else damage._replace(end=found.end)
                continue
            if damage is not None:
                if not _log_goes_on(log, found, vouched):
                    return
                yield damage
                damage = None
            yield found
            at, left = found.commit_offset + found.size, left - 1
            if not left:
                break
        else:
            return


def _log_goes_on(log: LogView, first: Record, vouched: Vouched) -> bool:
    """Whether the first record with a queue entry, from `first` on, is vouched for."""
    for found in log.walk(first.commit_offset, log.limit, skip_damage=True):
        verdict = vouched(found) if isinstance(found, Record) else None
        if verdict is not None:
            return verdict
    return False


def index_name(timestamp: int) -> str:
    """A file's name is the local time of its making: yyyyMMddHHmmssSSS."""
    return f"{time.strftime('%Y%m%d%H%M%S', time.localtime(timestamp // 1000))}{timestamp % 1000:03}"


def _ends_a_record(log: LogView, queues: Iterable[QueueView], end: int) -> bool:
    """Whether the message that the queues name as the last one is whole."""
    for queue in queues:
        if end and queue.max_physical() == end:
            entry = queue.entry(queue.max_offset - 1)
            try:
                return isinstance(log.record(entry.commit_offset, entry.size), Record)
            except StoreCorrupt:
                return False
    return False
