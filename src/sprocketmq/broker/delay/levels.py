"""Delay levels: a message with DELAY rests in SCHEDULE_TOPIC_XXXX until its time has come.

    queue          one per level, queue id = level - 1; its entries carry the time of delivery instead of a tag
    progress       the queue offset that each level delivers next, in delayOffset.json
    delivery       in the order of the queue, each as a new record in the message's own topic

Within a level the times only grow, so one alarm per level is enough: it rings when the level's next entry is due. A
level with nothing in it sleeps. A message waits as long as its level says, by the time that passes: the wall clock may
be set, and store times then run ahead of it (see `bases`). What an earlier run left waits until the time of its entry,
by the clock as it was at the start, and never longer than its level says. After a stop nothing is delivered twice, nor
after a kill while the index is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.system_topics.alarm import Alarm, Steady
from sprocketmq.broker.system_topics.delivery import Deliveries, home_of, redirect
from sprocketmq.broker.system_topics.safe_progress import SafeProgress
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.names import SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC
from sprocketmq.protocol.record.properties import DELAY, decode_properties
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import ConfigFile, DelayOffsets
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.queue.ext_format import is_ext_address
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.delay")

#: Deliveries in one turn of the loop: a backlog must not keep clients waiting.
TURN = 200
_SAME_MS = 10
#: Before the next try, when the store takes no messages.
_AFTER_REFUSAL_MS = 1000
#: Before the next look, when a message is written but not readable yet.
_UNREADABLE_MS = 50


class _Level:
    def __init__(self, number: int, delay_ms: int) -> None:
        self.number = number
        self.queue_id = number - 1
        self.delay_ms = delay_ms
        self.next_offset = 0
        #: From a queue offset on: by how much store times are ahead of the time that passes; mostly one for all.
        self.bases: list[tuple[int, int]] = []
        self.alarm: Alarm

    def stored(self, queue_offset: int, base: int) -> None:
        """A message never comes early; a base that is a little higher is taken for the same."""
        if not self.bases or not self.bases[-1][1] <= base <= self.bases[-1][1] + _SAME_MS:
            self.bases.append((queue_offset, base))

    def base(self, queue_offset: int) -> int | None:
        """None for a message of an earlier run. Bases of messages before this one are done with."""
        while len(self.bases) > 1 and self.bases[1][0] <= queue_offset:
            del self.bases[0]
        return self.bases[0][1] if self.bases and self.bases[0][0] <= queue_offset else None


class Schedule:
    def __init__(
        self, store: MessageStore, file: ConfigFile[DelayOffsets], deliveries: Deliveries, clock: Clock
    ) -> None:
        self.progress = SafeProgress(store, self.offsets, self._write)
        self._store = store
        self._file = file
        self._deliveries = deliveries
        self._clock = clock
        self._steady = Steady(clock)
        self._began_ms, self._began_wall_ms = self._steady.now_ms(), clock.now_ms()
        self._version = DataVersion(timestamp=clock.now_ms())
        self._levels = [_Level(index + 1, delay) for index, delay in enumerate(store.config.delay_level_ms)]
        self._gone: dict[int, int] = {}
        self._safe: dict[int, int] = {}
        self.saver = Saver("delays", self._take)
        for level in self._levels:
            level.alarm = Alarm(f"delay level {level.number}", self._steady, partial(self._deliver, level))

    def load(self) -> None:
        kept = self._file.load()
        if kept is None:
            return
        self._version = kept.data_version
        self._gone = {number: offset for number, offset in kept.offset_table.items() if number > len(self._levels)}
        for level in self._levels:
            level.next_offset = kept.offset_table.get(level.number, 0)

    def start(self) -> None:
        self._began_ms, self._began_wall_ms = self._steady.now_ms(), self._clock.now_ms()
        for level in self._levels:
            level.bases.clear()
            level.alarm.start()
        self.deliver_due()

    def inherit(self, offsets: Mapping[int, int]) -> None:
        """For a slave: how far its master has delivered."""
        for level in self._levels:
            level.next_offset = offsets.get(level.number, level.next_offset)
        self._write(self.offsets())

    def deliver_due(self) -> None:
        """Deliver now what is due on any level."""
        for level in self._levels:
            level.alarm.ring()

    def pause(self) -> None:
        """Deliver nothing more."""
        for level in self._levels:
            level.alarm.stop()

    def stop(self) -> None:
        self.pause()
        self.progress.save_now()

    def offsets(self) -> dict[int, int]:
        """What each level delivers next; a level that never had anything is left out."""
        return self._gone | {level.number: level.next_offset for level in self._levels if level.next_offset}

    def backlog(self) -> dict[int, tuple[int, int]]:
        """Per level, what it delivers next and where its queue ends."""
        return {
            level.number: (level.next_offset, self._store.max_offset(SCHEDULE_TOPIC, level.queue_id))
            for level in self._levels
        }

    # -- in ------------------------------------------------------------------------------------------------------------

    def intercept(self, message: BrokerMessage) -> None:
        """Let a delayed message rest. One above the highest level waits as long as that."""
        number = level_of(message)
        if number <= 0 or not is_queued(message.sys_flag):
            return
        level = self._levels[min(number, len(self._levels)) - 1]
        message.properties[DELAY] = str(level.number)
        redirect(message, SCHEDULE_TOPIC, level.queue_id)
        message.on_stored.append(partial(self._stored, level))

    def _stored(self, level: _Level, result: PutResult) -> None:
        now = self._steady.now_ms()
        level.stored(result.queue_offset, result.store_timestamp - now)
        if level.alarm.at_ms is None:
            level.alarm.set(now + level.delay_ms)

    # -- out -----------------------------------------------------------------------------------------------------------

    def _deliver(self, level: _Level) -> None:
        """Deliver what is due, and set the alarm for what is not."""
        now = self._steady.now_ms()
        level.next_offset = max(level.next_offset, self._store.min_offset(SCHEDULE_TOPIC, level.queue_id))
        for _ in range(TURN):
            entry = self._store.reader.entry(SCHEDULE_TOPIC, level.queue_id, level.next_offset)
            if entry is None:
                self._rest(level)
                return
            due = self._due(level, entry, now)
            if due > now:
                level.alarm.set(due)
                return
            if not self._deliver_one(level, entry):
                level.alarm.set(now + _AFTER_REFUSAL_MS)
                return
            level.next_offset += 1
        level.alarm.set(now)

    def _rest(self, level: _Level) -> None:
        """Nothing more is readable here; what is written already will be in a moment."""
        end = self._store.max_offset(SCHEDULE_TOPIC, level.queue_id)
        level.next_offset = min(level.next_offset, end)
        if self._store.dispatcher.queue(SCHEDULE_TOPIC, level.queue_id).next_offset > end:
            level.alarm.set(self._steady.now_ms() + _UNREADABLE_MS)

    def _due(self, level: _Level, entry: QueueEntry, now: int) -> int:
        """When it is delivered, by the time that passes."""
        code = entry.tags_code
        if is_ext_address(code) and self._store.exts is not None:
            unit = self._store.exts.unit(SCHEDULE_TOPIC, level.queue_id, code)
            if unit is None:
                return now
            code = unit.tags_code
        base = level.base(level.next_offset)
        if base is not None:
            return code - base
        return self._began_ms + min(code - self._began_wall_ms, level.delay_ms)

    def _deliver_one(self, level: _Level, entry: QueueEntry) -> bool:
        """Whether the entry is dealt with; what cannot be delivered at all is logged and passed over."""
        record = None if entry.is_filler else self._store.reader.record_at(entry.commit_offset)
        if record is None and self._store.damaged.is_awaited(SCHEDULE_TOPIC, level.queue_id, entry):
            return False
        properties = {} if record is None else decode_properties(record.properties)
        home = home_of(properties)
        if record is None or home is None or home.topic == TRANSACTION_HALF_TOPIC:
            events.warning("delayed message passed over", commit_offset=entry.commit_offset)
            return True
        return self._deliveries.deliver(record, home, properties)

    def _write(self, offsets: dict[int, int]) -> None:
        self._safe = offsets
        self._version = self._version.next(self._clock.now_ms())
        self.saver.soon()

    def _take(self) -> Callable[[], None]:
        return partial(self._file.save, DelayOffsets(offset_table=self._safe, data_version=self._version))


def level_of(message: BrokerMessage) -> int:
    """The level that DELAY asks for; 0 where it asks for none."""
    return number_in(message.properties.get(DELAY)) or 0
