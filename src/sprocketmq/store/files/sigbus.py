"""SIGBUS: what the kernel sends when a page of a mapped file cannot be read from the disk, or has no room on it.

The access cannot be undone, but it can be given another page: the handler moves the file's page out of the way, puts
one of zeros in its place, and notes both; then the access is repeated, and ends. Whoever made it asks `BAD_PAGES`
before the bytes are used, gets an error with path and offset, and the file's page is moved back.

The handler is a Python function. It can be, because this signal is no interruption: it comes at an access to mapped
memory, on the thread that makes it, where no lock of the allocator is held; ctypes takes the GIL if it was given away.
A page that is not of a guarded folder ends the process, as it would without this module.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
import signal
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sprocketmq.store.files.bad_pages import BAD_PAGES

_log = logging.getLogger("sprocketmq.store.files")

PAGE = mmap.PAGESIZE
_SA_SIGINFO = 4
_MAP_FIXED = 0x10
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_FAILED = ctypes.c_void_p(-1).value
_SI_ADDR_AT = 16
_ZEROS_NAME = "unreadable-page"

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
)  # fmt: skip
_munmap = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_mremap = _libc.mremap
_mremap.restype = ctypes.c_void_p
_mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _SigAction(ctypes.Structure):
    """`struct sigaction` of 64-bit Linux."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Region(NamedTuple):
    start: int
    end: int
    is_shared: bool
    file_offset: int
    path: str


class _Guard:
    """Installed once, when the first store opens. Both descriptors are opened here: there may be none left later."""

    def __init__(self) -> None:
        self.folders: set[str] = set()
        self._maps = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
        self._zeros = os.memfd_create(_ZEROS_NAME)
        os.ftruncate(self._zeros, PAGE)
        self._before = _SigAction()
        self._callback = _Handler(self._handle)  # kept: the kernel has its address
        action = _SigAction(handler=ctypes.cast(self._callback, ctypes.c_void_p), flags=_SA_SIGINFO)
        if _libc.sigaction(signal.SIGBUS, ctypes.byref(action), ctypes.byref(self._before)) != 0:
            raise OSError(ctypes.get_errno(), "SIGBUS cannot be handled")

    def _handle(self, _signal: int, info: int, _context: int) -> None:
        given = False
        try:
            given = self._give_zeros((ctypes.c_void_p.from_address(info + _SI_ADDR_AT).value or 0) & -PAGE)
        finally:
            if not given:  # the access is repeated, and is for whoever had the signal before
                _libc.sigaction(signal.SIGBUS, ctypes.byref(self._before), None)

    def _give_zeros(self, page: int) -> bool:
        region = self._region_of(page)
        if region is None or not region.is_shared or not region.path.startswith(tuple(self.folders)):
            return False
        aside = _mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if aside == _FAILED or _mremap(page, PAGE, PAGE, _MREMAP_MAYMOVE | _MREMAP_FIXED, aside) == _FAILED:
            return False
        access = mmap.PROT_READ | mmap.PROT_WRITE
        if _mmap(page, PAGE, access, mmap.MAP_PRIVATE | _MAP_FIXED, self._zeros, 0) == _FAILED:
            return False
        offset = region.file_offset + page - region.start
        BAD_PAGES.add(region.path, offset, partial(self._put_back, page, aside))
        return True

    def _put_back(self, page: int, aside: int) -> None:
        """The file's page takes its place again, if the map is still there."""
        region = self._region_of(page)
        if region is None or _ZEROS_NAME not in region.path:
            _munmap(aside, PAGE)
        elif _mremap(aside, PAGE, PAGE, _MREMAP_MAYMOVE | _MREMAP_FIXED, page) == _FAILED:
            raise OSError(ctypes.get_errno(), "a page of a mapped file cannot be put back")

    def _region_of(self, address: int) -> _Region | None:
        os.lseek(self._maps, 0, os.SEEK_SET)
        rest = b""
        while piece := os.read(self._maps, 1 << 16):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if (region := _decode_region(line)).start <= address < region.end:
                    return region
        return None


def _decode_region(line: bytes) -> _Region:
    """A line of /proc/self/maps: `start-end perms offset device inode path`."""
    place, access, offset, _device, _inode, *path = os.fsdecode(line).split(maxsplit=5)
    start, _, end = place.partition("-")
    return _Region(int(start, 16), int(end, 16), access[3] == "s", int(offset, 16), path[0] if path else "")


_guards: list[_Guard] = []


def guard_maps(folders: Iterable[Path]) -> None:
    """From now on an unreadable page of a file below these folders is noted in `BAD_PAGES` and ends nothing."""
    try:
        if not _guards:
            _guards.append(_Guard())
    except OSError as error:  # no /proc, as in some jails: then all is as it is without this module
        _log.warning("a page of the store that cannot be read will end this process: %s", error)
        return
    _guards[0].folders.update(f"{folder.resolve()}/" for folder in folders)
