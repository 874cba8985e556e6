"""The disk as the store sees it: whoever opens, maps, allocates, syncs, renames or removes files asks `Files`.

A test stands in for the disk by implementing `Files` and `File`; nothing else in the store opens a file. Rules that
hold for every implementation:

- a created file has its full apparent size at once and reads as zeros; its blocks come with `allocate`,
  which raises OSError(ENOSPC) where a store through a sparse map would kill the process;
- what is stored through a map or by `write` survives a power cut only after `sync` of that file, and a
  created, renamed or removed name only after `sync_dir` of its folder;
- `sync` and `sync_dir` may be called from a worker thread, the rest belongs to the owner of the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """One open file."""

    path: Path
    size: int

    def map(self, *, writable: bool = True) -> memoryview:
        """The whole file as memory. It stays valid for as long as the view or a slice of it lives."""
        ...

    def allocate(self, start: int, end: int) -> None:
        """Give the bytes from `start` to `end` blocks on the disk; a full disk is an OSError here."""
        ...

    def ready(self, start: int, end: int) -> None:
        """Have the memory of allocated blocks at hand, which hold zeros, for stores through the map."""
        ...

    def free(self, start: int, end: int) -> None:
        """Give back the blocks between `start` and `end`, which hold zeros and go on reading as zeros."""
        ...

    def data_ranges(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of [start, end) that may hold other bytes than zero."""
        ...

    def read(self, at: int, size: int) -> bytes: ...

    def write(self, at: int, data: Buffer) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Files(Protocol):
    def create(self, path: Path, size: int) -> File:
        """A new file of `size` zero bytes, its folders made; one that exists already is opened and resized."""
        ...

    def open(self, path: Path, *, writable: bool = True) -> File: ...

    def read_bytes(self, path: Path) -> bytes: ...

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        """Replace the whole content in place; for atomic replacement write beside, then `rename`."""
        ...

    def rename(self, source: Path, target: Path) -> None: ...

    def remove(self, path: Path) -> None:
        """Remove a file; one that is not there is no error."""
        ...

    def remove_tree(self, path: Path) -> None: ...

    def make_dirs(self, path: Path) -> None: ...

    def sync_dir(self, path: Path) -> None: ...

    def sync_all(self, path: Path) -> None:
        """Sync everything on the file system that holds `path`: names, sizes and bytes."""
        ...

    def list_dir(self, path: Path) -> list[str]:
        """The names in a folder, sorted; none where there is no folder."""
        ...

    def exists(self, path: Path) -> bool: ...

    def is_dir(self, path: Path) -> bool: ...

    def size(self, path: Path) -> int: ...

    def modified_ms(self, path: Path) -> int: ...

    def disk_usage(self, path: Path) -> tuple[int, int]:
        """(used, total) bytes of the partition that holds `path`; what is kept for the system alone is in neither.

        So `df` and RocketMQ count. Else a disk looks full that has been reserved for, and not written to.
        """
        ...

    def lock(self, path: Path) -> Lock:
        """Own the directory that `path` is in, or StoreLocked."""
        ...


def sync_unless_gone(files: Files, path: Path) -> None:
    """Sync a file, on another thread than the one that deletes: what is gone needs no sync."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return
    try:
        file.sync()
    finally:
        file.close()


def sync_parents_unless_gone(files: Files, path: Path, root: Path) -> None:
    """As `sync_parents`; who deletes a folder makes that durable itself."""
    with suppress(FileNotFoundError):
        sync_parents(files, path, root)


def sync_parents(files: Files, path: Path, root: Path) -> None:
    """Make the names on the way from `root` to `path` durable, innermost first."""
    for folder in _parents_within(path, root):
        files.sync_dir(folder)


def _parents_within(path: Path, root: Path) -> Iterator[Path]:
    for folder in path.parents:
        yield folder
        if folder == root:
            return
