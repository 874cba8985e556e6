# cython: annotation_typing=False
"""Collecting the messages of a pull: queue entries in, views of the log out, nothing copied.

Records that lie one behind the other in the log leave as one view: a pull answers them concatenated anyway. A record
that the log no longer has, or whose bytes are damaged, is passed over and the pull goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

try:
    import cython
except ImportError:
    from sprocketmq import _shadow as cython

from sprocketmq.protocol.record import Layout as RecordLayout
from sprocketmq.store.consumequeue_ext_format import ExtUnit, is_ext_address

if not cython.compiled:
    from sprocketmq.protocol.octets import i32, i64, same
    from sprocketmq.protocol.record import WHOLE
    from sprocketmq.store.consumequeue_format import ENTRY_SIZE
    from sprocketmq.store.memory import Pointer, as_int32, pointer

if not cython.compiled:
    #: What became of the pull, numbered as RocketMQ's GetMessageStatus.
    FOUND, NO_MATCHED_MESSAGE, MESSAGE_WAS_REMOVING = 0, 1, 2


class MessageFilter(Protocol):
    """A filter beyond tags: first by the queue entry, then by the record's properties."""

    def matches_entry(self, tags_code: int, unit: ExtUnit | None) -> bool:
        """By the tag's hash, and by the filter bits where the queue has them."""
        ...

    def matches_properties(self, properties: bytes) -> bool: ...


class Gather:
    """One pull over one queue file. `check_below`: records before that offset came from the disk, so their CRC is
    checked; what this process wrote itself is not.
    """

    def __init__(
        self, topic: bytes, queue_id: int, view_of: Callable[[int], memoryview | None], file_size: int,
        max_count: int, max_bytes: int, memory_from: int, check_below: int,
    ) -> None:  # fmt: skip
        self.status = NO_MATCHED_MESSAGE
        self.next_offset = 0
        self.count = 0
        self.size = 0
        self.last_commit_offset = 0
        self.views: list[memoryview] = []
        self.unit_of: Callable[[int], ExtUnit | None] | None = None
        self.disk_count = max_count
        self.disk_bytes = max_bytes
        self._topic = topic
        self._queue_id = queue_id
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._memory_from = memory_from
        self._check_below = check_below
        self._view_of = view_of
        self._file_size = file_size
        self._layout = RecordLayout()
        self._base = -1
        self._view: Any = None
        self._start = 0
        self._end = 0

    def run(self, entries: memoryview, at: int, end: int, queue_offset: int, codes: Any, rule: Any) -> None:
        """Go through the entries from `at` to `end`; the first is number `queue_offset`.

        `codes` are the hashes of the tags wanted, None for all; `rule` is a MessageFilter or None.
        """
        p: Pointer = pointer(entries)
        self.next_offset = queue_offset
        while at < end:
            commit_offset = i64(p, at)
            size = i32(p, at + 8)
            if self.full(commit_offset, size):
                break
            self.last_commit_offset = commit_offset
            self.next_offset += 1
            tags_code = i64(p, at + 12)
            at += ENTRY_SIZE
            if not self.wanted(tags_code, codes, rule):
                continue
            if not self.find(commit_offset, size):
                if self.count == 0:
                    self.status = MESSAGE_WAS_REMOVING
            elif rule is None or self.matches(rule):
                self.add(commit_offset, size)
        self.close_view()

    def full(self, commit_offset: int, size: int) -> bool:
        if self.count == 0:
            return False
        if commit_offset < self._memory_from and (self.count >= self.disk_count or self.size + size > self.disk_bytes):
            return True
        return self.count >= self._max_count or self.size + size > self._max_bytes

    def wanted(self, tags_code: int, codes: Any, rule: Any) -> bool:
        unit = None
        if self.unit_of is not None and is_ext_address(tags_code):
            unit = self.unit_of(tags_code)
            if unit is not None:
                tags_code = unit.tags_code
        if codes is not None:
            return as_int32(tags_code) in codes
        return rule is None or bool(rule.matches_entry(tags_code, unit))

    def find(self, commit_offset: int, size: int) -> bool:
        """Whether the record is whole where the entry says; then its file and layout are the current ones."""
        base = commit_offset - commit_offset % self._file_size
        if base != self._base:
            self.close_view()
            self._view = self._view_of(base)
            self._base = base
            self._p = pointer(self._view)
        at = commit_offset - base
        if self._view is None or size <= 0 or at + size > self._file_size:
            return False
        layout = self._layout
        if layout.locate(self._p, at, at + size) != WHOLE or layout.size != size:
            return False
        return commit_offset >= self._check_below or self.belongs(at, commit_offset)

    def belongs(self, at: int, commit_offset: int) -> bool:
        """Whether what the disk holds is sound and the very message asked for; no checksum covers a record's header."""
        p, layout = self._p, self._layout
        length = layout.topic_end - layout.topic_at
        return (
            layout.check(p) == WHOLE
            and i32(p, at + 12) == self._queue_id
            and i64(p, at + 20) == self.next_offset - 1
            and i64(p, at + 28) == commit_offset
            and length == len(self._topic)
            and same(p, layout.topic_at, self._topic, 0, length)
        )

    def matches(self, rule: Any) -> bool:
        layout = self._layout
        return bool(rule.matches_properties(bytes(self._view[layout.properties_at : layout.properties_end])))

    def add(self, commit_offset: int, size: int) -> None:
        at = commit_offset - self._base
        if at != self._end or self._start == self._end:
            self.close_view()
            self._start = at
        self._end = at + size
        self.count += 1
        self.size += size
        self.status = FOUND

    def close_view(self) -> None:
        if self._end > self._start:
            self.views.append(self._view[self._start : self._end])
        self._start = self._end = 0
