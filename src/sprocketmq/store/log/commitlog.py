"""The CommitLog: every message of every topic, in the order of arrival, in files of one size.

The last file is the only one that is written. Its blocks are allocated in steps ahead of the write position, and it
ends with a blank record when the next message does not fit. With a transient buffer, records are first written to
private memory and copied to the file by `commit`; readers then see what is committed.
"""

from __future__ import annotations

import logging
import mmap
from bisect import bisect_right
from pathlib import Path

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import BLANK_BYTES, MAGIC_BLANK
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import File, Files
from sprocketmq.store.files.layout import Layout, base_offset_of
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.page_cache import is_in_memory, read_ahead, read_singly, unmap_pages
from sprocketmq.store.files.pages import PAGE, clear_file, page_end, space_error
from sprocketmq.store.log.append import Appender

_log = logging.getLogger("sprocketmq.store.log")

_STEP = 4 << 20  # after a crash so much behind the end may have to be searched for records
_READY = 256 << 10  # so much is zeroed at a time while a message waits


class LogSegment:
    """A log file that is written, or was and is not flushed yet."""

    __slots__ = (
        "allocated", "base", "buffer", "committed", "end", "file", "is_new", "is_short", "ready", "synced", "view"
    )  # fmt: skip

    def __init__(self, base: int, file: File, is_new: bool) -> None:
        self.base = base
        self.file = file
        self.view = file.map()
        self.buffer: mmap.mmap | None = None
        self.allocated = 0  # blocks on the disk up to here
        self.ready = 0  # and pages in memory
        self.committed = 0
        self.synced = 0
        self.end = file.size  # of what is written, once the next file has begun
        self.is_new = is_new
        self.is_short = False  # of disk: it was said that its blocks come page by page


