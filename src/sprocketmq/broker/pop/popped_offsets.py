"""Where groups that pop have come to, when their table knows less than the log.

What is popped counts as consumed at once, by a table that is saved every few seconds and that slaves ask for every
second. Its check point is in the log, and with the replicas, before anyone is given the messages. So whoever begins as
the master, after a kill or for another that is gone, looks through the check points that may be younger than its table.
Without that all their messages would be handed out once more, those that were acknowledged, too.
"""

from __future__ import annotations

import orjson

from sprocketmq.broker.pop.records import CHECK_POINT, CheckPoint
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.logs import Events
from sprocketmq.protocol.names import TIMER_TOPIC
from sprocketmq.protocol.record.properties import REAL_TOPIC, TAGS, decode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.pop")

#: Of the timer topic, where check points rest.
_QUEUE = 0
#: By so much a slave's table may be older than the log that it has when it saves it.
_SLAVE_MS = 5_000
#: No more of the log is looked through; RocketMQ's tables do not say when they were saved.
_LONGEST_MS = 60_000

#: Where messages are in the log, by topic, queue and queue offset.
_Places = dict[tuple[str, int, int], int]


class PoppedOffsets:
    """`revive_topic` is where check points go from the timer topic."""

    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, revive_topic: str) -> None:
        self._store = store
        self._offsets = offsets
        self._revive_topic = revive_topic
        #: What is in the timer topic before this the table knows.
        self._known_end = 0

    def load(self, *, was_slave: bool) -> None:
        """For the table that was just loaded."""
        saved_ms = self._offsets.saved_ms - (_SLAVE_MS if was_slave else 0)
        since_ms = max(saved_ms, self._store.appender.store_timestamp - _LONGEST_MS)
        self._known_end = self._store.reader.offset_by_time(TIMER_TOPIC, _QUEUE, since_ms)

    @property
    def end(self) -> int:
        """A table that is asked for now knows what is in the timer topic before this."""
        return self._store.max_offset(TIMER_TOPIC, _QUEUE)

    @property
    def _written_end(self) -> int:
        queue = self._store.queues.find(TIMER_TOPIC, _QUEUE)
        return 0 if queue is None else max(queue.max_offset, queue.cursor.next_offset)

    def know(self, end: int) -> None:
        """The table is as young as what is in the timer topic before `end`."""
        self._known_end = end

    def cut(self) -> None:
        """The log was cut, and others may write its end anew."""
        self._known_end = min(self._known_end, self.end)

    def catch_up(self) -> None:
        """Move the offsets of all groups behind what was popped."""
        store, hidden = self._store, self._hidden()
        begin = max(self._known_end, store.min_offset(TIMER_TOPIC, _QUEUE))
        for offset in range(begin, self._written_end):
            at = self._place(hidden, TIMER_TOPIC, _QUEUE, offset)
            record = None if at is None else store.reader.record_at(at)
            taken = None if record is None else self._check_point(record)
            if taken is not None:
                self._follow(taken, at or 0, hidden)
        self._known_end = self.end

    def _hidden(self) -> _Places:
        """What is written and may not be read yet: whoever was given messages knows more than this broker's readers."""
        store = self._store
        if self._written_end <= self.end:
            return {}
        records = store.reader.records_between(store.dispatcher.dispatched_offset, store.log.max_offset)
        return {(each.topic, each.queue_id, each.queue_offset): each.commit_offset for each in records}

    def _place(self, hidden: _Places, topic: str, queue_id: int, offset: int) -> int | None:
        """Where in the log the message is; None when it is gone."""
        entry = self._store.reader.entry(topic, queue_id, offset)
        if entry is None or entry.is_filler:
            return hidden.get((topic, queue_id, offset))
        return entry.commit_offset

    def _check_point(self, record: Record) -> CheckPoint | None:
        properties = decode_properties(record.properties)
        if properties.get(REAL_TOPIC) != self._revive_topic or properties.get(TAGS) != CHECK_POINT:
            return None
        try:
            return CheckPoint.decode(orjson.loads(record.body))
        except (ValueError, KeyError, TypeError) as error:
            events.warning("check point passed over", commit_offset=record.commit_offset, reason=error)
            return None

    def _follow(self, taken: CheckPoint, commit_offset: int, hidden: _Places) -> None:
        """A message behind its own check point is another's, of a topic that was deleted and made again."""
        last = taken.offsets[-1] if taken.offsets else -1
        known = self._offsets.query(taken.group, taken.topic, taken.queue_id) or 0
        at = None if last < known else self._place(hidden, taken.topic, taken.queue_id, last)
        if at is not None and at < commit_offset:
            self._offsets.commit(taken.group, taken.topic, taken.queue_id, last + 1)
