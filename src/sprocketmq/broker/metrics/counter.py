# cython: annotation_typing=False
"""The counters of the broker's figures; compiled, because every message passes one.

They are numbers of C, so that adding makes no object. The loop's thread alone adds; whoever reads has the GIL, and sees
each number whole, though two of them may be of different moments.
"""

from __future__ import annotations

from typing import Any


class Counter:
    """How many, how many bytes, and how many microseconds it took; `history` is for whoever samples it."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        self.micros = 0
        self.history: Any = None


#: Whoever puts messages of no more bytes than this need not tell their size: most are so small.
SMALL_BYTES = 1024


class LargeMessages:
    """How many messages of a topic were larger than SMALL_BYTES, by the bounds that RocketMQ exports."""

    def __init__(self) -> None:
        self._to_4_kib = self._to_512_kib = self._to_1_mib = self._to_2_mib = self._to_4_mib = self._above = 0

    @property
    def counts(self) -> list[int]:
        return [self._to_4_kib, self._to_512_kib, self._to_1_mib, self._to_2_mib, self._to_4_mib, self._above]

    def note(self, size: int, count: int) -> None:
        """So many messages of `size` bytes each."""
        if size <= 4 << 10:
            self._to_4_kib += count
        elif size <= 512 << 10:
            self._to_512_kib += count
        elif size <= 1 << 20:
            self._to_1_mib += count
        elif size <= 2 << 20:
            self._to_2_mib += count
        elif size <= 4 << 20:
            self._to_4_mib += count
        else:
            self._above += count
