# cython: annotation_typing=False
"""Collecting the messages of a pull: queue entries in, spans of the log out; bytes are copied once, into the answer.

Records that lie one behind the other in the log are one span: a pull answers them concatenated anyway. A record that
the log no longer has, or whose bytes are damaged, is passed over and the pull goes on behind it.

spans := (view:i64 start:i64 end:i64)*      in the order of the queue; `view` counts the log files that were looked at
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.record.record import RecordParts
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.queue.ext_format import ExtUnit, is_ext_address

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, as_int32, pointer
    from sprocketmq.hot.octets import Octets, blank, i32, i64, put, put_i64, same, seal
    from sprocketmq.protocol.record.record import WHOLE
    from sprocketmq.store.queue.format import ENTRY_SIZE, FILLER_SIZE

if not cython.compiled:
    #: What became of the pull, numbered as RocketMQ's GetMessageStatus.
    FOUND, NO_MATCHED_MESSAGE, MESSAGE_WAS_REMOVING = 0, 1, 2
    SPAN_SIZE = 24
    #: What a filter may look at in one pull, in characters of its own and bytes of properties: some 10 ms. A common
    #: filter looks at more messages than a pull goes through anyway; others go on with the next pull.
    LOOKS = 1 << 18


class RecordFilter(Protocol):
    """A filter beyond tags: first by the queue entry, then by the record's properties. `cost` is of one look at these,
    as that of bytes.
    """

    cost: int

    def matches_entry(self, tags_code: int, unit: ExtUnit | None) -> bool:
        """By the tag's hash, and by the filter bits where the queue has them."""
        ...

    def matches_properties(self, properties: bytes) -> bool: ...


class Gather:
    """One pull over one queue file. `check_below`: records before that offset came from the disk, so they are checked;
    what this process wrote itself is not. What was found stays in memory for as long as this lives.
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
        #: Commit offset and queue offset of each message that was passed over; None where none was.
        self.missing: list[tuple[int, int]] | None = None
        self.unit_of: Callable[[int], ExtUnit | None] | None = None
        self.disk_count = max_count
        self.disk_bytes = max_bytes
        self._looks_left = LOOKS
        self._topic = topic
        self._queue_id = queue_id
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._memory_from = memory_from
        self._check_below = check_below
        self._view_of = view_of
        self._file_size = file_size
        self._layout = RecordParts()
        self._base = -1
        self._view: Any = None
        self._views: list[memoryview] = []
        self._start = 0
        self._end = 0
        # Numbers in bytes instead of tuples in a list: a pull of 32 scattered messages makes no object for a span.
        self._spans = blank(max(max_count, 1) * SPAN_SIZE)
        self._spans_end = 0

    def run(self, entries: memoryview, at: int, end: int, queue_offset: int, codes: Any, rule: Any) -> None:
        """Go through the entries from `at` to `end`; the first is number `queue_offset`.

        `codes` are the hashes of the tags wanted, None for all; `rule` is a RecordFilter or None.
        """
        p: Pointer = pointer(entries)  # `entries`, an argument, outlives the loop
        self.next_offset = queue_offset
        while at < end:
            commit_offset = i64(p, at)
            size = i32(p, at + 8)
            if self.full(commit_offset, size) or self._looks_left <= 0:
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
                if size != FILLER_SIZE:  # the start that lost the message has told of it
                    self.note_missing(commit_offset)
            elif rule is None or self.matches(rule, commit_offset - self._base, size):
                self.add(commit_offset, size)
        self.close_span()
        BAD_PAGES.check()

    def note_missing(self, commit_offset: int) -> None:
        """One that is not there; its file may have gone by its age."""
        if self.missing is None:
            self.missing = []
        self.missing.append((commit_offset, self.next_offset - 1))

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
            if unit is None:
                return True  # nobody knows its tag here; the client looks as well
            tags_code = unit.tags_code
        if codes is not None:
            return as_int32(tags_code) in codes
        return rule is None or bool(rule.matches_entry(tags_code, unit))

    def find(self, commit_offset: int, size: int) -> bool:
        """Whether the record is whole where the entry says; then its file is the current one."""
        base = commit_offset - commit_offset % self._file_size
        if base != self._base:
            self.close_span()
            self._view = self._view_of(base)
            self._views.append(self._view)  # compiled, `_p` is a bare address: only this keeps its map from going
            self._base = base
            self._p = pointer(self._view)
        at = commit_offset - base
        if self._view is None or size <= 0 or at + size > self._file_size:
            return False
        if commit_offset >= self._check_below:
            # Written by this process, size and magic last: on the loop's thread it is whole or not there.
            return i32(self._p, at) == size
        return self.locate(at, size) and self.belongs(at, commit_offset)

    def locate(self, at: int, size: int) -> bool:
        layout = self._layout
        return layout.locate(self._p, at, at + size) == WHOLE and layout.size == size

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

    def matches(self, rule: Any, at: int, size: int) -> bool:
        if not self.locate(at, size):
            return False
        layout = self._layout
        self._looks_left -= rule.cost + layout.properties_end - layout.properties_at
        return bool(rule.matches_properties(bytes(self._view[layout.properties_at : layout.properties_end])))

    def add(self, commit_offset: int, size: int) -> None:
        at = commit_offset - self._base
        if at != self._end or self._start == self._end:
            self.close_span()
            self._start = at
        self._end = at + size
        self.count += 1
        self.size += size
        self.status = FOUND

    def close_span(self) -> None:
        if self._end > self._start:
            p: Octets = self._spans
            put_i64(p, self._spans_end, len(self._views) - 1)
            put_i64(p, self._spans_end + 8, self._start)
            put_i64(p, self._spans_end + 16, self._end)
            self._spans_end += SPAN_SIZE
        self._start = self._end = 0

    def behind(self, head: bytes) -> bytes:
        """`head`, and behind it the records."""
        spans: Octets = self._spans
        at, length = 0, len(head)
        out = blank(length + self.size)
        p = out  # compiled, a pointer into new bytes: nobody has seen them yet, so they may still be written
        put(p, 0, head, 0, length)
        while at < self._spans_end:
            start, end = i64(spans, at + 8), i64(spans, at + 16)
            put(p, length, pointer(self._views[i64(spans, at)]), start, end - start)
            length += end - start
            at += SPAN_SIZE
        BAD_PAGES.check()
        return seal(out)
