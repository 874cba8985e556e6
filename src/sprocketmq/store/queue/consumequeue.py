"""One ConsumeQueue: the entries of a topic's queue, in files of a fixed number of entries.

The files are found by their names; the entries count from the logical queue's first byte, so entry n is at byte
n * 20 whether or not older files are still there. `min_offset` is not stored anywhere: it is the first entry whose
record the log still has.

A record that is number 0 and lies behind all that the queue has says that the queue began anew where the log was
written: its topic was deleted, or all its messages were gone and it was cleaned. What it had before counts no more.
"""

from __future__ import annotations

from bisect import insort
from pathlib import Path
from typing import Protocol

from sprocketmq.errors import StoreError
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import Files, sync_parents_unless_gone, sync_unless_gone
from sprocketmq.store.files.layout import base_offset_of, file_name
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.pages import PAGE, clear_file, page_end, queue_error
from sprocketmq.store.queue.cursor import QueueCursor, written_until
from sprocketmq.store.queue.format import (
    ENTRY,
    ENTRY_SIZE,
    FILLER,
    FILLER_SIZE,
    QueueEntry,
    decode_entry,
    written_entries,
)

_PAGE_OF_ENTRIES = PAGE // ENTRY_SIZE * ENTRY_SIZE
_MAX_STEP = 256 << 10
_BEHIND = 64 << 10  # so much behind the last entry of a queue is looked at after a clean stop


class QueueHome(Protocol):
    """What all queues of a store share."""

    files: Files
    maps: MapCache
    file_size: int
    #: The walk that dispatches began at the log's first record, so a queue may begin anywhere.
    complete: bool

    def folder_of(self, topic: str, queue_id: int) -> Path: ...

    def touched(self, queue: ConsumeQueue) -> None: ...


