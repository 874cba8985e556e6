from __future__ import annotations

from pathlib import Path

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.timer.link import tally_units
from sprocketmq.store.timer.log import BLANK, DELETE, UNIT_SIZE, TimerLog, TimerUnit
from sprocketmq.store.timer.wheel import Slot, TimerWheel

NOW = 1_700_000_000_000
SLOTS = 100
#: Delay, topic hash, magic.
TIMERS = [(4000, 7, 1), (4000, 8, 1), (9000, -7, 1), (4000, 7, 1 | DELETE), (1000, 7, 1), (9500, -7, 1)]


def make_log(folder: Path) -> TimerLog:
    """Two units to a file, so that they come in several runs."""
    log = TimerLog(Disk(), folder, 2 * UNIT_SIZE + BLANK.size)
    for delay, topic_hash, magic in TIMERS:
        log.append(TimerUnit(UNIT_SIZE, -1, magic, NOW, delay, 0, 100, topic_hash, 0))
    return log


def test_units_are_linked_as_if_they_were_added_one_by_one(tmp_path: Path) -> None:
    log = make_log(tmp_path / "timerlog")
    linked = TimerWheel(Disk(), tmp_path / "linked", 1000, SLOTS)
    added = TimerWheel(Disk(), tmp_path / "added", 1000, SLOTS)
    linked.add(NOW + 4000, 999, 1)  # what a wheel that ran ahead may hold
    linked.add(NOW + 1000, 999, 1)
    linked.clear_from(NOW + 2000)
    linked.link(log.runs(log.begin), NOW + 2000)
    positions = [position + at for position, data in log.runs(0) for at in range(0, len(data), UNIT_SIZE)]
    for position, (delay, _, magic) in zip(positions, TIMERS, strict=True):
        if delay >= 2000:
            added.add(NOW + delay, position, -1 if magic & DELETE else 1)
    seconds = [NOW + delay for delay in (4000, 9000)]
    assert [linked.get(second) for second in seconds] == [added.get(second) for second in seconds]
    assert linked.get(NOW + 1000) == Slot((NOW + 1000) // 1000, 999, 999, 1, 0), "what is past stays"
    assert linked.timers_from(NOW + 2000) == 3


def test_timers_are_counted_by_topic(tmp_path: Path) -> None:
    log = make_log(tmp_path / "timerlog")
    tally: dict[int, int] = {}
    for _, units in log.runs(log.begin):
        tally_units(units, NOW + 2000, tally)
    assert tally == {7: 1, 8: 1, -7: 2}
