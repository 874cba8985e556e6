"""Runs a program's main coroutine, on uvloop where the platform has it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


#: Objects made before the collector looks for cycles: requests that wait for the disk are many, and none is a cycle.
_YOUNG = 20_000


#: The allocator's free memory stays with the process up to this: each read is a block of up to 256 KiB that is freed at
#: once, and memory that went back to the kernel comes again page by page, with zeros to be written first.
_KEPT_BYTES = 4 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt


def keep_freed_memory() -> None:
    try:
        library = ctypes.CDLL(None)
    except TypeError:
        return  # Windows: a process has no C library of its own
    mallopt = getattr(library, "mallopt", None)  # another C library has none, or one that does nothing
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)


def run(main: Coroutine[Any, Any, T]) -> T:
    gc.freeze()  # what is imported stays
    gc.set_threshold(_YOUNG)
    keep_freed_memory()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
