"""One ConsumeQueue of a view: what is on disk, cut and continued as recovery would.

The first entry that is not written, or the first file that is missing, ends the queue; recovery looks for it behind the
last file whose entries were all safe at the checkpoint: of those behind, a crash may have left any.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sprocketmq.store.files.deleted_topics import Deletion
from sprocketmq.store.queue.cursor import is_tearable
from sprocketmq.store.queue.format import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, QueueEntry, decode_entry
from sprocketmq.store.view.source import ByteFile, ByteSource, checked

_WORDS = ENTRY_SIZE // 4
FILLER_ENTRY = QueueEntry(0, FILLER_SIZE, 0)


class QueueFile(NamedTuple):
    path: str
    base: int
    size: int


class QueueView:
    """The entries [min_offset, max_offset) of a queue; those of records below `safe_below` are known to be on disk."""

    def __init__(
        self, source: ByteSource, topic: str, queue_id: int, files: list[QueueFile], file_size: int, safe_below: int
    ) -> None:
        self.topic, self.queue_id, self.files, self.file_size = topic, queue_id, files, file_size
        self._source = source
        self._by_base = {file.base: file for file in files}
        self._open: tuple[str, ByteFile] | None = None
        begins_late = self._begins_late(safe_below)
        self._first = 0 if begins_late else files[0].base // ENTRY_SIZE
        self._on_disk = 0 if begins_late else self._end_on_disk(safe_below)
        self._added = bytearray()  # entries as a file would hold them
        self._mended: dict[int, QueueEntry] = {}
        self._open = None  # a store has many queues, and most are never read
        self.min_offset = self._first

    @property
    def max_offset(self) -> int:
        return self._on_disk + len(self._added) // ENTRY_SIZE

    def entry(self, offset: int) -> QueueEntry:
        if offset >= self._on_disk:
            return decode_entry(self._added, (offset - self._on_disk) * ENTRY_SIZE)
        return self._mended.get(offset) or self.stored(offset) or FILLER_ENTRY

    def entries(self, begin: int, end: int) -> Iterator[tuple[int, QueueEntry]]:
        for offset in range(max(begin, self.min_offset), min(end, self.max_offset)):
            yield offset, self.entry(offset)

    def stored(self, offset: int) -> QueueEntry | None:
        """The entry as its file holds it, whatever recovery makes of it."""
        at = offset * ENTRY_SIZE
        file = self._file_at(at)
        if file is None or at + ENTRY_SIZE > file.base + file.size:
            return None
        return checked(decode_entry(self._bytes(file).read(at - file.base, ENTRY_SIZE)))

    def stored_run(self, offset: int, most: int) -> memoryview:
        """The bytes of up to `most` entries from `offset` on, as far as its file goes."""
        at = offset * ENTRY_SIZE
        file = self._file_at(at)
        if file is None or offset < 0:
            return memoryview(b"")
        whole = file.size - file.size % ENTRY_SIZE
        length = min(most * ENTRY_SIZE, file.base + whole - at)
        return self._source.open(file.path).read(at - file.base, length) if length > 0 else memoryview(b"")

    def last_written(self, end: int) -> int:
        """The last offset before `end` at which any entry is written, be it behind a hole; -1 for none."""
        for file in reversed(self.files):
            data = checked(bytes(self._bytes(file).read(0, file.size))).rstrip(b"\0")
            if data:
                return min(end - 1, file.base // ENTRY_SIZE + (len(data) - 1) // ENTRY_SIZE)
        return -1

    def place(self, offset: int) -> tuple[str, int]:
        """The file and the byte in it where an entry lies, for reports."""
        at = offset * ENTRY_SIZE
        file = self._file_at(at)
        base = file.base if file else at // self.file_size * self.file_size
        path = file.path if file else f"consumequeue/{self.topic}/{self.queue_id}/{base:020}"
        return path, at - base

    def max_physical(self) -> int:
        """Where the last message of the queue ends in the log; 0 when the queue is empty."""
        if self.max_offset == self._first:
            return 0
        last = self.entry(self.max_offset - 1)
        return 0 if last.is_filler else last.commit_offset + last.size

    def cut(self, log_begin: int, log_end: int) -> None:
        """Forgets entries beyond the log's end, and counts from the first one whose message is still there."""
        self._on_disk = self._first + bisect_left(range(self._first, self._on_disk), log_end, key=self._order)
        end = self.max_offset
        begin = self._first + bisect_left(range(self._first, end), log_begin, key=self._order)
        while begin < end and self.entry(begin).is_filler:
            begin += 1
        self.min_offset = begin

    def begins_deleted(self, deletion: Deletion, store_time: Callable[[QueueEntry], int]) -> bool:
        """Whether the first entry is of a topic that was deleted."""
        if self.max_offset == self._first:
            return False
        entry = self.entry(min(self.min_offset, self.max_offset - 1))
        return not entry.is_filler and deletion.covers(entry.commit_offset, store_time(entry))

    def add(self, offset: int, entry: QueueEntry) -> bool:
        """Dispatches a record again; false when the queue has it already."""
        if offset < self._on_disk and is_tearable(offset, self.file_size):
            self.mend(offset, entry)
        if entry.commit_offset + entry.size <= self.max_physical():
            return False
        if offset < self.max_offset and not self.begin_anew(offset):
            return False
        self.skip_to(offset)
        self.extend(ENTRY.pack(*entry))
        return True

    def mend(self, offset: int, entry: QueueEntry) -> None:
        """Where the disk has another entry than this, it was torn."""
        if offset < self._on_disk and self.stored(offset) != entry:
            self._mended[offset] = entry

    def skip_to(self, offset: int) -> None:
        """The next entry is that of `offset`: an empty queue begins there, another has fillers up to it."""
        if self.max_offset == self._first and not self._added:
            self._start_at(offset)
        self._added += FILLER * (offset - self.max_offset)

    def begin_anew(self, offset: int) -> bool:
        """For a record behind the last one that is not the next: whether it is the first of a queue that began anew,
        see `ConsumeQueue`. What was before does not count then.
        """
        if offset or not self.max_physical():
            return False
        self._added.clear()
        self._mended.clear()
        self._start_at(0)
        return True

    def extend(self, entries: bytes | memoryview) -> None:
        """Entries, as a file would hold them, after the last."""
        self._added += entries

    def offset_by_time(self, timestamp: int, store_time: Callable[[QueueEntry], int], *, upper: bool = False) -> int:
        """The first offset stored at `timestamp` or later; for `upper` the last one stored then or earlier."""
        offsets = range(self.min_offset, self.max_offset)
        found = bisect_left(offsets, timestamp + upper, key=lambda offset: store_time(self.entry(offset)))
        return self.min_offset + (max(0, found - 1) if upper else found)

    def _start_at(self, offset: int) -> None:
        self._first = self._on_disk = self.min_offset = offset

    def _order(self, offset: int) -> int:
        entry = self.entry(offset)
        return -1 if entry.is_filler else entry.commit_offset

    def _end_on_disk(self, safe_below: int) -> int:
        """After the run of entries that ends the queue's files."""
        first = max(0, len(self.files) - 1)
        while first > 0 and not self._is_whole(first - 1, safe_below):
            first -= 1
        end = self.files[first].base if self.files else 0
        for file in self.files[first:]:
            if file.base != end:
                break
            data = self._bytes(file).read(0, file.size - file.size % ENTRY_SIZE)
            written = checked(_written(data))
            end = file.base + written * ENTRY_SIZE
            if written < len(data) // ENTRY_SIZE:
                break
        return end // ENTRY_SIZE

    def _begins_late(self, safe_below: int) -> bool:
        """Whether there is no file, or some may be missing before the first one, see `ConsumeQueue`."""
        if not self.files or self.files[0].base == 0:
            return not self.files
        first = self.stored(self.files[0].base // ENTRY_SIZE)
        return first is None or (not first.is_filler and first.commit_offset >= safe_below)

    def _is_whole(self, number: int, safe_below: int) -> bool:
        """Whether a file, which is not the last one, has all its entries, and the next file follows it."""
        file = self.files[number]
        if file.size < self.file_size or self.files[number + 1].base != file.base + file.size:
            return False
        last = checked(decode_entry(self._bytes(file).read(file.size - ENTRY_SIZE, ENTRY_SIZE)))
        return last.is_written and not last.is_filler and last.commit_offset < safe_below

    def _file_at(self, at: int) -> QueueFile | None:
        return self._by_base.get(at // self.file_size * self.file_size) if self.file_size else None

    def _bytes(self, file: QueueFile) -> ByteFile:
        if self._open is None or self._open[0] != file.path:
            self._open = file.path, self._source.open(file.path)
        return self._open[1]


def _written(data: memoryview) -> int:
    """How many entries at the front are written. All columns are looked at without a Python object per entry."""
    words = array("i", bytes(data))
    words.byteswap()
    offsets, sizes = words[0::_WORDS], words[2::_WORDS]
    count = len(sizes)
    if 0 in sizes:
        count = sizes.index(0)
    if count and (min(sizes[:count]) < 0 or min(offsets[:count]) < 0):
        return next(number for number in range(count) if sizes[number] < 0 or offsets[number] < 0)
    return count
