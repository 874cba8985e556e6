"""Delays of any length: a message that asks for a time (see `timer_requests`) rests until its second is over.

    rmq_sys_wheel_timer    the messages, in queue 0, each with its time in TIMER_OUT_MS
    timer log              for each of them a unit that says where it is
    timer wheel            for each second the chain of its units
    timercheck             up to when timers were delivered, and how far the queue was read

    send -> queue --enqueue--> log and wheel --its second is over--> the message's own topic

Nothing of a timer is kept in memory. TIMER_OUT_MS is the second before the time asked for, and a second is delivered
when it is over, so no message comes early. One beyond the roll window gets a unit at an earlier time; then it goes to
the timer topic again. A recalled message is met by a delete unit in the same second, see `recall`; a recall that cannot
be read yet, for its sync takes longer than the time that is left or the clock was set, counts by its key alone.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sprocketmq.broker.delay.recall import recalled_key
from sprocketmq.broker.delay.timer_files import OpenTimers, TimerFiles
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.alarm import Alarm
from sprocketmq.broker.system_topics.delivery import Deliveries, Home, home_of
from sprocketmq.broker.system_topics.safe_progress import SafeProgress
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.logs import Events
from sprocketmq.protocol.names import TIMER_TOPIC
from sprocketmq.protocol.record.hashing import string_hash
from sprocketmq.protocol.record.properties import (
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    UNIQUE_KEY,
    decode_properties,
)
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.files.files import Clock, Files
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.chain import BrokenChain, chain_of, search
from sprocketmq.store.timer.link import tally_units
from sprocketmq.store.timer.log import (
    DEFAULT,
    DELETE,
    ROLL,
    UNIT_SIZE,
    TimerLog,
    TimerUnit,
)
from sprocketmq.store.timer.wheel import SLOTS

events = Events("sprocketmq.broker.delay")

#: Messages in one turn of the loop, and seconds without any.
TURN = 200
_SECONDS_IN_TURN = 5000
QUEUE = 0
_AFTER_REFUSAL_MS = 1000
_UNREADABLE_MS = 50
_LOOK_MS = 3_600_000
#: So far behind the clock the wheel is turned before anything is put on it.
_LONG_MS = 3_600_000
#: Where RocketMQ's counts of what rests end: 5 s, 1, 5 and 15 min, 1, 4, 8 and 24 h.
DISTANCES_S = (5, 60, 300, 900, 3600, 14_400, 28_800, 86_400)
_ENQUEUED, _DEQUEUED = "timers enqueued", "timers dequeued"


@dataclass(frozen=True, slots=True)
class _Due:
    """A second that is being delivered: its units, oldest last, and what is recalled of it."""

    positions: array[int]
    deleted: frozenset[str]


class Timer:
    def __init__(
        self, settings: Settings, store: MessageStore, files: Files, deliveries: Deliveries, stats: Stats,
        resting: Resting, topics: Callable[[], Iterable[str]], clock: Clock,
    ) -> None:  # fmt: skip
        self.alarm = Alarm("timer", clock, self._turn)
        self.progress = SafeProgress(store, self._progress, self._save)
        self._settings = settings
        self._store = store
        self._deliveries = deliveries
        self._stats = stats
        self.resting = resting
        self._topics = topics
        self.enqueued, self.dequeued = stats.part(_ENQUEUED), stats.part(_DEQUEUED)
        self._clock = clock
        self._precision = settings.current.timer_precision_ms
        self.files = TimerFiles(store, files, self._precision, self.progress.forget)
        self._resting = 0
        #: The last second that has units. Whether any wait is not told by their number: recalls count against it.
        self._latest = -1
        self.read_time = 0
        self._queue_offset = 0
        #: Where the topic ended when this broker began to deliver.
        self._backlog_end = 0
        self._due: _Due | None = None
        #: Keys whose recalls are written, and not on the wheel yet.
        self._recalling: set[str] = set()
        self._settled: tuple[int, int] = (0, 0)
        self._counts = False

    # -- across restarts -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._recalling.clear()
        check = self.files.load_check()
        self.read_time = check.read_time or self._whole(self._clock.now_ms())
        self._queue_offset = check.queue_offset
        self._backlog_end = self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset
        self._settled = (check.master_queue_offset, check.read_time)
        if self.files.exist:
            self._open()
        self.alarm.start()
        self.alarm.ring()

    def stop(self, *, save: bool = True) -> None:
        self.alarm.stop()
        if self.files.opened is None:
            return
        if save:
            self.progress.save_now()
        self.files.close()
        self._due = None

    def save_resting(self) -> None:
        """A broker that never had a timer writes no file."""
        if self.files.opened is not None:
            self.resting.saver.begin()

    def close_resting(self) -> None:
        """The same for a stop."""
        if self._counts:
            self.resting.save()

    def figures(self) -> dict[str, str]:
        """For an operator: seconds of delay, timers that rest in the wheel, messages that are not in it yet, rates."""
        behind = self._store.max_offset(TIMER_TOPIC, QUEUE) - self._queue_offset
        late_ms = self._whole(self._clock.now_ms()) - self.delivered_ms
        return {
            "timerReadBehind": str(max(late_ms, 0) // 1000),
            "timerCongestNum": str(max(self._resting, 0)),
            "timerOffsetBehind": str(max(behind, 0)),
            "timerEnqueueTps": str(self._stats.tps_of_part(_ENQUEUED)),
            "timerDequeueTps": str(self._stats.tps_of_part(_DEQUEUED)),
        }

    def waiting_ms(self) -> int:
        """How old the oldest message is that is not in the wheel yet; 0 when all are."""
        if self._queue_offset >= self._store.max_offset(TIMER_TOPIC, QUEUE):
            return 0
        stored = self._store.reader.message_store_timestamp(TIMER_TOPIC, QUEUE, self._queue_offset)
        return max(self._clock.now_ms() - stored, 0) if stored >= 0 else 0

    def overdue(self) -> int:
        """Timers whose time has come and that are not delivered; of an hour at most, for every second is looked at."""
        if not self._waits:
            return 0
        end = min(self._whole(self._clock.now_ms()), self.read_time + _LOOK_MS)
        wheel = self._open().wheel
        return sum(max(wheel.get(time).number, 0) for time in range(self.read_time, end, self._precision))

    def by_distance(self) -> dict[int, int]:
        """How many timers rest by the seconds that are left to them: each bound counts from the one before it on."""
        bounds = dict.fromkeys(DISTANCES_S, 0)
        if self._waits:
            now, begin_s = self._whole(self._clock.now_ms()), 0
            for end_s in DISTANCES_S:
                found = self._open().wheel.timers_between(now + 1000 * begin_s, now + 1000 * end_s)
                bounds[end_s], begin_s = max(found, 0), end_s
        return bounds

    def _open(self) -> OpenTimers:
        if self.files.opened is not None:
            return self.files.opened
        self._counts = True
        opened, self._queue_offset = self.files.open(self.read_time, self._queue_offset)
        if self.files.built_again or not self._store.report.clean or not self.resting.load():
            self._recount(opened.log)
        self._latest = opened.wheel.latest_from(self.read_time)
        # No timer is further ahead than the wheel goes round: a `timercheck` that says so is damaged.
        self.read_time = max(self.read_time, self._latest - SLOTS * self._precision)
        self._resting = opened.wheel.timers_from(self.read_time)
        return opened

    def _recount(self, log: TimerLog) -> None:
        """How many rest for each topic; a unit knows its topic by the hash alone."""
        names = {string_hash(topic): topic for topic in self._topics()}
        found: dict[int, int] = {}
        for _position, units in log.runs(log.begin):
            tally_units(units, self.read_time, found)
        self.resting.begin({names[each]: count for each, count in found.items() if each in names})

    def _progress(self) -> tuple[int, int, int]:
        opened = self.files.opened
        return self.read_time, 0 if opened is None else opened.log.end, self._queue_offset

    def _save(self, progress: tuple[int, int, int]) -> None:
        self.files.save(progress, self._clock.now_ms())

    # -- in ------------------------------------------------------------------------------------------------------------

    def arrived(self, recalls: str | None) -> None:
        """A message has come to the timer topic; one that recalls another names its key."""
        if recalls is not None:
            self._recalling.add(recalls)
        self.alarm.set(self._clock.now_ms())

    def _enqueue(self) -> bool:
        """Put what came to the timer topic on the wheel; False while one of them is being mended.

        After a long rest, or with a clock that was set far ahead, what is overdue comes first: it may have the slots of
        times to come.
        """
        now = self._whole(self._clock.now_ms())
        if now - self.read_time > _LONG_MS:
            if self._waits:
                return True
            self.read_time = now
        self._queue_offset = max(self._queue_offset, self._store.min_offset(TIMER_TOPIC, QUEUE))
        for _ in range(TURN):
            entry = self._store.reader.entry(TIMER_TOPIC, QUEUE, self._queue_offset)
            if entry is None:
                return True
            record = None if entry.is_filler else self._store.reader.record_at(entry.commit_offset)
            if record is None and self._store.damaged.is_awaited(TIMER_TOPIC, QUEUE, entry):
                return False
            if record is not None and not self._put(record):
                return True
            self._queue_offset += 1
        return True

    def _put(self, record: Record) -> bool:
        properties = decode_properties(record.properties)
        time = number_in(properties.get(TIMER_OUT_MS))
        if time is None:
            events.warning("timer passed over", commit_offset=record.commit_offset)
            return True
        now = self._whole(self._clock.now_ms())
        deletes = TIMER_DEL_UNIQKEY in properties
        if deletes:
            self._recalling.discard(properties[TIMER_DEL_UNIQKEY])
        if time < self.read_time:  # its second is over already
            if record.queue_offset < self._settled[0] and time < self._settled[1]:
                return True  # the master before this one has delivered it
            if not deletes:
                return self._deliver(record, properties, self._clock.now_ms())
            self._append(record, properties, DEFAULT | DELETE, time, time)  # a crash may bring the second once more
            return True
        magic, time = self._rolled(DEFAULT, time, now)
        now = min(now, time)  # its second may be over by the clock, while the wheel has not come there
        position = self._append(record, properties, magic | (DELETE if deletes else 0), now, time)
        self._open().wheel.add(time, position, -1 if deletes else 1)
        self._resting += -1 if deletes else 1
        self._latest = max(self._latest, time)
        self.enqueued.count += 1
        self._stats.special.timers_in[properties.get(REAL_TOPIC, "")] += 1
        if not deletes:
            self.resting.add(properties.get(REAL_TOPIC, ""), 1)
        return True

    def _append(self, record: Record, properties: dict[str, str], magic: int, now: int, time: int) -> int:
        """To the log, behind the last unit of its second; where that is."""
        opened = self._open()
        unit = TimerUnit(
            UNIT_SIZE, opened.wheel.get(time).last, magic, now, time - now,
            record.commit_offset, record.size, string_hash(properties.get(REAL_TOPIC, "")), 0,
        )  # fmt: skip
        return opened.log.append(unit)

    def _rolled(self, magic: int, time: int, now: int) -> tuple[int, int]:
        """A time beyond the window is rolled: to its end, or to its half when what would be left is little."""
        window = self._settings.current.timer_roll_window_slot * self._precision
        if time - now < window:
            return magic, time
        rest = time - now - window
        step = window // 2 if rest < window // 3 else window
        return magic | ROLL, self._whole(now + step)

    # -- out -----------------------------------------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """Whether any second that is not over has units."""
        return self._latest >= self.read_time

    @property
    def delivered_ms(self) -> int:
        """Every timer before this time is delivered; while none is set, that is so of any time that is over."""
        if self._waits or self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset > self._queue_offset:
            return self.read_time
        return max(self.read_time, self._whole(self._clock.now_ms()))

    def _turn(self) -> None:
        self._follow_clock()
        enqueued = self._enqueue()
        now = self._clock.now_ms()
        delivered = enqueued and self._dequeue(now)
        behind = self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset - self._queue_offset
        if not delivered:
            self.alarm.set(now + _AFTER_REFUSAL_MS)
        elif self._due is not None or self._store.max_offset(TIMER_TOPIC, QUEUE) > self._queue_offset:
            self.alarm.set(now)
        elif behind > 0:
            self.alarm.set(now + _UNREADABLE_MS)
        elif self._waits:
            self.alarm.set(self.read_time + self._precision)
        check = self.files.check
        if self.files.opened is not None and self._progress() != (
            check.read_time, check.log_position, check.queue_offset
        ):  # fmt: skip
            asyncio.get_running_loop().call_soon(self._begin_saving)

    def _begin_saving(self) -> None:
        """Unless it was stopped meanwhile."""
        if self.files.opened is not None:
            self.progress.begin()

    def _follow_clock(self) -> None:
        """A clock that was set back passes seconds once more: their timers are delivered, and new ones may come."""
        now = self._whole(self._clock.now_ms())
        if now >= self.read_time or self._due is not None:
            return
        events.warning("clock set back", by_ms=self.read_time - now)
        if self.files.opened is not None:
            self.files.opened.wheel.clear_between(now, self.read_time)
        self.read_time = now

    def _dequeue(self, now: int) -> bool:
        """Deliver every second that is over; False when the store takes no messages.

        Not before the wheel has all that another master may have had on its own: a slave takes over how far this one
        has come, and does not look again at seconds before that.
        """
        if self._queue_offset < self._backlog_end:
            return True
        if not self._waits or self.files.opened is None:
            self.read_time = max(self.read_time, self._whole(now))
            return True
        left = TURN
        for _ in range(_SECONDS_IN_TURN):
            if self.read_time + self._precision > now or left <= 0:
                break
            due = self._due = self._due or self._begin(self.read_time)
            while due is not None and due.positions and left > 0:
                if not self._ring(due):
                    return False
                due.positions.pop()
                left -= 1
            if due is None or not due.positions:
                self._due = None
                self.read_time += self._precision
        return True

    def _begin(self, time: int) -> _Due | None:
        opened = self._open()
        slot = opened.wheel.get(time)
        try:
            found = chain_of(opened.log, slot, self._precision)
        except BrokenChain as broken:
            path, at = opened.log.place_of(broken.position)
            events.error("chain of timers damaged", path=path, offset=at)
            found = search(opened.log, slot.time, self._precision)
        deleted = frozenset(map(self._deleted_key, found.deletions))
        return _Due(found.positions, deleted) if found.positions else None

    def _deleted_key(self, unit: TimerUnit) -> str:
        record = self._store.reader.record_at(unit.commit_offset)
        return "" if record is None else decode_properties(record.properties).get(TIMER_DEL_UNIQKEY, "")

    def _is_being_mended(self, unit: TimerUnit) -> bool:
        return self._store.damaged.is_being_mended(TIMER_TOPIC, QUEUE, unit.commit_offset)

    def _ring(self, due: _Due) -> bool:
        """Deliver or roll one timer; whether it is dealt with."""
        unit = self._open().log.get(due.positions[-1])
        record = None if unit is None else self._store.reader.record_at(unit.commit_offset)
        if unit is not None and record is None and self._is_being_mended(unit):
            return False
        if unit is None or record is None or record.topic != TIMER_TOPIC:
            events.warning("timer lost its message", position=due.positions[-1])
            self._resting -= 1
            return True
        properties = decode_properties(record.properties)
        dealt = self._deal(unit, record, properties, due.deleted)
        if dealt:
            self._resting -= -1 if unit.magic & DELETE else 1
            self.dequeued.count += 1
            self._stats.special.timers_out[properties.get(REAL_TOPIC, "")] += 1
            if not unit.magic & DELETE:
                self.resting.add(properties.get(REAL_TOPIC, ""), -1)
        return dealt

    def _deal(self, unit: TimerUnit, record: Record, properties: dict[str, str], deleted: frozenset[str]) -> bool:
        if unit.magic & ROLL:
            properties[TIMER_ROLL_TIMES] = str((number_in(properties.get(TIMER_ROLL_TIMES)) or 0) + 1)
            return self._deliveries.deliver(record, Home(TIMER_TOPIC, QUEUE), properties)
        key = properties.get(UNIQUE_KEY, "")
        if unit.magic & DELETE or key in deleted or _key_of(properties) in deleted:
            return True
        return self._deliver(record, properties, unit.write_time)

    def _deliver(self, record: Record, properties: dict[str, str], enqueued_ms: int) -> bool:
        home = home_of(properties)
        if home is None:
            events.warning("timer passed over", commit_offset=record.commit_offset)
            return True
        if _key_of(properties) in self._recalling:
            return True
        properties[TIMER_ENQUEUE_MS] = str(enqueued_ms)
        properties[TIMER_DEQUEUE_MS] = str(self._clock.now_ms())
        return self._deliveries.deliver(record, home, properties)

    def _whole(self, time_ms: int) -> int:
        return time_ms // self._precision * self._precision


def _key_of(properties: dict[str, str]) -> str:
    """What a recall of the message names."""
    return recalled_key(properties.get(REAL_TOPIC, ""), properties.get(UNIQUE_KEY, ""))
