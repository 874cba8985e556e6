"""The timers that are on the wheel: those of the messages before `queue_offset` of the topic, from `read_time` on.

A second is a slot of the wheel, and its timers are the chain of units in the log that the slot begins. Nothing of a
timer is kept in memory but how many there are, and which second is the last that has any.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sprocketmq.broker.delay.timer_files import OpenTimers, TimerFiles
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.logs import Events
from sprocketmq.protocol.record.hashing import string_hash
from sprocketmq.protocol.record.properties import REAL_TOPIC, TIMER_DEL_UNIQKEY, decode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.chain import BrokenChain, chain_of, search
from sprocketmq.store.timer.link import tally_units
from sprocketmq.store.timer.log import DELETE, UNIT_SIZE, TimerLog, TimerUnit
from sprocketmq.store.timer.wheel import SLOTS

events = Events("sprocketmq.broker.delay")

_LOOK_MS = 3_600_000
#: Where RocketMQ's counts of what rests end: 5 s, 1, 5 and 15 min, 1, 4, 8 and 24 h.
DISTANCES_S = (5, 60, 300, 900, 3600, 14_400, 28_800, 86_400)


@dataclass(frozen=True, slots=True)
class DueSecond:
    """A second that is being delivered: its units, oldest last, and what is recalled of it."""

    positions: array[int]
    deleted: frozenset[str]


class WheeledTimers:
    """`number` of them rest; recalls count against it. `resting` tells the same by topic."""

    def __init__(
        self, store: MessageStore, files: TimerFiles, resting: Resting, topics: Callable[[], Iterable[str]],
        precision: int, clock: Clock,
    ) -> None:  # fmt: skip
        self.read_time = 0
        self.queue_offset = 0
        self.number = 0
        self.precision = precision
        #: There was a wheel since this broker began.
        self.was_open = False
        #: The last second that has units. Whether any wait is not told by their number: recalls count against it.
        self._latest = -1
        self._store = store
        self._files = files
        self._resting = resting
        self._topics = topics
        self._clock = clock

    # -- across restarts -----------------------------------------------------------------------------------------------

    def open(self) -> OpenTimers:
        """Wheel and log, made or read when they are first asked for."""
        if self._files.opened is not None:
            return self._files.opened
        self.was_open = True
        opened, self.queue_offset = self._files.open(self.read_time, self.queue_offset)
        if self._files.built_again or not self._store.report.clean or not self._resting.load():
            self._recount(opened.log)
        self._latest = opened.wheel.latest_from(self.read_time)
        # No timer is further ahead than the wheel goes round: a `timercheck` that says so is damaged.
        self.read_time = max(self.read_time, self._latest - SLOTS * self.precision)
        self.number = opened.wheel.timers_from(self.read_time)
        return opened

    def _recount(self, log: TimerLog) -> None:
        """How many rest for each topic; a unit knows its topic by the hash alone."""
        names = {string_hash(topic): topic for topic in self._topics()}
        found: dict[int, int] = {}
        for _position, units in log.runs(log.begin):
            tally_units(units, self.read_time, found)
        self._resting.begin({names[each]: count for each, count in found.items() if each in names})

    def progress(self) -> tuple[int, int, int]:
        """Up to when timers were delivered, the end of their log, and how far the topic was read."""
        opened = self._files.opened
        return self.read_time, 0 if opened is None else opened.log.end, self.queue_offset

    @property
    def is_saved(self) -> bool:
        check = self._files.check
        return self.progress() == (check.read_time, check.log_position, check.queue_offset)

    # -- seconds -------------------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Whether any second that is not over has units."""
        return self._latest >= self.read_time

    def whole(self, time_ms: int) -> int:
        """The second that the time is in, when seconds are that long."""
        return time_ms // self.precision * self.precision

    def add(self, record: Record, properties: dict[str, str], magic: int, now: int, time: int) -> None:
        """Put the message's unit into its second; one that recalls another takes it away from the count."""
        change = -1 if magic & DELETE else 1
        position = self.append(record, properties, magic, now, time)
        self.open().wheel.add(time, position, change)
        self.number += change
        self._latest = max(self._latest, time)

    def append(self, record: Record, properties: dict[str, str], magic: int, now: int, time: int) -> int:
        """To the log alone, behind the last unit of its second; where that is."""
        opened = self.open()
        unit = TimerUnit(
            UNIT_SIZE, opened.wheel.get(time).last, magic, now, time - now,
            record.commit_offset, record.size, string_hash(properties.get(REAL_TOPIC, "")), 0,
        )  # fmt: skip
        return opened.log.append(unit)

    def second(self, time: int) -> DueSecond | None:
        """The units of a second; None when it has none."""
        opened = self.open()
        slot = opened.wheel.get(time)
        try:
            found = chain_of(opened.log, slot, self.precision)
        except BrokenChain as broken:
            path, at = opened.log.place_of(broken.position)
            events.error("chain of timers damaged", path=path, offset=at)
            found = search(opened.log, slot.time, self.precision)
        deleted = frozenset(map(self._deleted_key, found.deletions))
        return DueSecond(found.positions, deleted) if found.positions else None

    def _deleted_key(self, unit: TimerUnit) -> str:
        record = self._store.reader.record_at(unit.commit_offset)
        return "" if record is None else decode_properties(record.properties).get(TIMER_DEL_UNIQKEY, "")

    def turn_back(self, time: int) -> None:
        """The clock was set back: seconds from `time` on come once more, and new timers may be put into them."""
        if self._files.opened is not None:
            self._files.opened.wheel.clear_between(time, self.read_time)
        self.read_time = time

    # -- for operators -------------------------------------------------------------------------------------------------

    def overdue(self) -> int:
        """Timers whose time has come and that are not delivered; of an hour at most, for every second is looked at."""
        if not self.waits:
            return 0
        end = min(self.whole(self._clock.now_ms()), self.read_time + _LOOK_MS)
        wheel = self.open().wheel
        return sum(max(wheel.get(time).number, 0) for time in range(self.read_time, end, self.precision))

    def by_distance(self) -> dict[int, int]:
        """How many timers rest by the seconds that are left to them: each bound counts from the one before it on."""
        bounds = dict.fromkeys(DISTANCES_S, 0)
        if self.waits:
            now, begin_s = self.whole(self._clock.now_ms()), 0
            for end_s in DISTANCES_S:
                found = self.open().wheel.timers_between(now + 1000 * begin_s, now + 1000 * end_s)
                bounds[end_s], begin_s = max(found, 0), end_s
        return bounds
