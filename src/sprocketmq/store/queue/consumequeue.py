"""One ConsumeQueue: the entries of a topic's queue, in files of a fixed number of entries.

The files are found by their names; the entries count from the logical queue's first byte, so entry n is at byte
n * 20 whether or not older files are still there. `min_offset` is not stored anywhere: it is the first entry whose
record the log still has. Where a queue that was found on disk begins and ends, ends.py tells.

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
from sprocketmq.store.queue.cursor import QueueCursor
from sprocketmq.store.queue.format import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, QueueEntry, decode_entry

_MAX_STEP = 256 << 10


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
        return self.entry_at(base, at - base)

    def entry_at(self, base: int, at: int) -> QueueEntry:
        """Of a file that is there."""
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

    def read_first(self, size: int) -> bytes:
        """The first bytes of the first file; read, for a store that opens asks this of every queue and maps are few."""
        file = self._home.files.open(self.path_of(self.bases[0]), writable=False)
        try:
            return file.read(0, min(size, self.file_size))
        finally:
            file.close()

    @property
    def is_full(self) -> bool:
        """Whether its last file has no room for another entry."""
        return 0 < self.max_offset * ENTRY_SIZE == self._files_end

    def record_end(self, queue_offset: int) -> int:
        """Behind the record of an entry; -1 for a filler or none at all."""
        entry = self.raw_entry(queue_offset)
        return -1 if entry is None or entry.is_filler else entry.commit_offset + entry.size

    def raw_entry(self, queue_offset: int) -> QueueEntry | None:
        """What is on disk at an offset, whether or not the queue reaches that far."""
        at = queue_offset * ENTRY_SIZE
        base = at - at % self.file_size
        return self.entry_at(base, at - base) if queue_offset >= 0 and base in self.bases else None

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
            self.resume(end, self.record_end(end - 1))
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
