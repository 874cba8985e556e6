"""The timers of one second: a chain through the timer log, from the last unit to the first.

The slot says how many there are. Where the chain does not lead to so many units of this second, the slot or a unit is
damaged, and the units are looked for in the whole log.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from sprocketmq.store.timer.log import DELETE, ROLL, UNIT, UNIT_SIZE, TimerLog, TimerUnit
from sprocketmq.store.timer.wheel import NONE, Slot


class BrokenChain(Exception):
    """`position` is where it broke."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class UnitsOfSecond(NamedTuple):
    """Where they are, the last one first; and those of them that delete others."""

    positions: array[int]
    deletions: list[TimerUnit]

    def add(self, position: int, unit: TimerUnit) -> None:
        self.positions.append(position)
        if unit.magic & DELETE and not unit.magic & ROLL:
            self.deletions.append(unit)


def chain_of(log: TimerLog, slot: Slot, precision_ms: int) -> UnitsOfSecond:
    """The units of a slot. Those in files that went with their messages are no more. Raises BrokenChain."""
    found, position, number = UnitsOfSecond(array("q"), []), slot.last, 0
    while position != NONE:
        if position < log.begin:
            return found
        unit = log.get(position)
        if unit is None or unit.time // precision_ms != slot.time or unit.previous >= position:
            raise BrokenChain(position)  # or it would lead astray, or round for ever
        found.add(position, unit)
        number += -1 if unit.magic & DELETE else 1
        position = unit.previous
    if number != slot.number:
        raise BrokenChain(slot.last)
    return found


def search(log: TimerLog, time: int, precision_ms: int) -> UnitsOfSecond:
    """All units of a time, as a slot counts it."""
    found = UnitsOfSecond(array("q"), [])
    for position, units in log.runs(log.begin):
        for number, unit in enumerate(map(TimerUnit._make, UNIT.iter_unpack(units))):
            if unit.time // precision_ms == time:
                found.add(position + number * UNIT_SIZE, unit)
    found.positions.reverse()
    return found