class CommitLog:
    def __init__(self, files: Files, maps: MapCache, layout: Layout, file_size: int, transient: bool) -> None:
        self._files = files
        self._maps = maps
        self._layout = layout
        self.file_size = file_size
        self.bases: list[int] = []
        self._paths: dict[int, Path] = {}
        self.unflushed: list[LogSegment] = []
        self.appender: Appender | None = None
        self._transient = transient
        self._last: LogSegment | None = None
        self._reads_ahead = True

    def load(self) -> list[tuple[Path, int]]:
        """Find the files; returns those that were shorter than a log file, and how long, now made whole with zeros.

        The last one may be empty: it was made, and the power went. An empty one before others has lost what it had.
        """
        found: dict[int, tuple[Path, int]] = {}
        for folder in self._layout.commit_log_dirs:
            for name in self._files.list_dir(folder):
                base = base_offset_of(name)
                if base is not None and not self._files.is_dir(folder / name):
                    found[base] = (folder / name, self._files.size(folder / name))
        self._check_sizes(found)
        self._paths = {base: path for base, (path, _size) in found.items()}
        self.bases = sorted(found)
        if self.bases and found[self.bases[-1]][1] == 0:
            self._files.remove(self._paths.pop(self.bases.pop()))
        short = [found[base] for base in self.bases if found[base][1] < self.file_size]
        for path, _size in short:
            self._files.create(path, self.file_size).close()
        return short

    def _check_sizes(self, found: dict[int, tuple[Path, int]]) -> None:
        for base, (path, size) in found.items():
            if size > self.file_size or base % self.file_size:
                raise StoreError(f"{path} has {size} bytes, but mappedFileSizeCommitLog is {self.file_size}")

    @property
    def min_offset(self) -> int:
        return self.bases[0] if self.bases else 0

    @property
    def max_offset(self) -> int:
        return self._writer.wrote_offset

    @property
    def _writer(self) -> Appender:
        if self.appender is None:
            raise StoreError("the log is not open for writing")
        return self.appender

    def path_of(self, base: int) -> Path:
        """Where the file was found, for with several folders it may be in any; where it belongs, if there is none."""
        return self._paths.get(base) or self._layout.commit_log_file(base, self.file_size)

    def base_of(self, commit_offset: int) -> int | None:
        """The first byte of the file that holds the offset; None when no file does."""
        at = bisect_right(self.bases, commit_offset) - 1
        if at < 0 or commit_offset >= self.bases[at] + self.file_size:
            return None
        return self.bases[at]

    def view_of(self, base: int) -> memoryview | None:
        """A log file as memory; None when there is no such file."""
        if self._last is not None and base == self._last.base:
            return self._last.view
        if base not in self.bases:
            return None
        return self._maps.get(self.path_of(base), ahead=self._reads_ahead)

    def set_read_ahead(self, on: bool) -> None:
        """Whether the kernel reads more of the log than was asked for: good for catching up, bad for single looks."""
        if on == self._reads_ahead:
            return
        self._reads_ahead = on
        advise = read_ahead if on else read_singly
        for view in [self._maps.mapped(self.path_of(base)) for base in self.bases]:
            if view is not None:
                advise(view)
        if self._last is not None:
            advise(self._last.view)

    def is_in_memory(self, commit_offset: int) -> bool:
        """Whether the byte at an offset can be read without the disk."""
        base = self.base_of(commit_offset)
        view = None if base is None else self.view_of(base)
        return view is None or base is None or is_in_memory(view, commit_offset - base)

    def open_at(self, offset: int) -> None:
        """Go on writing at `offset`, in its file or in a new one."""
        base = offset - offset % self.file_size
        segment = self._open_segment(base, is_new=base not in self.bases)
        segment.committed = offset - base  # what an earlier run wrote is in the file already
        self._begin(segment)
        self._place(offset - base)

    def make_room(self, size: int) -> None:
        """Called by the appender: room for `size` bytes and a blank record after them."""
        writer = self._writer
        try:
            self._open_written()
            if size + BLANK_BYTES > self.file_size - writer.position:
                self._roll()
            self._allocate(writer.position + size + BLANK_BYTES)
            self._place(writer.position)
        except OSError as error:
            raise space_error(error, self.path_of(writer.base)) from error

    def append_run(self, run: memoryview) -> None:
        """Write records as another log has them; they fit into the file that is written, with a blank after them."""
        writer = self._writer
        try:
            self._open_written()
            end = writer.position + len(run)
            self._allocate(min(end + BLANK_BYTES, self.file_size))
        except OSError as error:
            raise space_error(error, self.path_of(writer.base)) from error
        segment = self._current
        target = segment.view if segment.buffer is None else memoryview(segment.buffer)
        target[writer.position : end] = run
        BAD_PAGES.check_write()
        self._place(end)

    def end_file(self) -> None:
        """The other log ends its file here: close this one with the same blank record, and begin the next."""
        writer = self._writer
        try:
            self._open_written()
            self._roll()
        except OSError as error:
            raise space_error(error, self.path_of(writer.base)) from error

    def _open_written(self) -> None:
        """The file where the writer is: none is open after a start, nor when a roll was ended on its way."""
        if self._last is None or self._last.base != self._writer.base:
            self.open_at(self._writer.wrote_offset)

    def _open_segment(self, base: int, is_new: bool) -> LogSegment:
        """All that can fail of beginning a file; nothing has changed when it does."""
        file = self._files.create(self.path_of(base), self.file_size)
        segment = LogSegment(base, file, is_new)
        if not self._reads_ahead:
            read_singly(segment.view)
        if self._transient:
            segment.buffer = mmap.mmap(-1, self.file_size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return segment

    def _begin(self, segment: LogSegment) -> None:
        """The file is the one that is written from now on: last of all, so that nothing is written to one that is not
        flushed. The flush thread may look at any moment of this.
        """
        self.unflushed.append(segment)
        if segment.is_new:
            self.bases.append(segment.base)
        self._last = segment

    def _place(self, position: int) -> None:
        segment = self._current
        view = segment.view if segment.buffer is None else memoryview(segment.buffer)
        self._writer.place(view, segment.base, position, segment.ready)

    @property
    def _current(self) -> LogSegment:
        if self._last is None:
            raise StoreError("the log has no file to write to")
        return self._last

    def _allocate(self, end: int) -> None:
        segment = self._current
        if end > segment.allocated:
            self._allocate_blocks(segment, end)
        if end > segment.ready:
            self._make_ready(segment, end)

    def _allocate_blocks(self, segment: LogSegment, end: int) -> None:
        start = segment.allocated or self._writer.position // PAGE * PAGE
        try:
            wanted = min(self.file_size, max(end, start + _STEP))
            segment.file.allocate(start, wanted)
        except OSError as error:
            wanted = min(self.file_size, page_end(end))  # the last blocks of a full disk still count
            segment.file.allocate(start, wanted)
            if not segment.is_short:
                segment.is_short = True
                path, why = self.path_of(segment.base), error.strerror or error
                _log.warning("%s: no %d bytes ahead of the log, so page by page: %s", path, _STEP, why)
        segment.allocated = wanted

    def _make_ready(self, segment: LogSegment, end: int) -> None:
        """Pages for what is written next; with a buffer they come by `commit`."""
        if segment.buffer is not None:
            segment.ready = segment.allocated
            return
        start = max(segment.ready, page_end(self._writer.position))
        wanted = min(segment.allocated, max(end, start + _READY))
        segment.file.ready(start, wanted)
        segment.ready = wanted

    def _roll(self) -> None:
        """Close the file with a blank record and begin the next; one that cannot be made leaves this one open."""
        writer, segment = self._writer, self._current
        self._allocate(writer.position + BLANK_BYTES)
        following = self._open_segment(segment.base + self.file_size, is_new=True)
        left = self.file_size - writer.position
        blank = left.to_bytes(4, "big") + MAGIC_BLANK.to_bytes(4, "big", signed=True)
        target = segment.view if segment.buffer is None else memoryview(segment.buffer)
        target[writer.position : writer.position + BLANK_BYTES] = blank
        BAD_PAGES.check_write()
        segment.end = writer.position + BLANK_BYTES
        writer.place(None, following.base, 0, 0)  # first: a flush that sees the new file knows where it begins
        self._begin(following)

    @property
    def store_timestamp(self) -> int:
        """The store time of the last message written."""
        return self._writer.store_timestamp

    def commit(self, segment: LogSegment, upto: int) -> None:
        """Copy a segment's buffered bytes below the offset `upto` to its file; called on the flush thread."""
        end = min(upto - segment.base, segment.end)
        if segment.buffer is None or end <= segment.committed:
            return
        fresh = memoryview(segment.buffer)[segment.committed : end]
        segment.file.write(segment.committed + BLANK_BYTES, fresh[BLANK_BYTES:])
        segment.file.write(segment.committed, fresh[:BLANK_BYTES])  # the first head last, as within one record
        first, last = segment.committed // PAGE * PAGE, end // PAGE * PAGE
        segment.committed = end
        if last > first:
            segment.buffer.madvise(mmap.MADV_DONTNEED, first, last - first)

    def sync(self, segment: LogSegment, upto: int) -> None:
        """Make a segment's bytes below the offset `upto` durable; called on the flush thread.

        Of a file that was begun after `upto` was taken nothing counts.
        """
        end = min(max(0, upto - segment.base), segment.end)
        if segment.buffer is None:
            unmap_pages(segment.view, segment.synced, end)
        segment.file.sync()
        segment.synced = end

    def flushed(self, segment: LogSegment, upto: int) -> None:
        """A segment was synced when the log ended at `upto`; one that ends before that is done with."""
        if segment.base + self.file_size <= upto and segment is not self._last:
            self.unflushed.remove(segment)
            segment.file.close()

    def bytes_at(self, commit_offset: int, size: int) -> bytes | None:
        """The bytes at an offset, when they are in one file of the log or in its buffer. Raises StoreCorrupt for an
        unreadable page.
        """
        base = self.base_of(commit_offset)
        if base is None or commit_offset - base + size > self.file_size:
            return None
        buffered = self._buffered(base, commit_offset - base, size) if self._transient else None
        if buffered is not None:
            return buffered
        view = self.view_of(base)
        if view is None:
            return None
        found = bytes(view[commit_offset - base : commit_offset - base + size])
        BAD_PAGES.check()
        return found

    def _buffered(self, base: int, at: int, size: int) -> bytes | None:
        """What is in a buffer alone. It is copied first: a commit gives pages back when `committed` is behind them."""
        for segment in list(self.unflushed):
            if segment.base == base and segment.buffer is not None:
                found = segment.buffer[at : at + size]
                return found if at >= segment.committed else None
        return None

    def overwrite(self, commit_offset: int, data: bytes) -> File:
        """Write over damaged bytes of one file; the caller syncs the file, on any thread, and closes it."""
        base = self.base_of(commit_offset)
        if base is None or commit_offset - base + len(data) > self.file_size:
            raise StoreError(f"the log has no file for {len(data)} bytes at {commit_offset}")
        file = self._files.open(self.path_of(base))
        try:
            file.write(commit_offset - base, data)
        except BaseException:
            file.close()
            raise
        return file

    @property
    def max_known(self) -> int:
        """Behind the last byte of the last file."""
        return self.bases[-1] + self.file_size if self.bases else 0

    def cut(self, end: int) -> None:
        """The log ends at `end`: later files go, and what is behind it in its file becomes zeros, durably."""
        for base in [base for base in self.bases if base >= end and base > self.min_offset]:
            self.bases.remove(base)
            self._maps.drop(self.path_of(base))
            self._files.remove(self.path_of(base))
            self._files.sync_dir(self.path_of(base).parent)
        base_of_end = self.base_of(end)
        if base_of_end is not None:
            clear_file(self._files, self.path_of(base_of_end), end - base_of_end)

    def move_to(self, folder: Path) -> None:
        """Every file goes to another folder, durably, the last one first: what is left at any moment is a log."""
        for base in reversed(self.bases.copy()):
            path = self.path_of(base)
            self._files.rename(path, folder / path.name)
            self._files.sync_dir(folder)
            self._files.sync_dir(path.parent)
            self.bases.remove(base)
            self._paths.pop(base, None)
            self._maps.drop(path)

    def free_rest(self) -> None:
        """Give back the blocks allocated ahead: who opens the log next need not look there for records."""
        segment = self._last
        if segment is not None:
            start = page_end(self._writer.position)
            if start < segment.allocated:
                segment.file.free(start, self.file_size)

    def remove_first(self) -> Path:
        """Delete the oldest file. One that cannot be deleted is served as before."""
        path = self.path_of(self.bases[0])
        self._maps.drop(path)  # first: a map, too, keeps the blocks of a file that is removed
        self._files.remove(path)
        self._paths.pop(self.bases.pop(0), None)
        return path

    def close(self) -> None:
        for segment in self.unflushed:
            segment.file.close()
        self.unflushed.clear()
        self._last = None
