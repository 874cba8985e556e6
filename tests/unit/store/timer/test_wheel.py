from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.disk import SimDisk, keep_nothing

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.timer.log import UNIT, UNIT_SIZE
from sprocketmq.store.timer.wheel import Slot, TimerWheel

SLOTS = 100


@pytest.fixture
def wheel(tmp_path: Path) -> TimerWheel:
    return TimerWheel(Disk(), tmp_path / "timerwheel", 1000, SLOTS)


def test_a_slot_holds_the_ends_of_its_chain(wheel: TimerWheel) -> None:
    assert wheel.get(5000) == Slot(5, -1, -1, 0, 0)
    wheel.add(5000, 52, 1)
    wheel.add(5999, 104, 1)
    wheel.add(5000, 156, -1)
    assert wheel.get(5500) == Slot(5, 52, 156, 1, 0)
    assert wheel.get(6000).number == 0


def test_a_slot_of_an_earlier_turn_is_empty(wheel: TimerWheel) -> None:
    wheel.add(5000, 52, 1)
    assert wheel.get(5000 + SLOTS * 1000) == Slot(105, -1, -1, 0, 0)
    wheel.add(5000 + SLOTS * 1000, 104, 1)
    assert wheel.get(5000 + SLOTS * 1000) == Slot(105, 104, 104, 1, 0)
    assert wheel.get(5000).number == 0


def test_timers_to_come_are_counted(wheel: TimerWheel) -> None:
    for second in (3, 5, 7, 7):
        wheel.add(second * 1000, 52, 1)
    assert [wheel.timers_from(second * 1000) for second in (0, 4, 7, 8)] == [4, 3, 2, 0]


def test_timers_between_two_times_are_counted_over_the_end_of_the_file(wheel: TimerWheel) -> None:
    wheel.add(1000, 52, 1)  # of the turn before
    for second in (SLOTS - 2, SLOTS - 1, SLOTS, SLOTS + 2, SLOTS + 2):
        wheel.add(second * 1000, 52, 1)
    assert wheel.timers_between((SLOTS - 1) * 1000, (SLOTS + 2) * 1000) == 2
    assert wheel.timers_between(SLOTS * 1000, (SLOTS + 3) * 1000) == 3
    assert wheel.timers_between((SLOTS - 2) * 1000, 1000 * SLOTS * 1000) == 5
    assert wheel.timers_between(SLOTS * 1000, SLOTS * 1000) == 0


def test_what_is_to_come_can_be_cleared(wheel: TimerWheel) -> None:
    for second in (3, 5, 7):
        wheel.add(second * 1000, 52, 1)
    wheel.clear_from(5000)
    assert [slot.time for slot in wheel.written() if slot.number] == [3]


def test_the_wheel_is_kept_in_its_file(tmp_path: Path, wheel: TimerWheel) -> None:
    wheel.add(5000, 52, 1)
    wheel.sync()
    wheel.close()
    again = TimerWheel(Disk(), tmp_path / "timerwheel", 1000, SLOTS)
    assert again.get(5000) == Slot(5, 52, 52, 1, 0)
    assert (tmp_path / "timerwheel").stat().st_size == SLOTS * 32


def test_a_new_wheel_outlives_a_power_cut() -> None:
    disk = SimDisk()
    wheel = TimerWheel(disk, disk.root / "timerwheel", 1000, SLOTS)
    wheel.add(5000, 52, 1)
    wheel.sync()
    assert disk.power_cut(keep_nothing).exists(disk.root / "timerwheel")


def test_slots_that_are_linked_anew_have_blocks() -> None:
    """The disk in memory refuses to sync what was stored into a hole, which is a SIGBUS on a full disk."""
    disk = SimDisk()
    wheel = TimerWheel(disk, disk.root / "timerwheel", 1000, slots=100_000)
    unit = UNIT.pack(UNIT_SIZE, -1, 1, 50_000_000, 0, 0, 0, 0, 0)
    wheel.link([(0, unit)], 0)
    wheel.sync()
    assert wheel.get(50_000_000).last == 0
