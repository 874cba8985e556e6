# cython: annotation_typing=False
"""A pull as the store answers it: from a queue offset to the records there."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.store.log.append import Appender
from sprocketmq.store.pull.gather import Gather
from sprocketmq.store.queue.cursor import QueueCursor

if TYPE_CHECKING:
    from sprocketmq.store.config import StoreConfig
    from sprocketmq.store.pull.gather import RecordFilter
    from sprocketmq.store.queue.ext import ExtTable

if not cython.compiled:
    from sprocketmq.store.queue.format import ENTRY_SIZE

TagCodes = frozenset[int] | set[int]

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
_MIN_PULL_BYTES = 100
#: What a bulk read may take at once, where the settings allow a consumer less.
_BULK_COUNT, _BULK_BYTES = 4096, 1024 * 1024


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


#: By their numbers, as a Gather gives them.
_STATUSES = tuple(GetStatus)


class GetResult:
    """The answer to a pull. The records keep their memory alive, whatever becomes of their files."""

    __slots__ = (
        "_gathered", "count", "max_offset", "min_offset", "next_begin_offset", "size", "status",
        "suggest_pulling_from_slave",
    )  # fmt: skip

    def __init__(self, status: GetStatus, next_begin_offset: int, min_offset: int, max_offset: int) -> None:
        self.status = status
        self.next_begin_offset = next_begin_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.count = 0
        self.size = 0
        self.suggest_pulling_from_slave = False
        self._gathered: Gather | None = None

    def take(self, gathered: Gather, is_slow: bool) -> None:
        self.count = gathered.count
        self.size = gathered.size
        self.suggest_pulling_from_slave = is_slow
        self._gathered = gathered

    def behind(self, head: bytes) -> bytes:
        """`head`, and behind it the records, concatenated."""
        return head if self._gathered is None else self._gathered.behind(head)

    @property
    def records(self) -> bytes:
        return self.behind(b"")


class PullReader:
    """`view_of` finds log files. Records below `check_below` were not written by this process, and are checked."""

    def __init__(
        self, config: StoreConfig, appender: Appender, view_of: Callable[[int], memoryview | None],
        log_file_size: int, queue_file_size: int,
    ) -> None:  # fmt: skip
        self.exts: ExtTable | None = None
        #: Told of which topic and queue a pull has passed over messages, and of which: commit offset and queue offset.
        #: Tells before which queue offset the pull has to stop, since the message is being mended; None for nowhere.
        self.on_missing: Callable[[str, int, list[tuple[int, int]]], int | None] | None = None
        self.check_below = 0
        self._appender = appender
        self._dispatcher = appender.dispatcher
        self._view_of = view_of
        self._log_file_size = log_file_size
        self._queue_file_size = queue_file_size
        self.configure(config)

    def configure(self, config: StoreConfig) -> None:
        self._memory = MEMORY_BYTES * config.access_message_in_memory_max_ratio // 100
        self._max_filter_bytes = config.max_filter_message_size
        self._max_count = config.max_transfer_count_on_message_in_memory
        self._max_bytes = config.max_transfer_bytes_on_message_in_memory
        self._disk_count = config.max_transfer_count_on_message_in_disk
        self._disk_bytes = config.max_transfer_bytes_on_message_in_disk

    def end_of(self, topic: str, queue_id: int) -> int:
        """The offset behind the last message of a queue; 0 where there is none."""
        of_topic = self._dispatcher.queues.get(topic)
        cursor = None if of_topic is None else of_topic.get(queue_id)
        return 0 if cursor is None else cursor.max_offset

    def get_message(
        self, topic: str, queue_id: int, offset: int, max_count: int, max_bytes: int,
        wanted: TagCodes | RecordFilter | None = None, bulk: bool = False,
    ) -> GetResult:  # fmt: skip
        """The messages of a queue from `offset` on.

        `wanted` are the hashes of the tags a message may have, or a filter by properties, or None for every message.
        """
        of_topic = self._dispatcher.queues.get(topic)
        cursor = None if of_topic is None else of_topic.get(queue_id)
        if cursor is None:
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        low, high = cursor.owner.min_offset, cursor.max_offset
        if high < offset <= cursor.next_offset:  # the next one is written, or will be, and cannot be read yet
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if high == 0:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset < low:
            return GetResult(GetStatus.OFFSET_TOO_SMALL, low, low, high)
        if offset == high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        return self.gather(cursor, offset, low, high, max_count, max(max_bytes, _MIN_PULL_BYTES), wanted, bulk)

    def gather(
        self, cursor: QueueCursor, offset: int, low: int, high: int, max_count: int, max_bytes: int, wanted: Any,
        bulk: bool,
    ) -> GetResult:  # fmt: skip
        at = offset * ENTRY_SIZE
        base = at - at % self._queue_file_size
        entries = cursor.view_of(base)
        if entries is None:
            if base not in cursor.owner.bases:
                next_file = (base + self._queue_file_size) // ENTRY_SIZE
                return GetResult(GetStatus.OFFSET_FOUND_NULL, next_file, low, high)
            entries = cursor.owner.view_of(base)
        log_end = self._appender.wrote_offset
        least_count = _BULK_COUNT if bulk else 0
        least_bytes = _BULK_BYTES if bulk else 0
        most = min(max_count, max(self._max_count, least_count))
        end = min(high * ENTRY_SIZE, base + self._queue_file_size, at + max(self._max_filter_bytes, most * ENTRY_SIZE))
        gathered = Gather(
            cursor.topic_bytes, cursor.queue_id, self._view_of, self._log_file_size,
            most, min(max_bytes, max(self._max_bytes, least_bytes)), log_end - self._memory, self.check_below,
        )  # fmt: skip
        gathered.disk_count = max(self._disk_count, least_count)
        gathered.disk_bytes = max(self._disk_bytes, least_bytes)
        if self.exts is not None:
            gathered.unit_of = partial(self.exts.unit, cursor.topic, cursor.queue_id)
        codes, rule = (wanted, None) if isinstance(wanted, (frozenset, set)) else (None, wanted)
        gathered.run(entries, at - base, end - base, offset, codes, rule)
        if gathered.missing is not None and self.on_missing is not None:
            stop = self.on_missing(cursor.topic, cursor.queue_id, gathered.missing)
            if stop is not None:
                return self.gather_before(stop, cursor, offset, low, high, max_count, max_bytes, wanted, bulk)
        result = GetResult(_STATUSES[gathered.status], gathered.next_offset, low, high)
        result.take(gathered, log_end - gathered.last_commit_offset > self._memory)
        return result

    def gather_before(
        self, stop: int, cursor: QueueCursor, offset: int, low: int, high: int, max_count: int, max_bytes: int,
        wanted: Any, bulk: bool,
    ) -> GetResult:  # fmt: skip
        """As if the message at `stop`, and what is behind it, had not come yet."""
        if stop == offset:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        result = self.gather(cursor, offset, low, stop, max_count, max_bytes, wanted, bulk)
        result.max_offset = high
        return result
