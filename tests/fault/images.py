"""A store of several files of each kind on a SimDisk, to be damaged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fault.disk import SimDisk
from tests.fault.ledger import ROOT, Ledger, Place, TickingClock, open_store, small_config

from sprocketmq.store.config import StoreConfig

CHECKPOINT = ROOT / "checkpoint"
ABORT = ROOT / "abort"


@dataclass(frozen=True)
class Image:
    """A disk and what was acknowledged on it. Every test damages a copy."""

    disk: SimDisk
    ledger: Ledger
    places: list[Place]
    end: int
    now_ms: int
    config: StoreConfig

    def size_of(self, place: Place) -> int:
        """From a record's start to the next one's, or to the end of its file."""
        at = self.places.index(place)
        after = self.places[at + 1].commit_offset if at + 1 < len(self.places) else self.end
        file_end = place.commit_offset - place.commit_offset % self.file_size + self.file_size
        return min(after, file_end) - place.commit_offset

    @property
    def file_size(self) -> int:
        return self.config.mapped_file_size_commit_log

    def log_file(self, offset: int) -> Path:
        return ROOT / "commitlog" / f"{offset - offset % self.file_size:020}"

    def overlapping(self, begin: int, end: int) -> frozenset[Place]:
        """The messages that have a byte in [begin, end) of the log."""
        return frozenset(
            place
            for place in self.places
            if place.commit_offset < end and begin < place.commit_offset + self.size_of(place)
        )


def make_image(count: int, *, clean: bool, checkpoint: bool = True, body: int = 100, **settings: object) -> Image:
    """`count` messages, all acknowledged; stopped cleanly, or killed with or without a checkpoint that covers them."""
    disk, ledger, clock = SimDisk(), Ledger(), TickingClock()
    config = small_config(**settings)
    store = open_store(disk, config, clock)
    for _ in range(count):
        assert ledger.put(store, body) is not None
    ledger.flush(store)
    places, end = list(ledger.acknowledged), store.log.max_offset
    if clean:
        store.close()
    else:
        if checkpoint:
            store.write_checkpoint()
        store.abandon()
    return Image(disk.copy(), ledger, places, end, clock.time + 60_000, config)


def copy_of(ledger: Ledger) -> Ledger:
    """So that what one test sends does not show in the next."""
    return Ledger(dict(ledger.sent), dict(ledger.acknowledged), dict(ledger.waiting), dict(ledger.keys), ledger.number)
