"""The CommitLog of a view: its files in order, and a walk over the records in them.

A file's name is the physical offset of its first byte. A record never spans files; a blank record fills the rest of
one. A record is whole when its magic, its lengths and its body's CRC agree and it carries the offset at which it lies.
Where none is, the walk stops (as recovery does), or reports the bytes as `Damage` and goes on at the next whole record.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Generator, Iterator
from typing import NamedTuple

from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol.record.record import MAGIC_BLANK, MAGIC_V1, MAGIC_V2, Record, decode_record
from sprocketmq.store.view.source import ByteFile, ByteSource, FileWindow, checked, is_zero

_HEAD = struct.Struct(">ii")
_MAGICS = tuple(magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2))
_SEARCH = 1024 * 1024
_MAX_RECORD = 64 * 1024 * 1024


class LogFile(NamedTuple):
    """One file of the CommitLog; `size` is what it holds, which damage may have made less than it should."""

    path: str
    base: int
    size: int

    @property
    def end(self) -> int:
        return self.base + self.size


class Damage(NamedTuple):
    """The bytes [begin, end) of the log hold no whole record, though more of the log follows or should."""

    path: str
    base: int
    begin: int
    end: int
    reason: str


class LogView:
    """The files of `commitlog/`, open for reading."""

    def __init__(self, source: ByteSource, files: list[LogFile], file_size: int) -> None:
        self.source, self.files, self.file_size = source, files, file_size
        self._bases = [file.base for file in files]
        self._open: tuple[str, ByteFile] | None = None

    @property
    def min_offset(self) -> int:
        return self._bases[0] if self._bases else 0

    @property
    def limit(self) -> int:
        """The end of the last file: no record lies beyond."""
        return self.files[-1].end if self.files else 0

    def file_at(self, offset: int) -> LogFile | None:
        """The file that holds the byte at `offset`."""
        position = bisect_right(self._bases, offset) - 1
        if position < 0 or offset >= self.files[position].end:
            return None
        return self.files[position]

    def read(self, offset: int, length: int) -> memoryview:
        """Up to `length` bytes from `offset`, not beyond the end of its file."""
        file = self.file_at(offset)
        return self._file(file).read(offset - file.base, length) if file else memoryview(b"")

    def record(self, offset: int, size: int | None = None, *, check_crc: bool = True) -> Record:
        """The whole record at `offset`; of exactly `size` bytes when that is given. Raises StoreCorrupt."""
        data = self.read(offset, size or self.size_at(offset))
        try:
            record = checked(decode_record(data, check_crc=check_crc))
        except BodyError as error:
            raise checked(self._corrupt(offset, str(error))) from None
        if record.commit_offset != offset:
            raise self._corrupt(offset, f"the record here says it lies at {record.commit_offset}")
        if size is not None and record.size != size:
            raise self._corrupt(offset, f"the record has {record.size} bytes, not {size}")
        return record

    def walk(self, begin: int, end: int, *, skip_damage: bool = False) -> Iterator[Record | Damage]:
        """Every whole record that starts in [begin, end). `begin` is a record's or a file's start.

        Without `skip_damage` the walk ends at the first place without one; with it, what lies there is reported.
        """
        at = begin
        for file in self.files:
            if file.end <= at or file.base >= end:
                continue
            if file.base > at > begin or file.base > at >= self.min_offset:
                if not skip_damage:
                    return
                yield Damage(file.path, file.base, at, file.base, "the file before this one is missing or cut short")
            at = yield from self._walk_file(file, max(at, file.base), end, skip_damage)
            if at < file.end and not skip_damage:
                return

    def next_record(self, offset: int, end: int) -> int | None:
        """The first place in [offset, end) of this file where a whole record starts."""
        for begin, stop in self._data_ranges(offset, end):
            at = max(offset, begin - 4)  # its size may be zero in its first bytes, and lie in the hole before
            while at < stop:
                data = checked(bytes(self.read(at, min(_SEARCH + 8, stop - at))))
                for place in _magic_places(data):
                    if self._whole(at + place - 4):
                        return at + place - 4
                at += _SEARCH
        return None

    def is_empty(self, offset: int, end: int) -> bool:
        """Whether [offset, end) of this file holds nothing but zeros."""
        return all(is_zero(self.read(begin, stop - begin)) for begin, stop in self._data_ranges(offset, end))

    def _data_ranges(self, offset: int, end: int) -> list[tuple[int, int]]:
        file = self.file_at(offset)
        if file is None or offset >= end:
            return []
        ranges = self._file(file).data_ranges(offset - file.base, min(end, file.end) - file.base)
        return [(file.base + begin, file.base + stop) for begin, stop in ranges]

    def _walk_file(self, file: LogFile, at: int, end: int, skip_damage: bool) -> Generator[Record | Damage, None, int]:
        """Walks one file; returns where the walk goes on: the file's end, or less where the log ends."""
        stop = min(end, file.end)
        window = FileWindow(self._file(file), self.source.window)
        while at < stop:
            try:
                record = checked(_decode(window, at, file.base))
            except BodyError as error:
                checked(error)
                resumed = self.next_record(at + 1, stop) if skip_damage else None
                if not skip_damage or (resumed is None and self.is_empty(at, stop)):
                    return at
                yield Damage(file.path, file.base, at, resumed or stop, str(error))
                at = resumed or stop
                continue
            if record is None:
                return file.end
            yield record
            at += record.size
        return file.end if stop == file.end else at

    def size_at(self, offset: int) -> int:
        """What the record at `offset` says of its length; it may be wrong, so no more than the file holds is read."""
        head = checked(int.from_bytes(self.read(offset, 4), "big", signed=True))
        return min(max(4, head), _MAX_RECORD)

    def _whole(self, offset: int) -> bool:
        try:
            self.record(offset)
        except StoreCorrupt:
            return False
        return True

    def _file(self, file: LogFile) -> ByteFile:
        if self._open is None or self._open[0] != file.path:
            self._open = file.path, self.source.open(file.path)
        return self._open[1]

    def _corrupt(self, offset: int, reason: str) -> StoreCorrupt:
        file = self.file_at(offset)
        if file is None:
            return StoreCorrupt(self.source.describe("commitlog"), offset, "the log has no such offset")
        return StoreCorrupt(self.source.describe(file.path), offset - file.base, reason)


def _decode(window: FileWindow, at: int, base: int) -> Record | None:
    """The record at `at`; None for the blank one that ends a file. Raises BodyError."""
    head = window.view(at - base, 8)
    size, magic = _HEAD.unpack_from(head) if len(head) >= 8 else (0, 0)
    if magic == MAGIC_BLANK:
        return None
    record = decode_record(window.view(at - base, max(8, size)))
    if record.commit_offset != at:
        raise BodyError(f"the record says it lies at {record.commit_offset}")
    return record


def _magic_places(data: bytes) -> Iterator[int]:
    """Where a record's magic stands, with room for its size before it."""
    places = set()
    for magic in _MAGICS:
        at = data.find(magic, 4)
        while at >= 0:
            places.add(at)
            at = data.find(magic, at + 1)
    return iter(sorted(places))
