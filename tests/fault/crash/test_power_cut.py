"""Random histories on a disk that loses power: whatever subset of the unsynced pages and names survives.

The same disk is looked at by the read-only view before recovery; it must show what the store then serves.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.fault.disk import Faults, PowerCut, SimDisk, keep_everything, keep_nothing, keep_some
from tests.fault.ledger import (
    ROOT,
    TOPICS,
    Ledger,
    TickingClock,
    check,
    check_serves,
    everything,
    open_store,
    small_config,
)
from tests.fault.source import places_in, view_of

from sprocketmq.store.config import FlushDiskType, StoreConfig
from sprocketmq.store.files.layout import file_name
from sprocketmq.store.queue.format import ENTRY_SIZE

SEEDS = st.integers(0, 2**32 - 1)


class PowerCuts(RuleBasedStateMachine):
    """Messages, flushes, checkpoints, clean stops and power cuts in any order."""

    @initialize(mode=st.sampled_from(FlushDiskType))
    def start(self, mode: FlushDiskType) -> None:
        self.config = small_config(flush_disk_type=mode)
        self.clock = TickingClock()
        self.disk = SimDisk()
        self.ledger = Ledger()
        self.store = open_store(self.disk, self.config, self.clock)

    @rule(sizes=st.lists(st.integers(0, 900), min_size=1, max_size=12))
    def send(self, sizes: list[int]) -> None:
        for size in sizes:
            assert self.ledger.put(self.store, size) is not None

    @rule()
    def flush(self) -> None:
        self.ledger.flush(self.store)

    @rule(topic=st.sampled_from(TOPICS))
    def delete_topic(self, topic: str) -> None:
        self.ledger.delete(self.store, topic)

    @rule()
    def flush_queues(self) -> None:
        self.store.queues.flush(0)

    @rule(minutes=st.integers(0, 2))
    def checkpoint(self, minutes: int) -> None:
        self.ledger.flush(self.store)
        self.store.write_checkpoint()
        self.clock.time += minutes * 60_000

    @rule(hours=st.sampled_from([-24, -1, 1]))
    def set_clock(self, hours: int) -> None:
        """Behind its old time all messages get one store time."""
        self.clock.time += hours * 3_600_000

    @rule()
    def stop_and_start(self) -> None:
        self.store.close()
        self.ledger.flush_on_close()
        self.store = open_store(self.disk, self.config, self.clock)
        found = check(self.store, self.ledger)
        assert set(found) == set(self.ledger.sent)

    @rule()
    def kill(self) -> None:
        """The process dies, the kernel lives: nothing at all is lost."""
        self.store.abandon()
        self._come_back(self.disk.power_cut(keep_everything))
        assert set(everything(self.store)) == set(self.ledger.sent)

    @rule(seed=SEEDS, share=st.sampled_from([0.1, 0.5, 0.9]))
    def lose_power(self, seed: int, share: float) -> None:
        self.store.abandon()
        self._come_back(self.disk.power_cut(keep_some(Random(seed), share=share)))

    @rule()
    def lose_everything_unsynced(self) -> None:
        self.store.abandon()
        self._come_back(self.disk.power_cut(keep_nothing))

    @rule(seed=SEEDS, step=st.integers(1, 60))
    def lose_power_twice(self, seed: int, step: int) -> None:
        """The second time while the store recovers from the first."""
        random = Random(seed)
        self.store.abandon()
        disk = self.disk.power_cut(keep_some(random))
        disk.faults = Faults(cut_at=step)
        with suppress(PowerCut):
            open_store(disk, self.config, self.clock).abandon()
        self._come_back(disk.power_cut(keep_some(random)))

    @precondition(lambda self: hasattr(self, "store"))
    @invariant()
    def nothing_unflushed_is_read(self) -> None:
        if self.config.sync_flush:
            assert set(everything(self.store)) <= set(self.ledger.acknowledged)

    def _come_back(self, disk: SimDisk) -> None:
        shown = places_in(view_of(disk))
        self.disk = disk
        self.store = open_store(disk, self.config, self.clock)
        found = check(self.store, self.ledger)
        assert shown == found
        last = max((place.commit_offset for place in found), default=0)
        assert not [place for place in self.ledger.sent if place.commit_offset < last and place not in found]
        self.ledger.power_lost(found)
        check_serves(self.store, self.ledger)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.abandon()


@pytest.mark.parametrize("size", [100, 500, 900])
def test_keys_that_a_recovery_indexed_again_outlive_the_next_power_cut(size: int) -> None:
    """What was found once: the first cut has the index written anew, the second leaves its header empty."""
    found = PowerCuts()
    found.start(FlushDiskType.ASYNC_FLUSH)
    found.send([size] * 11)
    found.send([size] * 5)
    found.checkpoint(1)
    found.flush_queues()
    found.kill()
    found.checkpoint(0)
    found.lose_power(4294967294, 0.5)
    found.lose_power(9488, 0.9)
    found.teardown()


def crashed_with_small_queue_files() -> tuple[SimDisk, Ledger, StoreConfig]:
    """Every queue has eight files, none of them synced; the log is."""
    config = small_config(mapped_file_size_consume_queue=2 * ENTRY_SIZE)
    disk, ledger = SimDisk(), Ledger()
    store = open_store(disk, config)
    for _ in range(60):
        ledger.put(store)
    ledger.flush(store)
    store.abandon()
    return disk, ledger, config


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("kept", ["name", ""])
def test_a_power_cut_takes_any_file_of_a_queue_and_leaves_those_behind_it(number: int, kept: str) -> None:
    disk, ledger, config = crashed_with_small_queue_files()
    disk = disk.power_cut(keep_everything)
    path = ROOT / "consumequeue" / "Alpha" / "1" / file_name(number * config.mapped_file_size_consume_queue)
    if kept:
        disk.damage(path, 0, bytes(config.mapped_file_size_consume_queue))
    else:
        disk.lose(path)
    shown = places_in(view_of(disk, config))
    store = open_store(disk, config)
    assert check(store, ledger) == ledger.sent == shown
    store.close()
    again = open_store(disk, config)
    assert check(again, ledger) == ledger.sent
    again.abandon()


def test_the_next_file_of_a_queue_that_a_power_cut_left_empty_is_given_blocks_as_a_new_one_is() -> None:
    """Its name and length outlived its entries. Stores into a hole are a SIGBUS where the disk is full."""
    disk, ledger, config = crashed_with_small_queue_files()
    disk = disk.power_cut(lambda what: what in ("name", "length"))
    store = open_store(disk, config)  # the disk looks for stores into holes when it is synced
    check(store, ledger)
    store.close()


class StoppedClock(TickingClock):
    """As a clock that was set back looks to the store, whose times never go back; or within one millisecond."""

    def now_ms(self) -> int:
        return self.time


@pytest.mark.parametrize("sent_before", [1, 7, 30])
def test_the_log_ends_at_its_first_hole_though_later_messages_are_as_old_as_the_checkpoint(sent_before: int) -> None:
    config = small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    disk, ledger, clock = SimDisk(), Ledger(), StoppedClock()
    store = open_store(disk, config, clock)
    for _ in range(sent_before):
        ledger.put(store, 50)
    ledger.flush(store)
    store.write_checkpoint()
    lost = ledger.put(store, 700)
    kept = [ledger.put(store, 50) for _ in range(3)]
    assert lost is not None
    store.abandon()
    disk = disk.power_cut(keep_everything)
    base = lost.commit_offset - lost.commit_offset % config.mapped_file_size_commit_log
    disk.damage(ROOT / "commitlog" / file_name(base), lost.commit_offset - base, bytes(512))
    shown = places_in(view_of(disk, config))
    store = open_store(disk, config, clock)
    found = check(store, ledger)
    assert shown == found
    assert not store.report.damaged
    assert found == ledger.acknowledged
    assert all(place not in found for place in kept)
    store.abandon()


def test_damage_to_safe_messages_costs_only_those_that_it_hits_while_the_clock_stands_still() -> None:
    disk, ledger, clock = SimDisk(), Ledger(), StoppedClock()
    store = open_store(disk, None, clock)
    places = [ledger.put(store, 50) for _ in range(9)]
    ledger.flush(store)
    store.write_checkpoint()
    store.abandon()
    hit = places[4]
    assert hit is not None
    disk = disk.power_cut(keep_everything)
    disk.damage(ROOT / "commitlog" / file_name(0), hit.commit_offset, bytes(20))
    store = open_store(disk, None, clock)
    assert set(check(store, ledger, lost=frozenset([hit]))) == set(places) - {hit}
    store.abandon()


def test_what_comes_where_damage_has_cut_safe_messages_is_not_taken_for_safe() -> None:
    """The checkpoint was about what is gone; a clock that was set back gives the same store times again."""
    config = small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    disk, ledger, clock = SimDisk(), Ledger(), TickingClock()
    store = open_store(disk, config, clock)
    places = [ledger.put(store, 50) for _ in range(9)]
    ledger.flush(store)
    store.write_checkpoint()
    store.abandon()
    first = places[3]
    assert first is not None
    disk = disk.power_cut(keep_everything)
    disk.damage(ROOT / "commitlog" / file_name(0), first.commit_offset, bytes(4096))
    clock.time -= 3_600_000
    store = open_store(disk, config, clock)
    ledger = Ledger(dict.fromkeys(everything(store), b""))
    again = [ledger.put(store, 50) for _ in range(3)]
    assert again[0] is not None
    assert again[0].commit_offset == first.commit_offset
    store.abandon()
    disk = disk.power_cut(keep_everything)
    disk.damage(ROOT / "commitlog" / file_name(0), first.commit_offset, bytes(20))
    store = open_store(disk, config, clock)
    assert set(everything(store)) == set(places[:3])
    store.abandon()


def test_an_index_file_that_is_as_old_as_the_one_before_it_is_not_taken_for_safe() -> None:
    disk, ledger, clock = SimDisk(), Ledger(), StoppedClock()
    store = open_store(disk, None, clock)
    index = store.index
    assert index is not None
    while len(index.names) < 3:  # a file is vouched for when it is full, and the last one never
        ledger.put(store, 50)
        ledger.flush(store)
        if len(index.names) == 2:
            store.write_checkpoint()
    store.abandon()
    name = index.names[1]
    disk = disk.power_cut(keep_everything)
    disk.damage(ROOT / "index" / name, 512, bytes(index.file_size - 512))  # its header and its slots outlive it
    store = open_store(disk, None, clock)
    check(store, ledger)
    store.abandon()


TestPowerCuts = PowerCuts.TestCase
TestPowerCuts.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
