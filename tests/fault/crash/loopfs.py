"""A real ext4 in a loop-mounted image, whose power can be cut.

FS_IOC_SHUTDOWN with NOLOGFLUSH stops the file system at one instant: nothing that is still in memory reaches the image,
neither data nor journal. What was synced before is on it. Needs root, loop devices and mkfs.ext4.

It is mounted in a namespace of its own. A program that begins a namespace takes along what is mounted in the one that
it comes from, and as long as it runs the file system there does not go: mounted again, it would still be shut down.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_FS_IOC_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = struct.pack("I", 2)
_CLONE_NEWNS = 0x20000
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str | None:
    """Why there can be no power cut here; None when there can."""
    if os.geteuid() != 0:
        return "mounting a file system needs root"
    for tool in ("mkfs.ext4", "mount", "umount", "losetup"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    found = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
    return None if found.returncode == 0 else f"no loop device: {found.stderr.strip()}"


@contextmanager
def own_mounts() -> Iterator[None]:
    """What this thread mounts meanwhile is seen by itself, and by the threads and programs that it starts."""
    folder = Path.cwd()
    before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
    try:
        _check(_libc.unshare(_CLONE_NEWNS))
        _run("mount", "--make-rprivate", "/")
        yield
    finally:
        _check(_libc.setns(before, _CLONE_NEWNS))
        os.close(before)
        os.chdir(folder)


class LoopFileSystem:
    """An ext4 of its own at `mount_point`; used as a context manager. Its image is sparse: it costs what is written."""

    def __init__(self, folder: Path, megabytes: int = 1024) -> None:
        self._image = folder / "disk.img"
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir()
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self._mounted = False
        self._namespace = ExitStack()

    def __enter__(self) -> LoopFileSystem:
        self._namespace.enter_context(own_mounts())
        self.mount()
        return self

    def __exit__(self, *_error: object) -> None:
        gc.collect()
        with self._namespace:
            if self._mounted:
                self.unmount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.mount_point))
        self._mounted = True

    def unmount(self) -> None:
        _run("umount", str(self.mount_point))
        self._mounted = False

    def cut_power(self) -> None:
        """From now on nothing reaches the disk. Whoever still writes gets errors."""
        descriptor = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _FS_IOC_SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(descriptor)

    def power_on(self) -> None:
        """The machine starts again: the journal is replayed."""
        self.unmount()
        self.mount()


def _check(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
