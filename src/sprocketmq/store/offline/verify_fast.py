# cython: annotation_typing=False
"""The part of a check that finds nothing: records whose entries in queue and index are what they should be.

`Agreement` goes over the log as long as each record is whole, is the next of its queue, has its entry there, and has
exactly its keys as the next entries of the index. It stops before the first record of which it cannot say all that, be
it wrong or only unusual, and leaves it to others to judge. So what it passes over needs no finding, and no Python
object is made for it.
"""

from __future__ import annotations

from collections.abc import Callable

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.protocol.record.hashing import string_hash
from sprocketmq.protocol.record.record import RecordParts
from sprocketmq.store.dispatch.property_scan import PropertyScan

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, as_int32, pointer
    from sprocketmq.hot.octets import cut, i32, i64, le32, put_le32, same
    from sprocketmq.protocol.record.hashing import hash_octets, positive
    from sprocketmq.protocol.record.record import WHOLE
    from sprocketmq.protocol.record.sysflag import is_indexed, is_queued
    from sprocketmq.store.index.cursor import index_seconds
    from sprocketmq.store.index.format import INDEX_ENTRY_SIZE
    from sprocketmq.store.queue.format import ENTRY_SIZE


class QueueAgreement:
    """One queue on the way through the log: `due` is the offset that comes next, -1 before the first.

    Of its entries, those from `first` to `end` are at hand. The tags code of a delayed message is a time, which others
    have to judge.
    """

    def __init__(self, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.topic_bytes = topic.encode()
        self.queue_id = queue_id
        self.key_hash = string_hash(f"{topic}#") & 0xFFFFFFFF
        self.is_schedule = topic == SCHEDULE_TOPIC
        self.due = -1
        self.place(None, 0, 0)

    def place(self, view: memoryview | None, first: int, end: int) -> None:
        self._view = view
        self._p = pointer(view)  # compiled a bare address, which only `_view` keeps valid
        self.first = first
        self.end = end


class IndexAgreement:
    """One index file on the way through the log: its entries, from number 0, of which `number` comes next.

    Records before `begin` are older than the index. `is_last` tells that no file follows.
    """

    def __init__(self) -> None:
        self.begin = 0
        self.place(None, 0, 0, False)

    def place(self, view: memoryview | None, count: int, begin_timestamp: int, is_last: bool) -> None:
        self._view = view
        self._p = pointer(view)  # compiled a bare address, which only `_view` keeps valid
        self.number = 1
        self.count = count
        self.begin_timestamp = begin_timestamp
        self.is_last = is_last


QueueAgreements = dict[bytes, dict[int, QueueAgreement]]
#: Puts the entries from this offset on at hand, when there are any.
Fetch = Callable[[QueueAgreement, int], None]


class Agreement:
    """`newest` is the latest store time among the `records` that were passed over."""

    def __init__(self, agreements: QueueAgreements, fetch: Fetch, index: IndexAgreement | None) -> None:
        self.newest = 0
        self.records = 0
        self._agreements = agreements
        self._fetch = fetch
        self._index = index
        self._last: QueueAgreement | None = None
        self._layout = RecordParts()
        self._found = PropertyScan()
        self._keys = 0

    def walk(self, data: memoryview, origin: int, enough: int) -> int:
        """Pass over records from the start of `data`, which lies at `origin` of the log, until one begins at `enough`.

        Returns where the first begins that was not passed over.
        """
        p: Pointer = pointer(data)
        layout, at, have = self._layout, 0, len(data)
        while at < enough:
            if layout.locate(p, at, have) != WHOLE or layout.check(p) != WHOLE or i64(p, at + 28) != origin + at:
                break
            if not self.agrees(p, origin + at):
                break
            at += layout.size
        return at

    def agrees(self, p: Pointer, commit_offset: int) -> bool:
        """Whether queue and index have what the located record calls for; if so, both go on behind it."""
        layout, agreement = self._layout, self.agreement_of(p)
        if agreement is None:
            return False
        self._found.scan(p, layout.properties_at, layout.properties_end)
        queued = is_queued(layout.sys_flag)
        queue_offset, store_timestamp = i64(p, layout.at + 20), i64(p, layout.store_time_at)
        if queued and not self.has_entry(agreement, p, queue_offset, commit_offset):
            return False
        self._keys = 0
        if self._index is not None:
            if is_indexed(layout.sys_flag) and not self.has_keys(agreement, p, commit_offset, store_timestamp):
                return False
            if not self.has_no_more_keys(commit_offset):
                return False
            self._index.number += self._keys
        if queued:
            agreement.due = queue_offset + 1
        if store_timestamp > self.newest:
            self.newest = store_timestamp
        self.records += 1
        return True

    def agreement_of(self, p: Pointer) -> QueueAgreement | None:
        """The agreement of the located record; None for a queue that was not met before."""
        layout, last = self._layout, self._last
        queue_id, length = i32(p, layout.at + 12), layout.topic_end - layout.topic_at
        if (
            last is not None and last.queue_id == queue_id and len(last.topic_bytes) == length
            and same(p, layout.topic_at, last.topic_bytes, 0, length)
        ):  # fmt: skip
            return last  # neighbours often share a queue
        of_topic = self._agreements.get(cut(p, layout.topic_at, layout.topic_end))
        self._last = None if of_topic is None else of_topic.get(queue_id)
        return self._last

    def has_entry(self, agreement: QueueAgreement, p: Pointer, queue_offset: int, commit_offset: int) -> bool:
        if agreement.is_schedule or (agreement.due >= 0 and queue_offset != agreement.due):
            return False
        if queue_offset < agreement.first or queue_offset >= agreement.end:
            self._fetch(agreement, queue_offset)
            if queue_offset < agreement.first or queue_offset >= agreement.end:
                return False
        q: Pointer = agreement._p
        found, at, code = self._found, (queue_offset - agreement.first) * ENTRY_SIZE, 0
        if found.tags_at >= 0:
            code = as_int32(hash_octets(0, p, found.tags_at, found.tags_end))
        return i64(q, at) == commit_offset and i32(q, at + 8) == self._layout.size and i64(q, at + 12) == code

    def has_keys(self, agreement: QueueAgreement, p: Pointer, commit_offset: int, store_timestamp: int) -> bool:
        """Whether the next entries of the index are the record's keys, in their order."""
        found, index = self._found, self._index
        if index is None or commit_offset < index.begin:
            return True
        seconds = index_seconds(store_timestamp, index.begin_timestamp)
        if found.unique_at >= 0:
            value = hash_octets(agreement.key_hash, p, found.unique_at, found.unique_end)
            if not self.is_next_key(value, commit_offset, seconds):
                return False
        at = found.keys_at
        while found.next_key(p, at):
            value = hash_octets(agreement.key_hash, p, found.key_at, found.key_end)
            if not self.is_next_key(value, commit_offset, seconds):
                return False
            at = found.key_end + 1
        return True

    def is_next_key(self, value: int, commit_offset: int, seconds: int) -> bool:
        index = self._index
        if index is None or index.number + self._keys >= index.count:
            return False
        number, key_hash = index.number + self._keys, positive(as_int32(value))
        q: Pointer = index._p
        at = number * INDEX_ENTRY_SIZE
        if i32(q, at) != key_hash or i64(q, at + 4) != commit_offset:
            return False
        if number > 1 and i32(q, at + 12) != seconds:  # the first one counts from the file before
            return False
        self._keys += 1
        return True

    def has_no_more_keys(self, commit_offset: int) -> bool:
        """Whether the entry after the record's keys belongs to a later record."""
        index = self._index
        if index is None:
            return True
        number = index.number + self._keys
        if number >= index.count:
            return index.is_last
        q: Pointer = index._p
        return i64(q, number * INDEX_ENTRY_SIZE + 4) > commit_offset


#: (number, stored, expected)
Fault = tuple[int, int, int]


def chain_faults(
    entries: memoryview, count: int, heads: memoryview, slots: int
) -> tuple[list[Fault], list[Fault], int]:
    """(entries not chained to the one before them in their slot, slots that do not name their newest, slots in use).

    Entries count from number 0, which is never used. All with a hash below zero hang in one slot beyond the others.
    """
    chains: list[Fault] = []
    wrong_heads: list[Fault] = []
    expected = memoryview(bytearray(4 * (slots + 1)))  # numbers in bytes: as objects five million would fill 200 MB
    q: Pointer = pointer(entries)
    h: Pointer = pointer(heads)
    e: Pointer = pointer(expected)
    used = 0
    for number in range(1, count):
        at = number * INDEX_ENTRY_SIZE
        key_hash, previous = i32(q, at), i32(q, at + 16)
        slot = key_hash % slots if key_hash >= 0 else slots
        last = le32(e, slot * 4)
        if previous != last:
            chains.append((number, previous, last))
        if last == 0:
            used += 1
        put_le32(e, slot * 4, number)
    for slot in range(min(slots, len(heads) // 4)):
        stored, last = i32(h, slot * 4), le32(e, slot * 4)
        if stored != last:
            wrong_heads.append((slot, stored, last))
    return chains, wrong_heads, used
