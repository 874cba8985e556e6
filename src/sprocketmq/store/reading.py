"""Reading the store: pulls, searches by time and by key, single messages, figures of a queue.

Nothing here changes a file. Offsets of two kinds meet: a queue offset counts entries of one queue, a commit offset
counts bytes of the log.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from sprocketmq.errors import BodyError
from sprocketmq.protocol.properties import KEYS, UNIQUE_KEY, decode_properties
from sprocketmq.protocol.record import Record, decode_record
from sprocketmq.store.commitlog import CommitLog
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.consumequeue import ConsumeQueue
from sprocketmq.store.consumequeue_ext import ExtTable
from sprocketmq.store.consumequeue_format import ENTRY_SIZE, QueueEntry
from sprocketmq.store.gather import Gather, MessageFilter
from sprocketmq.store.index import MAX_RESULTS, Index
from sprocketmq.store.queues import QueueTable

TagCodes = frozenset[int] | set[int]

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIN_PULL_BYTES = 100
_STORE_TIME_AT = 56
_SYS_FLAG_AT = 36


class GetStatus(IntEnum):
    FOUND = 0
    NO_MATCHED_MESSAGE = 1
    MESSAGE_WAS_REMOVING = 2
    OFFSET_FOUND_NULL = 3
    OFFSET_OVERFLOW_BADLY = 4
    OFFSET_OVERFLOW_ONE = 5
    OFFSET_TOO_SMALL = 6
    NO_MATCHED_LOGIC_QUEUE = 7
    NO_MESSAGE_IN_QUEUE = 8
    OFFSET_RESET = 9


@dataclass(slots=True)
class GetResult:
    """The answer to a pull. `views` hold the records' bytes, concatenated in order; they keep their memory alive."""

    status: GetStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    views: list[memoryview] = field(default_factory=list)
    count: int = 0
    size: int = 0
    suggest_pulling_from_slave: bool = False


class QueueStats(NamedTuple):
    min_offset: int
    max_offset: int
    last_update_timestamp: int


class Boundary(IntEnum):
    LOWER = 0
    UPPER = 1


