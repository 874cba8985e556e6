"""The timer wheel: a file with a slot for each second of two weeks, where the timers of that second are found.

slot := time:i64 first:i64 last:i64 number:i32 magic:i32                      32 bytes

`time` counts in units of the precision; a slot whose time is another one is left over from an earlier turn, and empty.
`first` and `last` are positions in the timer log, -1 for none: a slot's timers are a chain that begins with the last.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sprocketmq.store.files import Files

SLOT = struct.Struct(">qqqii")
SLOT_SIZE = SLOT.size
#: Two turns of seven days, in seconds: the wheel never holds more than one of them.
SLOTS = 2 * 7 * 24 * 3600
NONE = -1


class Slot(NamedTuple):
    time: int
    first: int
    last: int
    number: int
    magic: int


class TimerWheel:
    """Slots are written as they change; `sync` makes them durable."""

    def __init__(self, files: Files, path: Path, precision_ms: int, slots: int = SLOTS) -> None:
        self._file = files.create(path, slots * SLOT_SIZE)
        self._precision_ms = precision_ms
        self._slots = slots

    def get(self, time_ms: int) -> Slot:
        time = time_ms // self._precision_ms
        slot = Slot(*SLOT.unpack(self._file.read(self._at(time), SLOT_SIZE)))
        return slot if slot.time == time else Slot(time, NONE, NONE, 0, 0)

    def put(self, slot: Slot) -> None:
        self._file.write(self._at(slot.time), SLOT.pack(*slot))

    def add(self, time_ms: int, position: int, number: int) -> None:
        """A unit at `position` of the timer log belongs to this time: one timer more, or one less when it deletes."""
        slot = self.get(time_ms)
        first = position if slot.first == NONE else slot.first
        self.put(slot._replace(first=first, last=position, number=slot.number + number))

    def clear_from(self, time_ms: int) -> None:
        """Empty every slot from this time on; those before are past."""
        time = time_ms // self._precision_ms
        for slot in list(self.written()):
            if slot.time >= time:
                self.put(Slot(slot.time, NONE, NONE, 0, 0))

    def written(self) -> Iterator[Slot]:
        """Every slot that holds, or held, timers."""
        for low, high in self._file.data_ranges(0, self._file.size):
            low, high = low // SLOT_SIZE * SLOT_SIZE, min(-(-high // SLOT_SIZE) * SLOT_SIZE, self._file.size)
            yield from (
                slot for slot in map(Slot._make, SLOT.iter_unpack(self._file.read(low, high - low))) if slot.time > 0
            )

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()

    def _at(self, time: int) -> int:
        return time % self._slots * SLOT_SIZE
