"""Epochs of a log: which master wrote the bytes from which offset on.

Each epoch begins where the one before ends, and the last goes up to the end of the log. Numbers and starts both grow.
An epoch in which nothing was written takes no room: the next one that begins at the same offset replaces it, on the
master and on every slave alike. RocketMQ refuses the next one instead, so that a master may lack its own epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from sprocketmq.errors import FrameError

S = TypeVar("S", bound=Sequence["Epoch"])


class Epoch(NamedTuple):
    epoch: int
    start: int


def check_ascending(epochs: S) -> S:
    """The same epochs, when they can be those of a log."""
    last = Epoch(-1, -1)
    for epoch in epochs:
        if epoch.epoch <= last.epoch or epoch.start <= last.start:
            raise FrameError(f"epoch {epoch.epoch} at {epoch.start} comes after {last.epoch} at {last.start}")
        last = epoch
    return epochs


class EpochList:
    """The epochs of one log, oldest first."""

    def __init__(self, epochs: Sequence[Epoch] = ()) -> None:
        self._epochs = list(check_ascending(epochs))

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self._epochs)

    def __len__(self) -> int:
        return len(self._epochs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochList) and self._epochs == other._epochs

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def all(self) -> tuple[Epoch, ...]:
        return tuple(self._epochs)

    @property
    def last(self) -> Epoch | None:
        return self._epochs[-1] if self._epochs else None

    def add(self, epoch: Epoch) -> bool:
        """Begin an epoch; whether the list has changed. One that is not above the last in both is refused."""
        last = self.last
        if last is not None and (epoch.epoch <= last.epoch or epoch.start < last.start):
            return False
        if last is not None and epoch.start == last.start:
            self._epochs.pop()
        self._epochs.append(epoch)
        return True

    def at(self, offset: int) -> Epoch | None:
        """The epoch of the byte at an offset."""
        return next((epoch for epoch in reversed(self._epochs) if epoch.start <= offset), None)

    def end_of(self, epoch: Epoch, log_end: int) -> int:
        """Where an epoch of this list ends: at the start of the next, the last one at the end of the log."""
        after = self._epochs.index(epoch) + 1
        return self._epochs[after].start if after < len(self._epochs) else log_end

    def drop_from(self, number: int) -> bool:
        """Forget epochs of this number and above, which nobody ever sent; whether there were any."""
        kept = [epoch for epoch in self._epochs if epoch.epoch < number]
        changed, self._epochs = len(kept) != len(self._epochs), kept
        return changed

    def cut(self, log_end: int) -> bool:
        """The log was cut: epochs that began there or behind are gone; whether there were any."""
        kept = [epoch for epoch in self._epochs if epoch.start < log_end]
        changed, self._epochs = len(kept) != len(self._epochs), kept
        return changed

    def expire(self, log_start: int) -> bool:
        """The log begins later now: epochs that end before it are gone; whether there were any."""
        gone = 0
        while gone + 1 < len(self._epochs) and self._epochs[gone + 1].start <= log_start:
            gone += 1
        del self._epochs[:gone]
        return gone > 0


def consistent_point(mine: EpochList, my_end: int, theirs: EpochList, their_end: int) -> int | None:
    """Up to where two logs are the same; None when they have no epoch in common.

    The newest epoch of mine that is theirs too, number and start: one master wrote it for both, so that they can
    differ only in how far they have it.
    """
    known = set(theirs)
    for epoch in reversed(mine.all):
        if epoch in known:
            return min(mine.end_of(epoch, my_end), theirs.end_of(epoch, their_end))
    return None


def is_superseded(mine: EpochList, theirs: EpochList) -> bool:
    """Whether a log without an epoch in common is an older one of the same name, with nothing left that is theirs.

    A log forgets the epochs of files that are gone: what the two once shared is of such an epoch, and ends where the
    oldest that is left begins. One number with two beginnings, or a newer epoch here, is the work of two controllers.
    """
    last, newest = mine.last, theirs.last
    if last is None or newest is None or last.epoch >= newest.epoch:
        return False
    return {each.epoch for each in mine}.isdisjoint(each.epoch for each in theirs)
