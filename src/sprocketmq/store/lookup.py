"""Reading the store: searches by time and by key, single messages, figures of a queue. Pulls are in `pull/get.py`.

Nothing here changes a file. Offsets of two kinds meet: a queue offset counts entries of one queue, a commit offset
counts bytes of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.properties import KEYS, UNIQUE_KEY, decode_properties, split_keys
from sprocketmq.protocol.record.record import Record, decode_record
from sprocketmq.store.files.deleted_topics import Deletions
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.queue.table import QueueTable

_STORE_TIME_AT = 56
_SYS_FLAG_AT = 36


class QueueStats(NamedTuple):
    min_offset: int
    max_offset: int
    last_update_timestamp: int


class Boundary(IntEnum):
    LOWER = 0
    UPPER = 1


class Reader:
    def __init__(
        self, log: CommitLog, queues: QueueTable, index: Index | None, deleted: Deletions, max_results: int
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        self._deleted = deleted
        self._max_results = max_results
        #: Told of a place where the index has a message of a topic, and the log has no whole one.
        self.on_damaged: Callable[[str, int], object] = lambda _topic, _commit_offset: None

    def entry(self, topic: str, queue_id: int, queue_offset: int) -> QueueEntry | None:
        queue = self._queues.find(topic, queue_id)
        return None if queue is None else queue.entry(queue_offset)

    def bytes_at(self, commit_offset: int) -> bytes | None:
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
        record = whole_record(memoryview(data))
        return record if record is not None and record.commit_offset == commit_offset else None

    def records_between(self, begin: int, end: int) -> Iterator[Record]:
        """The messages of the log, whether or not they were dispatched."""
        at, file_size = begin, self._log.file_size
        while at < end:
            record = self.record_at(at)
            if record is not None:
                yield record
            at += file_size - at % file_size if record is None else record.size  # behind a blank the next file begins

    def message_at(self, commit_offset: int) -> Record | None:
        """The message there, when its queue says so too: a place that a peer names may lie inside a message's body."""
        record = self.record_at(commit_offset)
        entry = None if record is None else self.entry(record.topic, record.queue_id, record.queue_offset)
        return record if entry is not None and entry.commit_offset == commit_offset else None

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
        limit = min(max_num, self._max_results)
        for commit_offset in self._index.search(topic, key, begin, end):
            if len(found) >= limit:
                break
            record = self.record_at(commit_offset)
            if record is None:
                self.on_damaged(topic, commit_offset)
            if record is None or record.topic != topic or self._is_deleted(record):
                continue
            if has_key(record, key):
                found.append(record)
        return sorted(found, key=lambda record: record.commit_offset)

    def _is_deleted(self, record: Record) -> bool:
        """Whether its topic was deleted since."""
        deletion = self._deleted.get(record.topic)
        return deletion is not None and deletion.covers(record.commit_offset, record.store_timestamp)

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
    return properties.get(UNIQUE_KEY) == key or key in split_keys(properties.get(KEYS, ""))
