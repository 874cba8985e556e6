"""Where a view's bytes come from: a local directory, or any pyarrow filesystem.

Everything is opened for reading only. A local file is mapped, so that reading costs no copy; a remote one is read in
windows of `window` bytes. Paths are strings with `/`, relative to the source's root.

A page of a map may turn out not to be there: the disk cannot read it, or somebody has cut the file short. It then reads
as zeros (sigbus.py), so whoever makes something of the bytes says so by `checked` before it is used.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sprocketmq import extras
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.sigbus import guard_maps

T = TypeVar("T")

#: Folders of a store that may be links to another disk.
_FOLDERS = "", "commitlog", "consumequeue", "consumequeue_ext", "index"
#: How much of a remote file is fetched at once; larger than any record.
REMOTE_WINDOW = 8 * 1024 * 1024


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    size: int
    is_directory: bool


class ByteFile(Protocol):
    """One file, open for reading."""

    size: int

    def read(self, at: int, length: int) -> memoryview:
        """Up to `length` bytes from `at`; fewer at the file's end."""

    def data_ranges(self, at: int, end: int) -> list[tuple[int, int]]:
        """The parts of [at, end) that may hold other bytes than zero."""


class ByteSource(Protocol):
    """A directory tree that can be listed and read."""

    window: int

    def entries(self, directory: str) -> list[Entry]:
        """What a directory holds, by name; empty when there is none."""

    def open(self, path: str) -> ByteFile: ...

    def describe(self, path: str) -> str:
        """The path as a user would name it."""


class LocalFile:
    """A mapping of a local file. It stays valid when the broker deletes the file meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self.size = path.stat().st_size
            self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else b"")
            self.size = len(self._view)

    def read(self, at: int, length: int) -> memoryview:
        return self._view[at : at + length]

    def data_ranges(self, at: int, end: int) -> list[tuple[int, int]]:
        """Files are made at full size and filled later: the holes of a file are most of it."""
        try:
            file = Disk().open(self._path, writable=False)
        except FileNotFoundError:
            return [(at, end)]
        try:
            return file.data_ranges(at, end)
        finally:
            file.close()


class LocalSource:
    """A directory of this machine."""

    window = 1 << 62

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        guard_maps(self.root / folder for folder in _FOLDERS)

    def entries(self, directory: str) -> list[Entry]:
        folder = self.root / directory
        if not folder.is_dir():
            return []
        return sorted(_stat_all(folder.iterdir()))

    def open(self, path: str) -> ByteFile:
        return LocalFile(self.root / path)

    def describe(self, path: str) -> str:
        return str(self.root / path)


def _stat_all(paths: Iterable[Path]) -> list[Entry]:
    found = []
    for path in paths:
        try:
            found.append(Entry(path.name, path.stat().st_size, path.is_dir()))
        except FileNotFoundError:  # a running broker deletes what has expired
            continue
    return found


class ArrowFile:
    """A file of a pyarrow filesystem."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.size = int(file.size())

    def read(self, at: int, length: int) -> memoryview:
        length = max(0, min(length, self.size - at))
        return memoryview(self._file.read_at(length, at) if length else b"")

    def data_ranges(self, at: int, end: int) -> list[tuple[int, int]]:
        return [(at, end)]


class ArrowSource:
    """A directory of any filesystem that pyarrow knows: HDFS, S3, GCS or local."""

    window = REMOTE_WINDOW

    def __init__(self, filesystem: Any, root: str) -> None:
        self.filesystem, self.root = filesystem, root.rstrip("/")

    def entries(self, directory: str) -> list[Entry]:
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self._join(directory), allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return sorted(Entry(info.base_name, info.size or 0, info.type == FileType.Directory) for info in infos)

    def open(self, path: str) -> ByteFile:
        return ArrowFile(self.filesystem.open_input_file(self._join(path)))

    def describe(self, path: str) -> str:
        return self._join(path)

    def _join(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root


class FileWindow:
    """A view of one file that moves along with its reader: one fetch per `window` bytes, none for a mapped file."""

    def __init__(self, file: ByteFile, window: int) -> None:
        self._file, self._window = file, window
        self._at, self._view = 0, memoryview(b"")

    def view(self, at: int, need: int) -> memoryview:
        """The bytes from `at` on, at least `need` of them unless the file ends before."""
        if not self._at <= at <= at + need <= self._at + len(self._view):
            self._at, self._view = at, self._file.read(at, max(need, self._window))
        return self._view[at - self._at :]


def checked(made: T) -> T:
    """What was made of a source's bytes, if they were there; StoreCorrupt names the page that was not."""
    BAD_PAGES.check()
    return made


def is_zero(data: memoryview, step: int = 1 << 20) -> bool:
    """Whether all bytes are zero: nothing was ever written there."""
    return checked(_is_zero(data, step))


def _is_zero(data: memoryview, step: int) -> bool:
    return all(not bytes(data[at : at + step]).strip(b"\0") for at in range(0, len(data), step))


def read_whole(source: ByteSource, path: str) -> bytes | None:
    """A small file's bytes; None when it is not there."""
    try:
        file = source.open(path)
    except FileNotFoundError:
        return None
    return checked(bytes(file.read(0, file.size)))


def open_source(root: Path | str) -> ByteSource:
    """The source for a local path, or for an address such as `s3://bucket/store`."""
    if isinstance(root, Path) or "://" not in root:
        return LocalSource(root)
    extras.need("a remote file system", "pyarrow", "arrow")
    from pyarrow.fs import FileSystem

    filesystem, path = FileSystem.from_uri(root)
    return ArrowSource(filesystem, path)
