"""The log of a broker on a disk that can fail, and what of it outlives a power cut.

Entries below `synced` outlive it, of the others a prefix, as chance has it; epochs are synced whenever they change. The
epochs and the point up to which two logs agree are the real ones. An entry of a transaction is a half, which nobody
sees, or its end, which is visible or is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sprocketmq.protocol.ha.epochs import Epoch, EpochList


@dataclass(frozen=True, slots=True)
class Entry:
    epoch: int
    uid: str
    queue: int = -1  # of what can be read
    ends: str = ""  # the transaction that ends with it


class LogDisk:
    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.synced = 0
        self.epochs = EpochList()
        self.full = False
        #: A sync has failed: nothing is written or synced any more, and what was not synced may be gone.
        self.failed = False
        self._uncut: tuple[int, list[Entry]] | None = None

    # As a store has it, for the real in-sync set.
    @property
    def max_offset(self) -> int:
        return len(self.log)

    @property
    def broken(self) -> bool:
        return self.full or self.failed

    @property
    def epoch_start(self) -> int:
        last = self.epochs.last
        return 0 if last is None else last.start

    def visible(self, queue: int, end: int | None = None) -> list[str]:
        return [entry.uid for entry in self.log[:end] if entry.queue == queue]

    def lead(self, epoch: int) -> None:
        last = self.epochs.last
        if last is None or last.epoch != epoch:  # a restart in its own epoch goes on in it
            self.epochs.drop_from(epoch)
            self.epochs.add(Epoch(epoch, len(self.log)))

    def sync(self) -> None:
        self.synced = len(self.log)
        self._uncut = None

    def cut(self, point: int, *, durably: bool = True) -> None:
        """What is behind `point` is gone; a cut that is not synced is undone by a power cut."""
        if not durably and point < len(self.log):
            self._uncut = point, self.log[point:]
        del self.log[point:]
        self.epochs.cut(point)
        self.synced = min(self.synced, point)

    def lose_power(self, random: Random) -> None:
        kept = random.randint(self.synced, len(self.log))
        del self.log[kept:]
        if self._uncut is not None and kept >= self._uncut[0]:
            point, tail = self._uncut
            self.log += tail[kept - point :]
        self._uncut = None
        self.synced = len(self.log)
        self.epochs.cut(len(self.log) + 1)
