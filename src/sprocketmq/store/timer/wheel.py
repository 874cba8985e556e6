"""The timer wheel: a file with a slot for each second of two weeks, where the timers of that second are found.

slot := time:i64 first:i64 last:i64 number:i32 magic:i32                      32 bytes

`time` counts in units of the precision; a slot whose time is another one is left over from an earlier turn, and empty.
`first` and `last` are positions in the timer log, -1 for none: a slot's timers are a chain that begins with the last.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import Files
from sprocketmq.store.timer.link import clear_slots, latest_in, link_units, timers_in

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
    """Slots are written as they change; `sync` makes them durable, and the file's name."""

    def __init__(self, files: Files, path: Path, precision_ms: int, slots: int = SLOTS) -> None:
        self._files = files
        self._is_new = not files.exists(path)
        self._file = files.create(path, slots * SLOT_SIZE)
        self._precision_ms = precision_ms
        self._slots = slots

    def get(self, time_ms: int) -> Slot:
        time = time_ms // self._precision_ms
        slot = Slot(*SLOT.unpack(self._file.read(self._at(time), SLOT_SIZE)))
        return slot if slot.time == time else Slot(time, NONE, NONE, 0, 0)

    def knows(self, time_ms: int) -> bool:
        """Whether there was ever a timer for this time, as far as a later turn has not taken its slot."""
        time = time_ms // self._precision_ms
        return bool(SLOT.unpack(self._file.read(self._at(time), SLOT_SIZE))[0] == time)

    def put(self, slot: Slot) -> None:
        self._file.write(self._at(slot.time), SLOT.pack(*slot))

    def add(self, time_ms: int, position: int, number: int) -> None:
        """A unit at `position` of the timer log belongs to this time: one timer more, or one less when it deletes."""
        slot = self.get(time_ms)
        first = position if slot.first == NONE else slot.first
        self.put(slot._replace(first=first, last=position, number=slot.number + number))

    def clear_from(self, time_ms: int) -> None:
        """Empty every slot from this time on; those before are past."""
        wheel = self._file.map()
        for low, high in self._ranges():
            clear_slots(wheel, low, high, time_ms // self._precision_ms)
        BAD_PAGES.check_write()

    def clear_between(self, begin_ms: int, end_ms: int) -> None:
        """Empty the slots from one time up to another."""
        begin, end = begin_ms // self._precision_ms, end_ms // self._precision_ms
        for time in [slot.time for slot in self.written() if begin <= slot.time < end]:
            self.put(Slot(time, NONE, NONE, 0, 0))

    def link(self, runs: Iterable[tuple[int, bytes]], time_ms: int) -> None:
        """Add the units of the timer log, given by their positions and bytes, whose time is `time_ms` or later."""
        self._file.allocate(
            0, self._file.size
        )  # who knows where they go: a store into a hole is a SIGBUS on a full disk
        wheel = self._file.map()
        for position, units in runs:
            link_units(units, position, wheel, self._precision_ms, time_ms)
        BAD_PAGES.check_write()

    def timers_from(self, time_ms: int) -> int:
        """How many timers rest for this time and later."""
        time = time_ms // self._precision_ms
        return sum(timers_in(self._file.read(low, high - low), time) for low, high in self._ranges())

    def timers_between(self, begin_ms: int, end_ms: int) -> int:
        """How many timers rest for the times from one up to another."""
        begin = begin_ms // self._precision_ms
        end = min(end_ms // self._precision_ms, begin + self._slots)
        found = 0
        for time in (begin, begin - begin % self._slots + self._slots):  # up to the end of the file, and from its start
            if time < end:
                count = min(end - time, self._slots - time % self._slots)
                found += timers_in(self._file.read(self._at(time), count * SLOT_SIZE), begin)
        return found

    def latest_from(self, time_ms: int) -> int:
        """The latest second, this one or a later, that has units; -1 for none."""
        time = time_ms // self._precision_ms
        ranges = self._ranges()
        latest = max((latest_in(self._file.read(low, high - low), time) for low, high in ranges), default=-1)
        return latest * self._precision_ms if latest >= 0 else -1

    def written(self) -> Iterator[Slot]:
        """Every slot that holds, or held, timers."""
        for low, high in self._ranges():
            yield from (
                slot for slot in map(Slot._make, SLOT.iter_unpack(self._file.read(low, high - low))) if slot.time > 0
            )

    def _ranges(self) -> list[tuple[int, int]]:
        """Where there are slots that were written, as bytes of the file."""
        return [
            (low // SLOT_SIZE * SLOT_SIZE, min(-(-high // SLOT_SIZE) * SLOT_SIZE, self._file.size))
            for low, high in self._file.data_ranges(0, self._file.size)
        ]

    def sync(self) -> None:
        self._file.sync()
        if self._is_new:
            self._files.sync_dir(self._file.path.parent)
            self._is_new = False

    def close(self) -> None:
        self._file.close()

    def _at(self, time: int) -> int:
        return time % self._slots * SLOT_SIZE
