"""What the kernel is told, and asked, of the pages of a mapped file. A view that is no map is left as it is."""

from __future__ import annotations

import ctypes
import mmap

_libc = ctypes.CDLL(None)
_madvise = _libc.madvise  # releases the GIL, which mmap.madvise does not
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def read_singly(view: memoryview) -> memoryview:
    """Tell the kernel that a map's pages are wanted one by one.

    Else the first store into a fresh queue file fills the page cache with megabytes of zeros around it.
    """
    if isinstance(view.obj, mmap.mmap):
        view.obj.madvise(mmap.MADV_RANDOM)
    return view


def read_ahead(view: memoryview) -> memoryview:
    """Tell the kernel to read more than it is asked for, as it does by itself."""
    if isinstance(view.obj, mmap.mmap):
        view.obj.madvise(mmap.MADV_NORMAL)
    return view


def unmap_pages(view: memoryview, start: int, end: int) -> None:
    """Take the whole pages between out of the page table, all at once; the next access brings them back.

    Done before a sync, for that takes pages one by one out of the hands of writers, and for each it interrupts the core
    that runs them.
    """
    first, last = start // mmap.PAGESIZE * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
    if last > first >= 0 and isinstance(view.obj, mmap.mmap):
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        _madvise(address + first, last - first, mmap.MADV_DONTNEED)


def is_in_memory(view: memoryview, at: int) -> bool:
    """Whether reading that byte of a writable map needs no disk; True where nobody can tell."""
    if view.readonly or not isinstance(view.obj, mmap.mmap):
        return True
    page = at // mmap.PAGESIZE * mmap.PAGESIZE
    address = ctypes.addressof(ctypes.c_char.from_buffer(view, page))
    resident = ctypes.c_ubyte(1)
    _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(1), ctypes.byref(resident))
    return bool(resident.value & 1)
