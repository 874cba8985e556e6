# cython: annotation_typing=False
"""One Arrow column of texts under way: int32 offsets, data, and a bitmap before them when some may be null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, le32, put, put_le32, put_near

#: Allocates a writable buffer of so many bytes.
Room = Callable[[int], Any]


class TextColumn:
    """Room for `count` texts of `size` bytes together. Nobody checks that what is appended fits."""

    def __init__(self, count: int, size: int, nullable: bool, room: Room) -> None:
        self.count = 0
        self.here = 0
        self.offsets = room(count * 4 + 4)
        self.data = room(size + 16)  # for put_near
        self.bits = room(count // 8 + 1) if nullable else None
        # Compiled these are bare addresses, valid while the buffers above live: their memory does not move.
        self.o = pointer(self.offsets)
        self.p = pointer(self.data)
        put_le32(self.o, 0, 0)
        if self.bits is not None:
            self.b = pointer(self.bits)
            for index in range(count // 8 + 1):
                self.b[index] = 0

    def append(self, q: Octets, at: int, length: int) -> None:
        put(self.p, self.here, q, at, length)
        if self.bits is not None:
            self.b[self.count >> 3] |= 1 << (self.count & 7)
        self.ends(self.here + length)

    def append_many(self, q: Octets, q_end: int, s: Octets, first: int, count: int) -> None:
        """Append `count` texts of q. The places s + first, + 16 and so on say where each begins and how long it is."""
        here = self.here
        for entry in range(count):
            place = first + entry * 16
            length = le32(s, place + 4)
            put_near(self.p, here, q, le32(s, place), length, q_end)
            here += length
            put_le32(self.o, (self.count + entry + 1) * 4, here)
        self.here = here
        self.count += count

    def append_null(self) -> None:
        self.ends(self.here)

    def ends(self, here: int) -> None:
        """The text that is written ends at `here`; the next one begins there."""
        self.here = here
        self.count += 1
        put_le32(self.o, self.count * 4, here)

    def buffers(self) -> tuple[Any, Any, Any]:
        return self.bits, self.offsets, self.data


def pointer(buffer: Any) -> Any:
    """Where the buffer's memory is; the buffer has to outlive it."""
    view = memoryview(buffer).cast("B")  # pyarrow says signed bytes
    return cython.address(view[0]) if cython.compiled else view
