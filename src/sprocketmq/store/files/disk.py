"""The disk of the operating system, as `Files` and `File`."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sprocketmq.store.files.files import Buffer
from sprocketmq.store.files.lock import StoreLock

_libc = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_LARGE_BYTES = 16 << 20
_ZEROS = bytes(64 << 10)  # as much as one piece of the page cache holds: larger ones are scarce, smaller ones cost more
_fallocate = _libc.fallocate
_fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


class DiskFile:
    """A file of the operating system; the map keeps its own descriptor, so both may be dropped in any order."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor

    def map(self, *, writable: bool = True) -> memoryview:
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        return memoryview(mmap.mmap(self._descriptor, self.size, access=access))

    def allocate(self, start: int, end: int) -> None:
        os.posix_fallocate(self._descriptor, start, end - start)

    def ready(self, start: int, end: int) -> None:
        """Writing zeros takes the kernel a third of what page faults take, which are as many as pages."""
        for at in range(start, end, len(_ZEROS)):
            os.pwrite(self._descriptor, _ZEROS[: end - at], at)

    def free(self, start: int, end: int) -> None:
        # A file system that cannot do it keeps the blocks: nothing is lost but the space.
        _fallocate(self._descriptor, _PUNCH_HOLE | _KEEP_SIZE, start, end - start)

    def data_ranges(self, start: int, end: int) -> list[tuple[int, int]]:
        ranges = []
        while start < end:
            try:
                start = os.lseek(self._descriptor, start, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but holes up to the end
                    break
                raise
            stop = os.lseek(self._descriptor, start, os.SEEK_HOLE)
            if start < end:
                ranges.append((start, min(stop, end)))
            start = stop
        return ranges

    def read(self, at: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, at)

    def write(self, at: int, data: Buffer) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written

    def sync(self) -> None:
        os.fdatasync(self._descriptor)  # releases the GIL, which mmap.flush does not

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


class Disk:
    """`Files` of the operating system."""

    def create(self, path: Path, size: int) -> DiskFile:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(descriptor, size)
        except OSError:
            os.close(descriptor)
            raise
        return DiskFile(path, descriptor)

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        return DiskFile(path, os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC))

    def read_bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        file = self.create(path, len(data))
        try:
            file.write(0, data)
            if sync:
                file.sync()
        finally:
            file.close()

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        """The blocks of a large file are freed on a thread: a gigabyte takes a quarter of a second."""
        with suppress(FileNotFoundError), _freed_later(path):
            path.unlink()

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def make_dirs(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def sync_dir(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_all(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _libc.syncfs(descriptor) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(path))
        finally:
            os.close(descriptor)

    def list_dir(self, path: Path) -> list[str]:
        try:
            return sorted(os.listdir(path))  # noqa: PTH208 - names alone, without a Path for each of 80,000 queues
        except (FileNotFoundError, NotADirectoryError):
            return []

    def exists(self, path: Path) -> bool:
        return path.exists()

    def is_dir(self, path: Path) -> bool:
        return path.is_dir()

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def modified_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def disk_usage(self, path: Path) -> tuple[int, int]:
        usage = shutil.disk_usage(path)
        return usage.used, usage.used + usage.free

    def lock(self, path: Path) -> StoreLock:
        return StoreLock(path)


@contextmanager
def _freed_later(path: Path) -> Iterator[None]:
    """A file that is removed meanwhile keeps its blocks as long as it is open: a thread closes it."""
    if path.stat().st_blocks * 512 < _LARGE_BYTES:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        try:
            threading.Thread(target=os.close, args=(descriptor,), name="free-blocks").start()
        except RuntimeError:  # no thread is to be had
            os.close(descriptor)
