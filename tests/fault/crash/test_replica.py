"""A slave's log that is cut and grows again, while the process is killed, or the power goes, at any moment of it.

The rule: what the slave holds is what its master holds, as far as it goes, and it goes as far as the slave had flushed
and reported, except where a cut was asked for. A cut that was not done is done again after the start.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.fault.disk import PowerCut, SimDisk, keep_everything, keep_nothing, keep_some
from tests.fault.ledger import Ledger, TickingClock, everything, open_store, small_config

from sprocketmq.errors import SprocketError
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

SEEDS = st.integers(0, 2**32 - 1)


def log_bytes(store: MessageStore, end: int) -> bytes:
    """Records alone: behind a blank's head a file holds whatever it does."""
    at, found = store.log.min_offset, bytearray()
    while at < end:
        data = store.reader.bytes_at(at)
        if store.reader.record_at(at) is None or data is None:
            at += store.log.file_size - at % store.log.file_size
        else:
            found += data
            at += len(data)
    return bytes(found)


def ends(store: MessageStore) -> list[int]:
    found, at = [0], store.log.min_offset
    while at < store.log.max_offset:
        record = store.reader.record_at(at)
        at = at + record.size if record else at + store.log.file_size - at % store.log.file_size
        found.append(at)
    return found


class Pair:
    """A master that never fails, and its slave on a disk that does."""

    def __init__(self, mode: FlushDiskType) -> None:
        self.clock = TickingClock()
        self.config = small_config(flush_disk_type=mode)
        self.master_disk, self.disk = SimDisk(), SimDisk()
        self.master = open_store(self.master_disk, small_config(), self.clock)
        self.ledger = Ledger()
        self.reported = 0
        self.open_slave()

    def open_slave(self) -> None:
        self.slave = open_store(self.disk, self.config, self.clock)
        self.replica = Replica(self.slave, self.disk)

    def transfer(self, sizes: list[int]) -> None:
        source = Replica(self.master, self.master_disk)
        for size in sizes:
            piece = source.slice_at(self.replica.received_offset, size)
            if piece is None:
                return
            self.replica.append(piece)

    def flush(self) -> None:
        self.slave.flush()
        self.reported = self.slave.flushed_offset

    def elect_another(self, share: float) -> int:
        """The master is another one from now on, whose log has only the beginning of this; where it ends."""
        places = [end for end in ends(self.master) if end >= 0]
        end = places[int(share * (len(places) - 1))]
        Replica(self.master, self.master_disk).cut(end, "test")
        for _ in range(3):
            self.ledger.put(self.master, 200)
        self.master.flush()
        self.reported = min(self.reported, end)
        return end

    def follow(self, end: int) -> None:
        """What a slave does when its epochs and the master's part at `end`."""
        if self.replica.end_offset > end:
            self.replica.cut(end, "test")

    def agrees(self) -> bool:
        end = self.slave.log.max_offset
        return end <= self.master.log.max_offset and log_bytes(self.slave, end) == log_bytes(self.master, end)

    def start_again(self, disk: SimDisk, cut_to: int | None = None) -> None:
        self.disk = disk
        self.open_slave()
        if cut_to is not None:
            self.follow(cut_to)

    def check(self) -> None:
        end = self.slave.log.max_offset
        assert end <= self.master.log.max_offset
        assert log_bytes(self.slave, end) == log_bytes(self.master, end)
        self.slave.flush()
        assert set(everything(self.slave).items()) <= set(everything(self.master).items())
        assert len(log_bytes(self.slave, end)) >= len(log_bytes(self.master, self.reported))


class Following(RuleBasedStateMachine):
    @initialize(mode=st.sampled_from(FlushDiskType))
    def start(self, mode: FlushDiskType) -> None:
        self.pair = Pair(mode)

    @rule(sizes=st.lists(st.integers(0, 900), min_size=1, max_size=12))
    def send(self, sizes: list[int]) -> None:
        for size in sizes:
            assert self.pair.ledger.put(self.pair.master, size) is not None
        self.pair.master.flush()

    @rule(sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=12))
    def transfer(self, sizes: list[int]) -> None:
        self.pair.transfer(sizes)

    @rule()
    def flush(self) -> None:
        self.pair.flush()

    @rule()
    def checkpoint(self) -> None:
        self.pair.flush()
        self.pair.slave.write_checkpoint()
        self.pair.clock.time += 10_000

    @rule()
    def lose_connection(self) -> None:
        self.pair.replica.forget_incomplete()

    @rule(share=st.floats(0, 1))
    def elect_another(self, share: float) -> None:
        self.pair.follow(self.pair.elect_another(share))

    @rule(share=st.floats(0, 1), step=st.integers(1, 40), seed=SEEDS)
    def lose_power_while_cutting(self, share: float, step: int, seed: int) -> None:
        pair = self.pair
        end = pair.elect_another(share)
        pair.disk.faults.cut_at = pair.disk.faults.steps + step
        with suppress(PowerCut):
            pair.follow(end)
        pair.disk.faults.cut_at = None
        pair.slave.abandon()
        pair.start_again(pair.disk.power_cut(keep_some(Random(seed))), end)

    @rule(seed=SEEDS, share=st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    def lose_power(self, seed: int, share: float) -> None:
        pair = self.pair
        pair.slave.abandon()
        choose = {0.0: keep_nothing, 1.0: keep_everything}.get(share) or keep_some(Random(seed), share=share)
        pair.start_again(pair.disk.power_cut(choose))

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "pair"):
            self.pair.check()


