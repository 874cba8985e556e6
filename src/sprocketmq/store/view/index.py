"""The IndexFiles of a view, and those that recovery or a rebuild would write."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import NamedTuple

from sprocketmq.store.index.cursor import index_seconds
from sprocketmq.store.index.format import (
    HEADER,
    HEADER_SIZE,
    INDEX_ENTRY,
    INDEX_ENTRY_SIZE,
    SLOT_SIZE,
    IndexEntry,
    IndexHeader,
    decode_index_header,
    entry_at,
    index_file_size,
    slot_at,
)
from sprocketmq.store.view.source import ByteSource, checked

DEFAULT_SLOTS = 5_000_000
DEFAULT_CAPACITY = 20_000_000
_EMPTY = IndexHeader(0, 0, 0, 0, 0, 1)


class IndexShape(NamedTuple):
    """How many slots and entries each file has; a file does not say so itself."""

    slots: int = DEFAULT_SLOTS
    capacity: int = DEFAULT_CAPACITY

    @property
    def file_size(self) -> int:
        return index_file_size(self.slots, self.capacity)

    def entry_at(self, number: int) -> int:
        return entry_at(number, self.slots)


class IndexView:
    """One IndexFile on disk."""

    def __init__(self, source: ByteSource, path: str, shape: IndexShape) -> None:
        self.path, self.name, self.shape = path, path.rpartition("/")[2], shape
        self._file = source.open(path)
        head = self._file.read(0, HEADER_SIZE)
        self.header = checked(decode_index_header(head) if len(head) == HEADER_SIZE else _EMPTY)
        self.size = self._file.size

    @property
    def count(self) -> int:
        """The number of the next entry, within what the file can hold."""
        whole = max(0, self.size - self.shape.entry_at(0)) // INDEX_ENTRY_SIZE
        return max(1, min(self.header.index_count, self.shape.capacity, whole))

    def slot(self, number: int) -> int:
        data = self._file.read(slot_at(number), SLOT_SIZE)
        return checked(int.from_bytes(data, "big", signed=True))

    def slots(self) -> array[int]:
        data = checked(bytes(self._file.read(HEADER_SIZE, SLOT_SIZE * self.shape.slots)))
        heads = array("i", data[: len(data) // 4 * 4])
        heads.byteswap()
        return heads

    def entry(self, number: int) -> IndexEntry:
        data = self._file.read(self.shape.entry_at(number), INDEX_ENTRY_SIZE)
        return checked(IndexEntry(*INDEX_ENTRY.unpack(data)))

    def entries(self) -> Iterator[IndexEntry]:
        data = self._file.read(self.shape.entry_at(1), (self.count - 1) * INDEX_ENTRY_SIZE)
        yield from map(IndexEntry._make, INDEX_ENTRY.iter_unpack(data))
        checked(data)  # once for all of them: there are millions

    def stored_entries(self) -> memoryview:
        """The bytes of all entries, from number 0 on."""
        return self._file.read(self.shape.entry_at(0), self.count * INDEX_ENTRY_SIZE)

    def stored_slots(self) -> memoryview:
        return self._file.read(HEADER_SIZE, SLOT_SIZE * self.shape.slots)


class IndexBuilder:
    """An IndexFile being written, as the broker writes it: one `put` per key of a message, in log order."""

    def __init__(self, name: str, shape: IndexShape, previous: IndexHeader | None = None) -> None:
        self.name, self.path, self.shape = name, f"index/{name}", shape
        self._slots: dict[int, int] = {}
        self._entries = bytearray(INDEX_ENTRY_SIZE)
        last = previous or _EMPTY
        self.header = replace(
            _EMPTY,
            begin_timestamp=last.end_timestamp,
            end_timestamp=last.end_timestamp,
            begin_offset=last.end_offset,
            end_offset=last.end_offset,
        )

    @classmethod
    def resume(cls, view: IndexView) -> IndexBuilder:
        """Goes on where a file on disk stopped."""
        builder = cls(view.name, view.shape)
        builder.header = view.header
        builder._slots = {slot: head for slot, head in enumerate(view.slots()) if head}
        builder._entries += b"".join(INDEX_ENTRY.pack(*entry) for entry in view.entries())
        return builder

    @property
    def count(self) -> int:
        return self.header.index_count

    @property
    def full(self) -> bool:
        return self.header.index_count >= self.shape.capacity

    def put(self, key_hash: int, commit_offset: int, store_timestamp: int) -> None:
        header, slot = self.header, key_hash % self.shape.slots
        previous = self._slots.get(slot, 0)
        begin, begin_offset = header.begin_timestamp, header.begin_offset
        seconds = index_seconds(store_timestamp, begin)
        self._entries += INDEX_ENTRY.pack(key_hash, commit_offset, seconds, previous)
        self._slots[slot] = header.index_count
        if header.index_count == 1:
            begin, begin_offset = store_timestamp, commit_offset
        used = header.used_slots + (previous == 0)
        self.header = IndexHeader(begin, store_timestamp, begin_offset, commit_offset, used, header.index_count + 1)

    def slot(self, number: int) -> int:
        return self._slots.get(number, 0)

    def entry(self, number: int) -> IndexEntry:
        return IndexEntry(*INDEX_ENTRY.unpack_from(self._entries, number * INDEX_ENTRY_SIZE))

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """What to write, and where: the rest of the file stays zero."""
        heads = array("i", bytes(SLOT_SIZE * self.shape.slots))
        for slot, number in self._slots.items():
            heads[slot] = number
        heads.byteswap()
        yield 0, HEADER.pack(*astuple(self.header))
        yield HEADER_SIZE, heads.tobytes()
        yield self.shape.entry_at(0), bytes(self._entries)


def find(files: list[IndexView | IndexBuilder], key_hash: int, begin: int, end: int) -> Iterator[int]:
    """Commit offsets whose key has this hash and may have been stored in [begin, end], newest first."""
    for file in reversed(files):
        header = file.header
        if header.begin_timestamp <= end and header.end_timestamp >= begin:
            for entry in _chain(file, key_hash):
                stored = header.begin_timestamp + entry.seconds * 1000  # cut to the second
                if entry.key_hash == key_hash and begin - 1000 < stored <= end:
                    yield entry.commit_offset


def _chain(file: IndexView | IndexBuilder, key_hash: int) -> Iterator[IndexEntry]:
    number, older_than = file.slot(key_hash % file.shape.slots), file.count
    while 0 < number < older_than:  # a chain only ever leads to older entries; damage must not make it a circle
        entry = file.entry(number)
        yield entry
        number, older_than = entry.previous, number


def guess_shape(source: ByteSource, path: str, file_size: int) -> IndexShape:
    """The slots and entries of a file, found from its chains; the default's proportions when it has no entry."""
    for slots in _candidates(file_size):
        shape = IndexShape(slots, (file_size - HEADER_SIZE - 4 * slots) // INDEX_ENTRY_SIZE)
        view = IndexView(source, path, shape)
        if view.header.index_count <= 1 or _fits(view):
            return shape
    return IndexShape()


def _candidates(file_size: int) -> Iterator[int]:
    """Slot counts that leave room for whole entries; first the default's proportion of one slot to four entries."""
    usual = (file_size - HEADER_SIZE) // 84
    if (file_size - HEADER_SIZE - 4 * usual) % INDEX_ENTRY_SIZE == 0 and usual > 0:
        yield usual
    first = (file_size - HEADER_SIZE) // 4 % 5 or 5
    yield from range(first, (file_size - HEADER_SIZE) // 4, 5)


def _fits(view: IndexView) -> bool:
    """Whether the newest and the oldest entries hang in the slots that their hashes name."""
    count = view.header.index_count
    if not 1 < count <= view.shape.capacity:
        return False
    newest, oldest = view.entry(count - 1), view.entry(1)
    if newest.key_hash < 0 or oldest.key_hash < 0 or oldest.previous != 0:
        return False
    if view.slot(newest.key_hash % view.shape.slots) != count - 1:
        return False
    return sum(head != 0 for head in view.slots()) == view.header.used_slots