class Reader:
    def __init__(self, config: StoreConfig, log: CommitLog, queues: QueueTable, index: Index | None) -> None:
        self.config = config
        self._log = log
        self._queues = queues
        self._index = index
        self.exts: ExtTable | None = None
        self._memory = MEMORY_BYTES * config.access_message_in_memory_max_ratio // 100
        self.check_below = 0
        self.get_times = 0
        self.get_bytes = 0
        self.found_times = 0

    def get_message(
        self, group: str, topic: str, queue_id: int, offset: int, max_count: int, max_bytes: int,
        wanted: TagCodes | MessageFilter | None = None,
    ) -> GetResult:  # fmt: skip
        """The messages of a queue from `offset` on, for a consumer group.

        `wanted` are the hashes of the tags a message may have, or a filter by properties, or None for every message.
        """
        self.get_times += 1
        queue = self._queues.find(topic, queue_id)
        if queue is None:
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        low, high = queue.min_offset, queue.max_offset
        if high == 0:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset < low:
            return GetResult(GetStatus.OFFSET_TOO_SMALL, low, low, high)
        if offset == high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        return self._gather(queue, offset, max_count, max(max_bytes, MIN_PULL_BYTES), wanted)

    def _gather(
        self, queue: ConsumeQueue, offset: int, max_count: int, max_bytes: int,
        wanted: TagCodes | MessageFilter | None,
    ) -> GetResult:  # fmt: skip
        codes, rule = (wanted, None) if isinstance(wanted, frozenset | set) else (None, wanted)
        config, low, high = self.config, queue.min_offset, queue.max_offset
        at = offset * ENTRY_SIZE
        base = at - at % queue.file_size
        if base not in queue.bases:
            next_file = (base + queue.file_size) // ENTRY_SIZE
            return GetResult(GetStatus.OFFSET_FOUND_NULL, next_file, low, high)
        end = min(high * ENTRY_SIZE, base + queue.file_size, at + max(config.max_filter_message_size, max_count * 20))
        log_end = self._log.max_offset
        gather = Gather(
            queue.topic.encode(), queue.queue_id, self._log.view_of, self._log.file_size,
            min(max_count, config.max_transfer_count_on_message_in_memory),
            min(max_bytes, config.max_transfer_bytes_on_message_in_memory), log_end - self._memory, self.check_below,
        )  # fmt: skip
        gather.disk_count = config.max_transfer_count_on_message_in_disk
        gather.disk_bytes = config.max_transfer_bytes_on_message_in_disk
        if self.exts is not None:
            gather.unit_of = partial(self.exts.unit, queue.topic, queue.queue_id)
        gather.run(queue.view_of(base), at - base, end - base, offset, codes, rule)
        self.found_times += gather.count
        self.get_bytes += gather.size
        return GetResult(
            GetStatus(gather.status), gather.next_offset, low, high, gather.views, gather.count, gather.size,
            log_end - gather.last_commit_offset > self._memory,
        )  # fmt: skip

    def entry(self, topic: str, queue_id: int, queue_offset: int) -> QueueEntry | None:
        queue = self._queues.find(topic, queue_id)
        return None if queue is None else queue.entry(queue_offset)

    def bytes_at(self, commit_offset: int) -> memoryview | None:
        """The record that begins at a commit offset; None when none does."""
        head = self._log.bytes_at(commit_offset, 4)
        if head is None or not self._log.min_offset <= commit_offset < self._log.max_offset:
            return None
        return self._log.bytes_at(commit_offset, int.from_bytes(head, "big", signed=True))

    def record_at(self, commit_offset: int) -> Record | None:
        """The message at a commit offset; None when there is none, or it is damaged."""
        data = self.bytes_at(commit_offset)
        if data is None or len(data) < 8:
            return None
        record = whole_record(data)
        return record if record is not None and record.commit_offset == commit_offset else None

    def store_timestamp_at(self, commit_offset: int) -> int | None:
        head = self._log.bytes_at(commit_offset, _STORE_TIME_AT + 20)
        if head is None:
            return None
        v6 = int.from_bytes(head[_SYS_FLAG_AT : _SYS_FLAG_AT + 4], "big") & 0x10
        at = _STORE_TIME_AT + (12 if v6 else 0)
        return int.from_bytes(head[at : at + 8], "big")

    def message_store_timestamp(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """The store time of a queue's message; -1 when there is none."""
        entry = self.entry(topic, queue_id, queue_offset)
        timestamp = None if entry is None else self.store_timestamp_at(entry.commit_offset)
        return -1 if timestamp is None else timestamp

    def earliest_time(self, topic: str, queue_id: int) -> int:
        queue = self._queues.find(topic, queue_id)
        return -1 if queue is None else self.message_store_timestamp(topic, queue_id, queue.min_offset)

    def log_earliest_time(self) -> int:
        """The store time of the oldest message in the log; -1 when it is empty."""
        if self._log.max_offset <= self._log.min_offset:
            return -1
        timestamp = self.store_timestamp_at(self._log.min_offset)
        return -1 if timestamp is None else timestamp

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, boundary: Boundary = Boundary.LOWER) -> int:
        """LOWER: the first offset stored at that time or later, the queue's end when all are older.

        UPPER: the last offset stored at that time or earlier; the first when all are younger.
        """
        queue = self._queues.find(topic, queue_id)
        if queue is None or queue.max_offset <= queue.min_offset:
            return 0
        first_later = self._first_stored_after(queue, timestamp if boundary is Boundary.UPPER else timestamp - 1)
        if boundary is Boundary.LOWER:
            return first_later
        return max(queue.min_offset, first_later - 1)

    def _first_stored_after(self, queue: ConsumeQueue, timestamp: int) -> int:
        low, high = queue.min_offset, queue.max_offset
        while low < high:
            middle = (low + high) // 2
            if self.message_store_timestamp(queue.topic, queue.queue_id, middle) <= timestamp:
                low = middle + 1
            else:
                high = middle
        return low

    def query(self, topic: str, key: str, max_num: int, begin: int, end: int) -> list[Record]:
        """Messages that have the key, or it as their unique key, in commit order; other keys with its hash are not."""
        if self._index is None:
            return []
        found: list[Record] = []
        limit = min(max_num, MAX_RESULTS)
        for commit_offset in self._index.search(topic, key, begin, end):
            if len(found) >= limit:
                break
            record = self.record_at(commit_offset)
            if record is not None and record.topic == topic and has_key(record, key):
                found.append(record)
        return sorted(found, key=lambda record: record.commit_offset)

    def queue_stats(self, topic: str) -> dict[int, QueueStats]:
        """min, max and last update of every queue of a topic."""
        return {
            queue_id: QueueStats(
                queue.min_offset, queue.max_offset, self.message_store_timestamp(topic, queue_id, queue.max_offset - 1)
            )
            for queue_id, queue in self._queues.of_topic(topic).items()
        }


def whole_record(data: memoryview) -> Record | None:
    try:
        return decode_record(data)
    except BodyError:
        return None


def has_key(record: Record, key: str) -> bool:
    properties = decode_properties(record.properties.decode("utf-8", "replace"))
    return properties.get(UNIQUE_KEY) == key or key in properties.get(KEYS, "").split(" ")