TestFollowing = Following.TestCase
TestFollowing.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("mode", FlushDiskType)
@pytest.mark.parametrize("choose", [keep_nothing, keep_everything, keep_some(Random(7)), keep_some(Random(8))])
def test_a_cut_may_end_at_any_step(mode: FlushDiskType, choose: object) -> None:
    for step in range(1, 200):
        pair = Pair(mode)
        for _ in range(40):
            pair.ledger.put(pair.master, 500)
        pair.master.flush()
        pair.transfer([3000] * 20)
        pair.flush()
        pair.slave.write_checkpoint()
        end = pair.elect_another(0.3)
        pair.disk.faults.cut_at = pair.disk.faults.steps + step
        try:
            pair.follow(end)
        except PowerCut:
            pair.slave.abandon()
        else:
            return
        pair.start_again(pair.disk.power_cut(choose), end)  # type: ignore[arg-type]
        pair.check()
        pair.transfer([3000] * 20)
        pair.flush()
        pair.check()
        assert pair.slave.log.max_offset == pair.master.log.max_offset
    pytest.fail("the cut never ended")


def test_a_disk_that_fails_while_cutting_takes_no_more() -> None:
    pair = Pair(FlushDiskType.ASYNC_FLUSH)
    for _ in range(20):
        pair.ledger.put(pair.master, 500)
    pair.master.flush()
    pair.transfer([3000] * 20)
    end = pair.elect_another(0.3)
    pair.disk.faults.errors[("sync", pair.disk.faults.calls["sync"] + 1)] = errno.EIO
    with pytest.raises(Exception, match="flushed"):
        pair.follow(end)
    assert pair.slave.failure is not None


CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EINTR)


def _follow_another(pair: Pair, end: int) -> None:
    """All that a slave does to its disk: it cuts, takes what the new master has, and flushes."""
    pair.follow(end)
    for _ in range(8):
        pair.transfer([3000] * 3)
        pair.flush()
    pair.slave.write_checkpoint()


def _prepared(mode: FlushDiskType) -> tuple[Pair, int]:
    pair = Pair(mode)
    for _ in range(30):
        pair.ledger.put(pair.master, 500)
    pair.master.flush()
    pair.transfer([3000] * 20)
    pair.flush()
    return pair, pair.elect_another(0.3)


@pytest.mark.parametrize("mode", FlushDiskType)
@pytest.mark.parametrize("ending", ["kill", "power"])
def test_a_call_of_the_disk_that_fails_costs_a_slave_nothing_that_it_reported(mode: FlushDiskType, ending: str) -> None:
    """Each in turn, in one of four ways. Whatever it says, it goes on after a restart and has its master's log."""
    pair, end = _prepared(mode)
    before = pair.disk.faults.entered
    _follow_another(pair, end)
    calls, met = pair.disk.faults.entered - before, set[str]()
    assert calls > 40
    for number in range(1, calls + 1):
        pair, end = _prepared(mode)
        faults = pair.disk.faults
        faults.fail_at, faults.fail_with = faults.entered + number, CODES[number % len(CODES)]
        faults.on_failure = met.add
        with suppress(OSError, SprocketError):
            _follow_another(pair, end)
        faults.fail_at = None
        pair.slave.abandon()
        pair.start_again(pair.disk.kill() if ending == "kill" else pair.disk.power_cut(keep_nothing))
        if not pair.agrees():  # as its epochs would tell
            pair.follow(end)
        pair.check()
        pair.transfer([3000] * 40)
        pair.flush()
        pair.check()
        assert pair.slave.log.max_offset == pair.master.log.max_offset, f"call {number}"
    assert len(met) > 3
