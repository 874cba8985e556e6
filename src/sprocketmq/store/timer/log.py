"""The timer log: one unit for each timer, in files of a fixed size; and `timercheck`, which says how far all this is.

unit  := size:i32 previous:i64 magic:i32 write_time:i64 delay:i32 commit_offset:i64 record_size:i32 topic_hash:i32
         reserved:i64                                                                                     52 bytes
blank := remaining:i32 0:i64 MAGIC_BLANK                  fills a file to its end
check := read_time:i64 log_position:i64 queue_offset:i64 master_queue_offset:i64 state_version:i64 timestamp:i64
         counter:i64                                                                       in a file of 4096 bytes

`previous` is the position of the unit before it in the same slot, -1 for none; the time is write_time + delay.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sprocketmq.store.files.files import File, Files
from sprocketmq.store.files.layout import base_offset_of, file_name

UNIT = struct.Struct(">iqiqiqiiq")
UNIT_SIZE = UNIT.size
BLANK = struct.Struct(">iqi")
MAGIC_BLANK = -875286124
#: Bits of a unit's magic.
DEFAULT, ROLL, DELETE = 1, 2, 4
FILE_SIZE = 100 << 20
#: Read at once; whole units.
_RUN_BYTES = UNIT_SIZE * 16384

CHECK = struct.Struct(">qqqqqqq")
CHECK_FILE_SIZE = 4096


class TimerUnit(NamedTuple):
    size: int
    previous: int
    magic: int
    write_time: int
    delay: int
    commit_offset: int
    record_size: int
    topic_hash: int
    reserved: int

    @property
    def time(self) -> int:
        return self.write_time + self.delay


class TimerLog:
    def __init__(self, files: Files, folder: Path, file_size: int = FILE_SIZE) -> None:
        self._files = files
        self._folder = folder
        self._file_size = file_size
        self._open: dict[int, File] = {}
        self._bases = sorted(self._load())
        self._named = self._bases[-1:]  # the last file whose name is on disk
        self.end = self._find_end()

    def _load(self) -> Iterator[int]:
        """A file that was cut short is made whole again: what it has lost are zeros, which are no unit."""
        names = self._files.list_dir(self._folder) if self._files.exists(self._folder) else []
        for name in names:
            base = base_offset_of(name)
            if base is not None and base % self._file_size == 0:
                if self._files.size(self._folder / name) < self._file_size:
                    self._files.create(self._folder / name, self._file_size).close()
                yield base

    @property
    def begin(self) -> int:
        return self._bases[0] if self._bases else 0

    def append(self, unit: TimerUnit) -> int:
        """The position of the unit. A full disk is an OSError, and nothing is written then."""
        used = self.end % self._file_size
        if used + UNIT_SIZE + BLANK.size > self._file_size:
            self._file(self.end - used).write(used, BLANK.pack(self._file_size - used, 0, MAGIC_BLANK))
            self.end += self._file_size - used
            used = 0
        base = self.end - used
        if base not in self._bases:
            self._begin_file(base)
        self._file(base).write(used, UNIT.pack(*unit))
        self.end += UNIT_SIZE
        return self.end - UNIT_SIZE

    def get(self, position: int) -> TimerUnit | None:
        """The unit there; None when there is none."""
        base = position - position % self._file_size
        if base not in self._bases or position + UNIT_SIZE > self.end:
            return None
        unit = TimerUnit(*UNIT.unpack(self._file(base).read(position - base, UNIT_SIZE)))
        return unit if unit.size == UNIT_SIZE else None

    def place_of(self, position: int) -> tuple[Path, int]:
        """The file that a position is in, and where in it."""
        at = position % self._file_size
        return self._folder / file_name(position - at), at

    def runs(self, begin: int) -> Iterator[tuple[int, bytes]]:
        """The units from a position on as bytes, with the position of the first, some at a time."""
        for base in self._bases:
            at = max(begin - base, 0)
            last = min(self._units_in(base) * UNIT_SIZE, self.end - base)
            while at < last:
                data = self._file(base).read(at, min(_RUN_BYTES, last - at))
                yield base + at, data
                at += len(data)

    def last(self) -> TimerUnit | None:
        for base in reversed(self._bases):
            count = min(self._units_in(base), max(0, self.end - base) // UNIT_SIZE)
            if count:
                return self.get(base + (count - 1) * UNIT_SIZE)
        return None

    def units_before(self, position: int) -> Iterator[tuple[int, TimerUnit]]:
        """The units that end at a position or before it, with their positions, the last first."""
        for base in reversed(self._bases):
            count = min(self._units_in(base), max(0, position - base) // UNIT_SIZE)
            for number in range(count - 1, -1, -1):
                unit = self.get(base + number * UNIT_SIZE)
                if unit is not None:
                    yield base + number * UNIT_SIZE, unit

    def cut(self, position: int) -> None:
        """Forget every unit from a position on, on disk as well."""
        for base in [base for base in self._bases if base >= position and base != self.begin]:
            self._bases.remove(base)
            if (file := self._open.pop(base, None)) is not None:
                file.close()
            self._files.remove(self._folder / file_name(base))
            self._files.sync_dir(self._folder)
        base = position - position % self._file_size
        if base in self._bases:
            self._clear(self._file(base), position - base)
        self.end = position

    def _clear(self, file: File, at: int) -> None:
        for low, high in file.data_ranges(at, self._file_size):
            for start in range(low, high, _RUN_BYTES):
                file.write(start, bytes(min(_RUN_BYTES, high - start)))
        file.sync()

    def remove_before(self, commit_offset: int) -> None:
        """Delete the files whose messages the log no longer has; the last file stays."""
        while len(self._bases) > 1:
            last = self.get(self._bases[0] + (self._units_in(self._bases[0]) - 1) * UNIT_SIZE)
            if last is None or last.commit_offset >= commit_offset:
                return
            base = self._bases.pop(0)
            if (file := self._open.pop(base, None)) is not None:
                file.close()
            self._files.remove(self._folder / file_name(base))

    def sync(self) -> None:
        """Units and names of files; called on the thread that saves."""
        last = self._bases[-1:]
        for base in self._bases[-2:]:
            self._file(base).sync()
        if last != self._named:
            self._files.sync_dir(self._folder)
            self._files.sync_dir(self._folder.parent)  # the folder's own name is as young as its first file
            self._named = last

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _begin_file(self, base: int) -> None:
        self._files.create(self._folder / file_name(base), self._file_size).close()
        self._bases.append(base)

    def _file(self, base: int) -> File:
        file = self._open.get(base)
        if file is None:
            file = self._open[base] = self._files.open(self._folder / file_name(base))
        return file

    def _units_in(self, base: int) -> int:
        """How many units a file has: they are contiguous, so halving finds the end."""
        file = self._file(base)
        low, high = 0, (self._file_size - BLANK.size) // UNIT_SIZE
        while low < high:
            middle = (low + high) // 2
            if int.from_bytes(file.read(middle * UNIT_SIZE, 4), "big") == UNIT_SIZE:
                low = middle + 1
            else:
                high = middle
        return low

    def _find_end(self) -> int:
        for base in reversed(self._bases):
            if count := self._units_in(base):
                return base + count * UNIT_SIZE
        return self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerCheck:
    """What `timercheck` holds: up to when timers were delivered, and how far the timer topic was read."""

    read_time: int = 0
    log_position: int = 0
    queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    timestamp: int = 0
    counter: int = 0

    def encode(self) -> bytes:
        fields = (
            self.read_time, self.log_position, self.queue_offset, self.master_queue_offset, self.state_version,
            self.timestamp, self.counter,
        )  # fmt: skip
        return CHECK.pack(*fields).ljust(CHECK_FILE_SIZE, b"\0")


def read_timer_check(files: Files, path: Path) -> TimerCheck:
    if not files.exists(path):
        return TimerCheck()
    return decode_timer_check(files.read_bytes(path))


def decode_timer_check(data: bytes) -> TimerCheck:
    """What was not written is 0."""
    data = data.ljust(CHECK.size, b"\0")
    read_time, log_position, queue_offset, master, state, timestamp, counter = CHECK.unpack_from(data)
    return TimerCheck(
        read_time=read_time, log_position=log_position, queue_offset=queue_offset, master_queue_offset=master,
        state_version=state, timestamp=timestamp, counter=counter,
    )  # fmt: skip
