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
from collections.abc import Callable, Iterable

from sprocketmq.broker.delay.recall import recalled_key
from sprocketmq.broker.delay.timer_files import TimerFiles
from sprocketmq.broker.delay.wheeled_timers import DueSecond, WheeledTimers
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.alarm import Alarm
from sprocketmq.broker.system_topics.delivery import Deliveries, Home, home_of
from sprocketmq.broker.system_topics.safe_progress import SafeProgress
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.logs import Events
from sprocketmq.protocol.names import TIMER_TOPIC
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
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.files import Files
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.log import DEFAULT, DELETE, ROLL, TimerUnit

events = Events("sprocketmq.broker.delay")

#: Messages in one turn of the loop, and seconds without any.
TURN = 200
_SECONDS_IN_TURN = 5000
QUEUE = 0
_AFTER_REFUSAL_MS = 1000
_UNREADABLE_MS = 50
#: So far behind the clock the wheel is turned before anything is put on it.
_LONG_MS = 3_600_000
_ENQUEUED, _DEQUEUED = "timers enqueued", "timers dequeued"


class Timer:
    def __init__(
        self, settings: Settings, store: MessageStore, files: Files, deliveries: Deliveries, stats: Stats,
        resting: Resting, topics: Callable[[], Iterable[str]], clock: Clock,
    ) -> None:  # fmt: skip
        self.alarm = Alarm("timer", clock, self._turn)
        self._settings = settings
        self._store = store
        self._deliveries = deliveries
        self._stats = stats
        self.resting = resting
        self.enqueued, self.dequeued = stats.part(_ENQUEUED), stats.part(_DEQUEUED)
        self._clock = clock
        precision = settings.current.timer_precision_ms
        self.files = TimerFiles(store, files, precision, lambda: self.progress.forget())
        self.wheeled = WheeledTimers(store, self.files, resting, topics, precision, clock)
        self.progress = SafeProgress(store, self.wheeled.progress, self._save)
        #: Where the topic ended when this broker began to deliver.
        self._backlog_end = 0
        self._due: DueSecond | None = None
        #: Keys whose recalls are written, and not on the wheel yet.
        self._recalling: set[str] = set()
        self._settled: tuple[int, int] = (0, 0)

    # -- across restarts -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._recalling.clear()
        check = self.files.load_check()
        self.wheeled.read_time = check.read_time or self.wheeled.whole(self._clock.now_ms())
        self.wheeled.queue_offset = check.queue_offset
        self._backlog_end = self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset
        self._settled = (check.master_queue_offset, check.read_time)
        if self.files.exist:
            self.wheeled.open()
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
        if self.wheeled.was_open:
            self.resting.save()

    def figures(self) -> dict[str, str]:
        """For an operator: seconds of delay, timers that rest in the wheel, messages that are not in it yet, rates."""
        behind = self._store.max_offset(TIMER_TOPIC, QUEUE) - self.wheeled.queue_offset
        late_ms = self.wheeled.whole(self._clock.now_ms()) - self.delivered_ms
        return {
            "timerReadBehind": str(max(late_ms, 0) // 1000),
            "timerCongestNum": str(max(self.wheeled.number, 0)),
            "timerOffsetBehind": str(max(behind, 0)),
            "timerEnqueueTps": str(self._stats.tps_of_part(_ENQUEUED)),
            "timerDequeueTps": str(self._stats.tps_of_part(_DEQUEUED)),
        }

    def waiting_ms(self) -> int:
        """How old the oldest message is that is not in the wheel yet; 0 when all are."""
        if self.wheeled.queue_offset >= self._store.max_offset(TIMER_TOPIC, QUEUE):
            return 0
        stored = self._store.reader.message_store_timestamp(TIMER_TOPIC, QUEUE, self.wheeled.queue_offset)
        return max(self._clock.now_ms() - stored, 0) if stored >= 0 else 0

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
        now = self.wheeled.whole(self._clock.now_ms())
        if now - self.wheeled.read_time > _LONG_MS:
            if self.wheeled.waits:
                return True
            self.wheeled.read_time = now
        self.wheeled.queue_offset = max(self.wheeled.queue_offset, self._store.min_offset(TIMER_TOPIC, QUEUE))
        for _ in range(TURN):
            entry = self._store.reader.entry(TIMER_TOPIC, QUEUE, self.wheeled.queue_offset)
            if entry is None:
                return True
            record = None if entry.is_filler else self._store.reader.record_at(entry.commit_offset)
            if record is None and self._store.damaged.is_awaited(TIMER_TOPIC, QUEUE, entry):
                return False
            if record is not None and not self._put(record):
                return True
            self.wheeled.queue_offset += 1
        return True

    def _put(self, record: Record) -> bool:
        properties = decode_properties(record.properties)
        time = number_in(properties.get(TIMER_OUT_MS))
        if time is None:
            events.warning("timer passed over", commit_offset=record.commit_offset)
            return True
        now = self.wheeled.whole(self._clock.now_ms())
        deletes = TIMER_DEL_UNIQKEY in properties
        if deletes:
            self._recalling.discard(properties[TIMER_DEL_UNIQKEY])
        if time < self.wheeled.read_time:  # its second is over already
            if record.queue_offset < self._settled[0] and time < self._settled[1]:
                return True  # the master before this one has delivered it
            if not deletes:
                return self._deliver(record, properties, self._clock.now_ms())
            self.wheeled.append(
                record, properties, DEFAULT | DELETE, time, time
            )  # a crash may bring the second once more
            return True
        magic, time = self._rolled(DEFAULT, time, now)
        now = min(now, time)  # its second may be over by the clock, while the wheel has not come there
        self.wheeled.add(record, properties, magic | (DELETE if deletes else 0), now, time)
        self.enqueued.count += 1
        self._stats.special.timers_in[properties.get(REAL_TOPIC, "")] += 1
        if not deletes:
            self.resting.add(properties.get(REAL_TOPIC, ""), 1)
        return True

    def _rolled(self, magic: int, time: int, now: int) -> tuple[int, int]:
        """A time beyond the window is rolled: to its end, or to its half when what would be left is little."""
        window = self._settings.current.timer_roll_window_slot * self.wheeled.precision
        if time - now < window:
            return magic, time
        rest = time - now - window
        step = window // 2 if rest < window // 3 else window
        return magic | ROLL, self.wheeled.whole(now + step)

    # -- out -----------------------------------------------------------------------------------------------------------

    @property
    def delivered_ms(self) -> int:
        """Every timer before this time is delivered; while none is set, that is so of any time that is over."""
        if (
            self.wheeled.waits
            or self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset > self.wheeled.queue_offset
        ):
            return self.wheeled.read_time
        return max(self.wheeled.read_time, self.wheeled.whole(self._clock.now_ms()))

    def _turn(self) -> None:
        self._follow_clock()
        enqueued = self._enqueue()
        now = self._clock.now_ms()
        delivered = enqueued and self._dequeue(now)
        behind = self._store.dispatcher.queue(TIMER_TOPIC, QUEUE).next_offset - self.wheeled.queue_offset
        if not delivered:
            self.alarm.set(now + _AFTER_REFUSAL_MS)
        elif self._due is not None or self._store.max_offset(TIMER_TOPIC, QUEUE) > self.wheeled.queue_offset:
            self.alarm.set(now)
        elif behind > 0:
            self.alarm.set(now + _UNREADABLE_MS)
        elif self.wheeled.waits:
            self.alarm.set(self.wheeled.read_time + self.wheeled.precision)
        if self.files.opened is not None and not self.wheeled.is_saved:
            asyncio.get_running_loop().call_soon(self._begin_saving)

    def _begin_saving(self) -> None:
        """Unless it was stopped meanwhile."""
        if self.files.opened is not None:
            self.progress.begin()

    def _follow_clock(self) -> None:
        """A clock that was set back passes seconds once more: their timers are delivered, and new ones may come."""
        now = self.wheeled.whole(self._clock.now_ms())
        if now >= self.wheeled.read_time or self._due is not None:
            return
        events.warning("clock set back", by_ms=self.wheeled.read_time - now)
        self.wheeled.turn_back(now)

    def _dequeue(self, now: int) -> bool:
        """Deliver every second that is over; False when the store takes no messages.

        Not before the wheel has all that another master may have had on its own: a slave takes over how far this one
        has come, and does not look again at seconds before that.
        """
        if self.wheeled.queue_offset < self._backlog_end:
            return True
        if not self.wheeled.waits or self.files.opened is None:
            self.wheeled.read_time = max(self.wheeled.read_time, self.wheeled.whole(now))
            return True
        left = TURN
        for _ in range(_SECONDS_IN_TURN):
            if self.wheeled.read_time + self.wheeled.precision > now or left <= 0:
                break
            due = self._due = self._due or self.wheeled.second(self.wheeled.read_time)
            while due is not None and due.positions and left > 0:
                if not self._ring(due):
                    return False
                due.positions.pop()
                left -= 1
            if due is None or not due.positions:
                self._due = None
                self.wheeled.read_time += self.wheeled.precision
        return True

    def _is_being_mended(self, unit: TimerUnit) -> bool:
        return self._store.damaged.is_being_mended(TIMER_TOPIC, QUEUE, unit.commit_offset)

    def _ring(self, due: DueSecond) -> bool:
        """Deliver or roll one timer; whether it is dealt with."""
        unit = self.wheeled.open().log.get(due.positions[-1])
        record = None if unit is None else self._store.reader.record_at(unit.commit_offset)
        if unit is not None and record is None and self._is_being_mended(unit):
            return False
        if unit is None or record is None or record.topic != TIMER_TOPIC:
            events.warning("timer lost its message", position=due.positions[-1])
            self.wheeled.number -= 1
            return True
        properties = decode_properties(record.properties)
        dealt = self._deal(unit, record, properties, due.deleted)
        if dealt:
            self.wheeled.number -= -1 if unit.magic & DELETE else 1
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


def _key_of(properties: dict[str, str]) -> str:
    """What a recall of the message names."""
    return recalled_key(properties.get(REAL_TOPIC, ""), properties.get(UNIQUE_KEY, ""))
