"""What one process left in the memory of the kernel, and the next one found there, is on disk before it counts."""

from __future__ import annotations

import errno

import pytest
from tests.fault.disk import SimDisk, keep_nothing
from tests.fault.ledger import Ledger, Place, TickingClock, check, check_serves, everything, open_store, small_config

from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.store import MessageStore


def restarted(disk: SimDisk, clock: TickingClock) -> tuple[SimDisk, MessageStore]:
    after = disk.kill()
    return after, open_store(after, clock=clock)


def check_after_power_cut(disk: SimDisk, clock: TickingClock, found: dict[Place, bytes], ledger: Ledger) -> None:
    """What was `found` by the second process is there for the third, and so is what the ledger has."""
    after = open_store(disk.power_cut(keep_nothing), clock=clock)
    assert everything(after).items() >= found.items()
    check(after, ledger)
    check_serves(after, ledger)


def test_a_kill_and_then_a_power_cut_lose_nothing_that_was_readable_between() -> None:
    disk, ledger, clock = SimDisk(), Ledger(), TickingClock()
    store = open_store(disk, small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH), clock=clock)
    for _ in range(40):  # over several files, none of them flushed
        ledger.put(store, 300)
    disk, again = restarted(disk, clock)
    found = everything(again)
    assert set(found) == set(ledger.sent)
    later = Ledger(dict(ledger.sent), {}, {}, dict(ledger.keys), ledger.number)
    later.put(again, 300)
    later.flush(again)
    store.abandon()
    again.abandon()
    check_after_power_cut(disk, clock, found, later)


@pytest.mark.parametrize("number", range(1, 5))
def test_a_failed_sync_a_restart_and_a_power_cut_lose_nothing_acknowledged(number: int) -> None:
    """The kernel takes the pages for clean and shows them to the next process; only writing them again helps."""
    disk, ledger, clock = SimDisk(), Ledger(), TickingClock()
    store = open_store(disk, clock=clock)
    disk.faults.calls.clear()
    disk.faults.errors = {("sync", number): errno.EIO}
    while store.failure is None:
        ledger.put(store, 300)
        ledger.flush(store)
    disk, again = restarted(disk, clock)
    disk.faults.errors = {}
    found = everything(again)
    later = Ledger(dict(ledger.sent), dict(ledger.acknowledged), {}, dict(ledger.keys), ledger.number)
    for _ in range(10):
        later.put(again, 300)
        later.flush(again)
    store.abandon()
    again.abandon()
    check_after_power_cut(disk, clock, found, later)
