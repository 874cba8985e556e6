"""Where the log of a store begins and ends, found without working its recovery out.

Records are followed head by head from the last file that was whole at the checkpoint, which takes nanoseconds each.
The log ends where the run of them does, if nothing but zeros lies behind: so it is in a store that was closed, that a
broker has open, or whose broker died. What a power cut may leave behind the end only recovery can judge, and then
`StoreView` is asked.

begin .. settled    was safe at the checkpoint: it is in its queues, and what is not whole there is damage
settled .. end      came later: queues may not know it yet; empty after a clean stop
"""

from __future__ import annotations

from typing import NamedTuple

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.record import BLANK, WHOLE
from sprocketmq.store.files.checkpoint import decode_checkpoint
from sprocketmq.store.view.log import LogFile, LogView
from sprocketmq.store.view.recovery import crash_start
from sprocketmq.store.view.scan_skim import skim
from sprocketmq.store.view.source import checked, read_whole
from sprocketmq.store.view.store import FOREVER, StoreView


class Bounds(NamedTuple):
    begin: int
    settled: int
    end: int


def find_bounds(log: LogView) -> Bounds:
    source = log.source
    if not log.files:
        return Bounds(0, 0, 0)
    checkpoint = decode_checkpoint(read_whole(source, "checkpoint") or b"")
    crashed = any(entry.name == "abort" for entry in source.entries(""))
    start = crash_start(log, checkpoint)
    run = _Run(log, start, checkpoint.recovery_timestamp if crashed else FOREVER)
    if run.ends_the_log():
        return Bounds(log.min_offset, run.late if run.late >= 0 else run.end, run.end)
    end = StoreView(source).log_end
    return Bounds(log.min_offset, min(start, end) if crashed else end, end)


class _Run:
    """The whole records from `start` on: they end at `end`, and the first one stored after `limit` is at `late`."""

    def __init__(self, log: LogView, start: int, limit: int) -> None:
        self._log, self._limit = log, limit
        self.end, self.late = start, -1
        for file in log.files:
            if file.end > start and not (file.base <= self.end and self._follow(file)):
                break

    def ends_the_log(self) -> bool:
        """Whether nothing lies behind; a record that is there now was written by a running broker meanwhile."""
        behind = [file for file in self._log.files if file.end > self.end]
        return all(self._log.is_empty(max(self.end, file.base), file.end) for file in behind) or self._goes_on()

    def _goes_on(self) -> bool:
        try:
            return self._log.record(self.end).store_timestamp > self._limit
        except StoreCorrupt:
            return False

    def _follow(self, file: LogFile) -> bool:
        """Whether the records go on to the file's end."""
        while self.end < file.end:
            kind, length, late = checked(skim(self._next(file), self.end, self._limit if self.late < 0 else -1))
            if self.late < 0 and late < length:
                self.late = self.end + late
            self.end += length
            if kind == BLANK:
                self.end = file.end
            elif kind != WHOLE and length == 0:
                return False
        return True

    def _next(self, file: LogFile) -> memoryview:
        """To the file's end when it is mapped; else a window, in which the last record may be cut off."""
        length = max(self._log.source.window, self._log.size_at(self.end))
        return self._log.read(self.end, min(file.end - self.end, length))
