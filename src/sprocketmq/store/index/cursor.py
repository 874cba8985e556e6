# cython: annotation_typing=False
"""The write end of the index: the newest IndexFile, one entry per key.

The bytes and their rules are RocketMQ's (format.py), down to the oddity that the first entry of a file
counts its seconds from the end of the file before it.
"""

from __future__ import annotations

from typing import Protocol

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import StoreError

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, pointer
    from sprocketmq.hot.octets import i32, i64, put_i32, put_i64
    from sprocketmq.store.index.format import HEADER_SIZE, INDEX_ENTRY_SIZE, SLOT_SIZE

    _MAX_SECONDS = 0x7FFFFFFF


class IndexOwner(Protocol):
    def make_room(self) -> None:
        """Allocate more of the newest file or begin the next, and `place` the cursor. Raises StoreFull."""
        ...


class IndexCursor:
    def __init__(self, hash_slots: int, index_num: int, owner: IndexOwner) -> None:
        self.hash_slots = hash_slots
        self.index_num = index_num
        self.owner = owner
        self.begin_timestamp = self.end_timestamp = self.end_offset = 0
        self.place(None, 0)

    def place(self, view: memoryview | None, limit: int) -> None:
        """Write into `view`; entries below number `limit` have blocks on the disk."""
        self._view = view
        self._p = pointer(view)  # compiled a bare address: only `_view` keeps the map from going while it is used
        self.limit = limit
        self.count = 0
        if view is not None:
            self.begin_timestamp = i64(self._p, 0)
            self.end_timestamp = i64(self._p, 8)
            self.end_offset = i64(self._p, 24)
            self.count = max(1, i32(self._p, 36))

    def ready(self) -> None:
        """A file with room for one more entry is there."""
        if self.count >= self.limit:
            self.owner.make_room()

    def put(self, key_hash: int, commit_offset: int, store_timestamp: int) -> None:
        """One more entry; `key_hash` is never negative."""
        if self.count >= self.limit:
            self.owner.make_room()
            if self.count >= self.limit:
                raise StoreError(f"no room for index entry {self.count}")  # never write past the map
        p: Pointer = self._p
        slot_at = HEADER_SIZE + key_hash % self.hash_slots * SLOT_SIZE
        previous = i32(p, slot_at)
        if previous <= 0 or previous > self.count:
            previous = 0  # a crash can leave a slot that names an entry which was never counted
        at = HEADER_SIZE + self.hash_slots * SLOT_SIZE + self.count * INDEX_ENTRY_SIZE
        put_i32(p, at, key_hash)
        put_i64(p, at + 4, commit_offset)
        put_i32(p, at + 12, index_seconds(store_timestamp, self.begin_timestamp))
        put_i32(p, at + 16, previous)
        # The entry before the slot that names it: a reader follows slots, and must not come to what is not written.
        put_i32(p, slot_at, self.count)
        self.count_entry(previous == 0, commit_offset, store_timestamp)

    def count_entry(self, new_slot: bool, commit_offset: int, store_timestamp: int) -> None:
        p: Pointer = self._p
        if self.count <= 1:
            self.begin_timestamp = store_timestamp
            put_i64(p, 0, store_timestamp)
            put_i64(p, 16, commit_offset)
        if new_slot:
            put_i32(p, 32, i32(p, 32) + 1)
        self.count += 1
        self.end_timestamp = store_timestamp
        self.end_offset = commit_offset
        put_i32(p, 36, self.count)
        put_i64(p, 24, commit_offset)
        put_i64(p, 8, store_timestamp)


def index_seconds(store_timestamp: int, begin_timestamp: int) -> int:
    """What an entry says of the time, in a file that begins at `begin_timestamp`; one without a time says 0."""
    if begin_timestamp <= 0 or store_timestamp < begin_timestamp:
        return 0
    seconds = (store_timestamp - begin_timestamp) // 1000
    return _MAX_SECONDS if seconds > _MAX_SECONDS else seconds
