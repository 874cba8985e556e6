# cython: annotation_typing=False
"""The timer wheel and the timer log as bytes: what a start does with a million timers, without an object for each.

The layouts are those of `timerwheel` and `timerlog`; neither function checks more than the length of its bytes.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, i32, i64, put_i32, put_i64

    SLOT_SIZE, UNIT_SIZE, DELETE, NONE = 32, 52, 4, -1


def link_units(units: Octets, position: int, wheel: Octets, precision_ms: int, from_ms: int) -> None:
    """Put the units of the log from `position` on into their slots, as far as their time is not before `from_ms`."""
    have, slots = len(units), len(wheel) // SLOT_SIZE
    if have < UNIT_SIZE or slots == 0:
        return
    # Bare addresses: indexing a typed memory view would check its owner at each of a million reads. Its bytes cannot go
    # as long as the arguments live, and nobody else writes the wheel: the GIL is held from here to the end.
    p = cython.address(units[0]) if cython.compiled else units
    w = cython.address(wheel[0]) if cython.compiled else wheel
    at = 0
    while at + UNIT_SIZE <= have:
        time_ms = i64(p, at + 16) + i32(p, at + 24)
        if time_ms >= from_ms:
            time = time_ms // precision_ms
            slot = time % slots * SLOT_SIZE
            number = i32(w, slot + 24)
            if i64(w, slot) != time or i64(w, slot + 8) == NONE:
                put_i64(w, slot, time)
                put_i64(w, slot + 8, position + at)
                put_i32(w, slot + 28, 0)
                number = 0
            put_i64(w, slot + 16, position + at)
            put_i32(w, slot + 24, number - 1 if i32(p, at + 12) & DELETE else number + 1)
        at += UNIT_SIZE


def tally_units(units: Octets, from_ms: int, tally: dict[int, int]) -> None:
    """Count the timers that are not before `from_ms` by the hash of their topic."""
    have = len(units)
    if have < UNIT_SIZE:
        return
    p = cython.address(units[0]) if cython.compiled else units
    at = 0
    while at + UNIT_SIZE <= have:
        if i64(p, at + 16) + i32(p, at + 24) >= from_ms and not i32(p, at + 12) & DELETE:
            topic_hash = i32(p, at + 40)
            tally[topic_hash] = tally.get(topic_hash, 0) + 1
        at += UNIT_SIZE


def clear_slots(wheel: Octets, begin: int, end: int, from_time: int) -> None:
    """Empty the slots in these bytes of the wheel whose time is not before `from_time`."""
    if begin >= end:
        return
    w = cython.address(wheel[0]) if cython.compiled else wheel  # as in `link_units`
    at = begin
    while at + SLOT_SIZE <= end:
        if i64(w, at) >= from_time and i64(w, at) > 0:
            put_i64(w, at + 8, NONE)
            put_i64(w, at + 16, NONE)
            put_i64(w, at + 24, 0)
        at += SLOT_SIZE


def timers_in(slots: Octets, from_time: int) -> int:
    """How many timers rest in these slots for times that are not before `from_time`."""
    have, count = len(slots), 0
    if have >= SLOT_SIZE:
        p = cython.address(slots[0]) if cython.compiled else slots
        at = 0
        while at + SLOT_SIZE <= have:
            if i64(p, at) >= from_time:
                count += i32(p, at + 24)
            at += SLOT_SIZE
    return count


def latest_in(slots: Octets, from_time: int) -> int:
    """The latest time that is not before `from_time` and has units in these slots; -1 for none.

    How many timers a slot has says nothing about that: a unit that recalls one counts as one less.
    """
    have, latest = len(slots), -1
    if have >= SLOT_SIZE:
        p = cython.address(slots[0]) if cython.compiled else slots
        at = 0
        while at + SLOT_SIZE <= have:
            if i64(p, at) >= from_time and i64(p, at) > latest and i64(p, at) > 0 and i64(p, at + 16) != NONE:
                latest = i64(p, at)
            at += SLOT_SIZE
    return latest