class ConsumeQueue:
    __slots__ = (
        "_allocated", "_emptied", "_flushed", "_home", "_last_path", "_named_upto", "_naming", "bases", "cursor", "gap",
        "min_offset", "torn",
    )  # fmt: skip

    def __init__(self, home: QueueHome, topic: str, queue_id: int) -> None:
        self._home = home
        self.cursor = QueueCursor(topic, queue_id, self)
        self.bases: list[int] = []
        self.min_offset = 0
        self.gap = False
        self.torn: Path | None = None
        self._allocated = 0  # blocks on the disk up to here, counted as entries are from the queue's first byte
        self._flushed = 0
        self._emptied = False
        self._named_upto = self._naming = 0
        self._last_path: tuple[int, Path] | None = None

    @property
    def topic(self) -> str:
        return self.cursor.topic

    @property
    def queue_id(self) -> int:
        return self.cursor.queue_id

    @property
    def max_offset(self) -> int:
        return self.cursor.max_offset

    @property
    def file_size(self) -> int:
        return self._home.file_size

    @property
    def folder(self) -> Path:
        return self._home.folder_of(self.cursor.topic, self.cursor.queue_id)

    @property
    def unflushed_bytes(self) -> int:
        return (self.max_offset - self._flushed) * ENTRY_SIZE

    def path_of(self, base: int) -> Path:
        """The last one is remembered: every pull asks for it, and making a path costs more than the rest of it."""
        last = self._last_path  # looked at once: the flush thread asks too
        if last is None or last[0] != base:
            last = self._last_path = (base, Path(f"{self.folder}/{file_name(base)}"))
        return last[1]

    @property
    def _files_end(self) -> int:
        """Where the last file ends; in one look, for the other thread may take it away."""
        return next((base + self.file_size for base in self.bases[-1:]), 0)

    def load(self) -> None:
        """Find the files. One of length 0 never got its size and holds nothing; a short one is made whole again.

        `torn` is the path of one of them, of one that is missing between others, or of the folder where all are
        missing: after a clean stop there is none.
        """
        files = self._home.files
        for name in files.list_dir(self.folder):
            base = base_offset_of(name)
            if base is None or base % self.file_size:
                continue
            path = self.path_of(base)
            size = files.size(path)
            if size > self.file_size:
                raise StoreError(f"{path} has {size} bytes, but mappedFileSizeConsumeQueue is {self.file_size}")
            if size < self.file_size or (self.bases and self._files_end != base):
                self.torn = path
            if size == 0:
                files.remove(path)
                continue
            if size < self.file_size:
                files.create(path, self.file_size).close()
            self.bases.append(base)
        if not self.bases:
            self.torn = self.torn or self.folder
        self._named_upto = self._files_end

    def resume(self, max_offset: int, max_commit_offset: int) -> None:
        """Go on behind the last entry that counts; what is there is on disk."""
        self.cursor.reset(max_offset, max_commit_offset)
        self._flushed = max_offset
        self._allocated = 0

    def view_of(self, base: int) -> memoryview:
        return self._home.maps.get(self.path_of(base))

    def entry(self, queue_offset: int) -> QueueEntry | None:
        """The entry, or None where there is none."""
        at = queue_offset * ENTRY_SIZE
        base = at - at % self.file_size
        if not 0 <= queue_offset < self.max_offset or base not in self.bases:
            return None
        return self._decode(base, at - base)

    def _decode(self, base: int, at: int) -> QueueEntry:
        entry = decode_entry(self.view_of(base), at)
        BAD_PAGES.check()
        return entry

    def make_room(self) -> None:
        """Called by the cursor: map the file of the next entry and give it blocks."""
        at = self.cursor.max_offset * ENTRY_SIZE
        base = at - at % self.file_size
        try:
            if base not in self.bases:
                self._begin_file(base)
            limit = self._allocate(base, at - base)
            self.cursor.place(self._home.maps.get(self.path_of(base), self), at - base, limit)
        except OSError as error:
            raise queue_error(error, self.path_of(base)) from error

    def _begin_file(self, base: int) -> None:
        if self.bases:  # the file before is full: it has no writer any more
            self.cursor.place(None, 0, 0)
        self._home.files.create(self.path_of(base), self.file_size).close()
        insort(self.bases, base)  # behind one that a power cut took there may be others
        self._allocated = 0

    def _allocate(self, base: int, position: int) -> int:
        """Blocks come in steps that grow with the queue, so that one with ten messages costs a page."""
        if base + position + ENTRY_SIZE <= self._allocated:
            return self._allocated - base
        step = min(max(PAGE, position), _MAX_STEP)
        limit = min(self.file_size, page_end(position + step))
        file = self._home.files.open(self.path_of(base))
        try:
            file.allocate(position - position % PAGE, limit)
            if self._allocated > base:  # what it had is full, so it will fill these as well
                file.ready(page_end(position), limit)
        finally:
            file.close()
        self._allocated = base + limit
        return limit

    def find_both_ends(self, log_min_offset: int, safe_below: int | None) -> None:
        """What a store that opens asks of every queue: the first entry that counts and the last.

        After a crash, the entries of records below the offset `safe_below` are known to be on disk; after a clean stop,
        None, all are.
        """
        if safe_below is not None or not self._find_ends_in_a_page(log_min_offset):
            self._find_end(safe_below)
            self.find_min(log_min_offset)

    def _find_ends_in_a_page(self, log_min_offset: int) -> bool:
        """One read does for a short queue, which most are where there are many; False where it does not."""
        if self.bases != [0]:
            return False
        page = memoryview(self._read_first(_PAGE_OF_ENTRIES))
        end = written_until(page, 0, len(page))
        if not 0 < end < len(page) or bytes(page[end:]).strip(b"\0"):
            return False
        first, last = decode_entry(page, 0), decode_entry(page, end - ENTRY_SIZE)
        if first.commit_offset < log_min_offset or first.is_filler or last.is_filler:
            return False
        self.resume(end // ENTRY_SIZE, last.commit_offset + last.size)
        self.min_offset = 0
        return True

    def _read_first(self, size: int) -> bytes:
        file = self._home.files.open(self.path_of(self.bases[0]), writable=False)
        try:
            return file.read(0, min(size, self.file_size))
        finally:
            file.close()

    def _find_end(self, safe_below: int | None) -> None:
        """Find the last entry and go on behind it.

        After a clean stop the entries are contiguous and halving finds the end; after a crash each entry is looked at
        that may not be on disk, and what follows a hole, or a file that is missing, does not count.
        """
        end = self._clean_end() if safe_below is None else self._crash_end(safe_below)
        self.resume(end // ENTRY_SIZE, self._record_end(end // ENTRY_SIZE - 1))

    def _clean_end(self) -> int:
        """A damaged entry looks like the end: where there are others behind it, `torn` is the path of its file."""
        for base in reversed(self.bases):
            view = self.view_of(base)
            length = written_entries(view) * ENTRY_SIZE
            if bytes(view[length : length + _BEHIND]).strip(b"\0"):
                self.torn = self.path_of(base)
            BAD_PAGES.check()
            if length:
                return base + length
        return 0

    def _crash_end(self, safe_below: int) -> int:
        first = max(0, len(self.bases) - 1)
        while first > 0 and not self._is_whole(first - 1, safe_below):
            first -= 1
        if first == 0 and self._begins_late(safe_below):
            return 0
        end = self.bases[first] if first else 0
        for number, base in enumerate(self.bases[first:]):
            if number and base != end:
                break
            length = written_until(self.view_of(base), 0, self.file_size)
            BAD_PAGES.check()
            end = base + length if length else end
            if length < self.file_size:
                break
        return end

    def _begins_late(self, safe_below: int) -> bool:
        """Whether files may be missing before the first one: those of expired messages went long ago, with the log."""
        if not self.bases or self.bases[0] == 0:
            return False
        first = self._decode(self.bases[0], 0)
        return not first.is_filler and first.commit_offset >= safe_below  # before fillers there was never a file

    def _is_whole(self, number: int, safe_below: int) -> bool:
        """Whether a file, which is not the last one, has all its entries, and the next file follows it."""
        base = self.bases[number]
        last = self._decode(base, self.file_size - ENTRY_SIZE)
        is_safe = last.is_written and not last.is_filler and last.commit_offset < safe_below
        return is_safe and self.bases[number + 1] == base + self.file_size

    def _record_end(self, queue_offset: int) -> int:
        """Behind the record of an entry; -1 for a filler or none at all."""
        entry = self.raw_entry(queue_offset)
        return -1 if entry is None or entry.is_filler else entry.commit_offset + entry.size

    def raw_entry(self, queue_offset: int) -> QueueEntry | None:
        """What is on disk at an offset, whether or not the queue reaches that far."""
        at = queue_offset * ENTRY_SIZE
        base = at - at % self.file_size
        return self._decode(base, at - base) if queue_offset >= 0 and base in self.bases else None

    def find_min(self, log_min_offset: int) -> None:
        """The first entry whose record is still in the log."""
        low, high = (self.bases[0] // ENTRY_SIZE if self.bases else self.max_offset), self.max_offset
        first = self.raw_entry(low)
        if first is not None and not first.is_filler and first.commit_offset >= log_min_offset:
            high = low  # the common case costs one look
        while low < high:
            middle = (low + high) // 2
            entry = self.raw_entry(middle)
            if entry is None or entry.is_filler or entry.commit_offset < log_min_offset:
                low = middle + 1
            else:
                high = middle
        self.min_offset = low

    def cut(self, log_end: int) -> int:
        """Drop the entries of records at `log_end` and behind; returns how many."""
        before = end = self.max_offset
        if self.cursor.max_commit_offset <= log_end and not self.cursor.dirty:
            return 0
        low = self.bases[0] // ENTRY_SIZE if self.bases else 0
        while end > low:
            entry = self.raw_entry(end - 1)
            if entry is not None and (entry.is_filler or entry.commit_offset < log_end):
                break
            end -= 1
        if end != before:
            self.resume(end, self._record_end(end - 1))
        return before - end

    def clear_behind(self) -> bool:
        """Zero what is on disk behind the last entry, so that a second crash finds nothing stale there."""
        end = self.max_offset * ENTRY_SIZE
        changed = False
        for base in [base for base in self.bases if base >= end and base > 0]:
            self.bases.remove(base)
            self._home.maps.drop(self.path_of(base))
            self._home.files.remove(self.path_of(base))
            changed = True
        self._named_upto = min(self._named_upto, self._files_end)
        if self.bases and self.bases[-1] + self.file_size > end:
            changed |= clear_file(self._home.files, self.path_of(self.bases[-1]), end - self.bases[-1])
        return changed

    def touched(self) -> None:
        self._home.touched(self)

    def release(self) -> bool:
        """Called by the map cache: a cursor that wrote since the last time keeps its map once more."""
        if self.cursor.used:
            self.cursor.used = False
            return False
        self.cursor.place(None, 0, 0)
        return True

    def align(self, queue_offset: int) -> bool:
        """A record that is not the next of the queue came: whether its entry may be written all the same."""
        if queue_offset < self.max_offset:
            return queue_offset == 0 and self._begin_anew()
        if not self._home.complete:
            self.gap = True
            return False
        if self.max_offset == 0:
            self.begin_at(queue_offset)
        else:
            self._bridge(queue_offset)
        return True

    def _begin_anew(self) -> bool:
        """The record lies behind the last one here. Of a queue that ends in fillers nobody knows which that is."""
        if self.cursor.max_commit_offset < 0:
            return False
        try:
            self.empty()
        except OSError as error:
            raise queue_error(error, self.folder) from error
        self.min_offset = 0
        return True

    def mend(self, queue_offset: int, commit_offset: int, size: int, tags_code: int) -> None:
        """Put an entry right that a power cut tore: it was read from the disk, and the log knows better."""
        at = queue_offset * ENTRY_SIZE
        base = at - at % self.file_size
        if base not in self.bases or self.raw_entry(queue_offset) == (commit_offset, size, tags_code):
            return
        ENTRY.pack_into(self.view_of(base), at - base, commit_offset, size, tags_code)
        self._flushed = min(self._flushed, queue_offset)
        if queue_offset == self.max_offset - 1:
            self.cursor.max_commit_offset = commit_offset + size
        if not self.cursor.dirty:
            self.cursor.dirty = True
            self.touched()

    def _bridge(self, queue_offset: int) -> None:
        """Records were lost in the middle: fillers take their places, so that the later ones keep theirs."""
        while self.max_offset < queue_offset:
            self.cursor.put(0, FILLER_SIZE, 0)
        self.cursor.next_offset = self.max_offset

    def begin_at(self, queue_offset: int) -> None:
        """The queue's first entry is not number 0: the entries before it in its file become fillers."""
        at = queue_offset * ENTRY_SIZE
        base = at - at % self.file_size
        self.cursor.reset(queue_offset, -1)
        self.min_offset = queue_offset
        self._allocated = 0
        self.make_room()
        self._fill(base, at - base)

    def _fill(self, base: int, end: int) -> None:
        file = self._home.files.open(self.path_of(base))
        try:
            file.write(0, FILLER * (end // ENTRY_SIZE))  # not by the map: these have no blocks yet
        except OSError as error:
            raise queue_error(error, self.path_of(base)) from error
        finally:
            file.close()

    def sync(self) -> None:
        """Make every entry written so far durable; called on the flush thread."""
        upto = self.begin_sync()
        for base in [base for base in self.bases if base + self.file_size > self._flushed * ENTRY_SIZE]:
            sync_unless_gone(self._home.files, self.path_of(base))
        if self._naming > self._named_upto:
            sync_parents_unless_gone(self._home.files, self.path_of(0), self.folder.parent.parent)
        self.end_sync(upto)

    def begin_sync(self) -> int:
        """The offset up to which a sync that begins now makes entries durable."""
        self.cursor.dirty = False  # before the sync: an entry that comes during it counts for the next
        self._emptied = False
        self._naming = self._files_end  # so does a file
        return self.max_offset

    def end_sync(self, upto: int) -> None:
        if not self._emptied:  # else it was the files of before that were synced
            self._named_upto = self._naming
            self._flushed = max(self._flushed, upto)

    def remove_files_below(self, queue_offset: int) -> list[Path]:
        """Delete the files that hold only entries before `queue_offset`; the last file stays."""
        removed = []
        while len(self.bases) > 1 and self.bases[0] + self.file_size <= queue_offset * ENTRY_SIZE:
            path = self.path_of(self.bases[0])
            self._home.files.remove(path)
            self._home.maps.drop(path)
            self.bases.pop(0)
            removed.append(path)
        return removed

    def empty(self) -> None:
        """Drop every entry; the queue is about to be built again."""
        self._emptied = True
        for base in self.bases:
            self._home.maps.drop(self.path_of(base))
            self._home.files.remove(self.path_of(base))
        self.bases.clear()
        self.resume(0, -1)
        self._named_upto = 0

    def destroy(self) -> None:
        for base in self.bases:
            self._home.maps.drop(self.path_of(base))
        self.bases.clear()
        self.cursor.reset(0, -1)
        self.min_offset = 0
        self._flushed = self._named_upto = self._allocated = 0
        self._home.files.remove_tree(self.folder)
