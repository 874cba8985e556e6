"""Mapped memory in the hot modules: interpreted a pointer is the view itself, compiled it is the address in it.

Whoever keeps a pointer keeps the view it came from as well: the memory lives exactly as long as the view.
"""

from __future__ import annotations

import time
from typing import Any

#: What a pointer is while interpreted.
Pointer = Any


def pointer(view: memoryview | None) -> Pointer:
    """The first byte of a view; of None it is a null pointer."""
    return view


def clear(p: Pointer, at: int, length: int) -> None:
    p[at : at + length] = bytes(length)


def ascii_hash(p: Pointer, at: int, end: int, value: int) -> int:
    """Java's String.hashCode goes on from `value` over plain bytes, as an unsigned number."""
    for byte in bytes(p[at:end]):
        value = value * 31 + byte & 0xFFFFFFFF
    return value


def as_int32(value: int) -> int:
    """Java's cast of a long to an int."""
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def ticks_ns() -> int:
    """A clock that only goes forward."""
    return time.monotonic_ns()


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def nanoseconds(seconds: float) -> int:
    """Without what is less than one."""
    return int(seconds * 1e9)
