"""Runs a program's main coroutine, on uvloop where the platform has it."""

from __future__ import annotations

import asyncio
import gc
import sys
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

#: Seconds for which another thread may keep the loop from going on. Tables are encoded beside the loop by threads that
#: never rest; with Python's 5 ms, and with half a millisecond, whoever asks in the meantime feels each save.
_THREAD_TURN = 0.00005

#: The allocator's free memory stays with the process up to this: each read is a block of up to 256 KiB that is freed at
#: once, and memory that went back to the kernel comes again page by page, with zeros to be written first.
_KEPT_BYTES = 4 << 20
#: One thread does nearly all the work. Each further arena would reserve 64 MiB of address space, which may be bounded.
_ARENAS = 2
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's mallopt


def keep_freed_memory() -> None:
    import ctypes  # for programs of ours alone, not for those that a client's loop runs in

    try:
        library = ctypes.CDLL(None)
    except TypeError:
        return  # Windows: a process has no C library of its own
    mallopt = getattr(library, "mallopt", None)  # another C library has none, or one that does nothing
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_ARENA_MAX, _ARENAS)


def run(main: Coroutine[Any, Any, T]) -> T:
    gc.freeze()  # what is imported stays
    gc.set_threshold(_YOUNG)
    sys.setswitchinterval(_THREAD_TURN)
    keep_freed_memory()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
