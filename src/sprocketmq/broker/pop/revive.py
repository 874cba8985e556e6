"""Giving back what POP handed out and nobody acknowledged.

Check points and acknowledgements come to the revive topic when their time has come. A check point waits there a little
for the last acknowledgements; each of its messages that has none then goes to the group's retry topic, with one more
try. What the group CID_RMQ_SYS_REVIVE_GROUP has committed is settled; the rest is read again after a restart, and by
the next master. What was given back names the record it came from, so that it is not given back again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

import orjson

from sprocketmq.broker.metrics.special_message_counts import SpecialMessageCounts
from sprocketmq.broker.pop.records import ACK, BATCH_ACK, CHECK_POINT, CheckPoint, Key, PopAck
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.delivery import HOPELESS, Deliveries, Home, message_of
from sprocketmq.broker.system_topics.safe_progress import SafeProgress
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.record.properties import (
    FIRST_POP_TIME,
    TAGS,
    TIMER_DELIVER_MS,
    UNIQUE_KEY,
    decode_properties,
)
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.log.append import PutResult, PutStatus
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.pop")

GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
#: A check point comes this much before its time, and waits this long after it for acknowledgements.
EARLY_MS, LATE_MS = 1000, 2000
#: Entries and messages in one turn of the loop.
TURN = 500


class Revive:
    """`put` stores a message of the broker's own, with its timer; `timer_time` is up to when timers were delivered."""

    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, offsets: ConsumerOffsets, clock: Clock,
        put: Callable[[BrokerMessage], PutResult], timer_time: Callable[[], int], counts: SpecialMessageCounts,
        deliveries: Deliveries,
    ) -> None:  # fmt: skip
        self.topic = f"rmq_sys_REVIVE_LOG_{settings.current.broker_cluster_name}"
        self.progress = SafeProgress(store, self._progress, self._commit)
        self._settings = settings
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._clock = clock
        self._put = put
        self._timer_time = timer_time
        self._counts = counts
        self._deliveries = deliveries
        self._queues = [_ReviveQueue(number) for number in range(settings.current.revive_queue_num)]
        self._next_queue = 0
        self._settled_ms = 0
        self._mark: tuple[int, int] | None = None

    # -- in ------------------------------------------------------------------------------------------------------------

    def next_queue(self) -> int:
        """The revive queue for the next check point; each in turn."""
        self._next_queue = (self._next_queue + 1) % len(self._queues)
        return self._next_queue

    def put_check_point(self, check_point: CheckPoint, revive_queue_id: int) -> bool:
        time = check_point.revive_time - EARLY_MS
        return self._write(revive_queue_id, CHECK_POINT, check_point, time)

    def put_ack(self, ack: PopAck, revive_queue_id: int, revive_time: int) -> bool:
        return self._write(revive_queue_id, ack.tag, ack, revive_time)

    def _write(self, queue_id: int, tag: str, record: CheckPoint | PopAck, time: int) -> bool:
        message = BrokerMessage(
            topic=self.topic,
            queue_id=queue_id % len(self._queues),
            body=record.encode(),
            properties={TAGS: tag, UNIQUE_KEY: record.unique_key, TIMER_DELIVER_MS: str(max(0, time))},
            born_timestamp=self._clock.now_ms(),
            born_host=self._store.appender.store_host,
        )
        result = self._put(message)
        self._counts.revive_in[record.topic, record.group, _kind(tag), PutStatus(result.status).name] += 1
        return result.ok

    # -- out -----------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        for queue in self._queues:
            known = self._offsets.query(GROUP, self.topic, queue.number) or 0
            queue.next_offset = max(known, self._store.min_offset(self.topic, queue.number))
            queue.waiting.clear()
            queue.due.clear()
        self._settled_ms, self._mark = 0, None

    def behind(self) -> Iterator[tuple[int, int, int]]:
        """Of each revive queue: its number, check points that wait, and since when the oldest is overdue, in ms."""
        now = self._clock.now_ms()
        for queue in self._queues:
            oldest = queue.due[0][0] + LATE_MS if queue.due else now
            yield queue.number, len(queue.waiting), max(0, now - oldest)

    def run(self) -> None:
        """Read what came and give back what is due; called every `reviveInterval`."""
        now = self._clock.now_ms()
        self._look_how_far()
        for queue in self._queues:
            if self._read(queue):
                self._revive(queue, now)

    def _look_how_far(self) -> None:
        """Up to when timers can be read here. An acknowledgement that was delivered, and waits for a slow disk before
        it may be read, is one all the same.
        """
        if self._mark is None:
            self._mark = self._timer_time(), self._store.log.max_offset
        time, end = self._mark
        if self._store.dispatcher.dispatched_offset >= end:
            self._settled_ms, self._mark = time, None

    def _read(self, queue: _ReviveQueue) -> bool:
        """Whether that was all; else acknowledgements may be among the rest."""
        for _ in range(TURN):
            entry = self._store.reader.entry(self.topic, queue.number, queue.next_offset)
            if entry is None:
                return True
            record = None if entry.is_filler else self._store.reader.record_at(entry.commit_offset)
            if record is None and self._store.damaged.is_awaited(self.topic, queue.number, entry):
                return False
            if record is not None:
                self._note(queue, record)
            queue.next_offset += 1
        return False

    def _note(self, queue: _ReviveQueue, record: Record) -> None:
        tag = decode_properties(record.properties).get(TAGS)
        try:
            body = orjson.loads(record.body)
            if tag == CHECK_POINT:
                check_point = CheckPoint.decode(body)
                self._counts.revive_out[check_point.topic, check_point.group, _kind(tag), queue.number] += 1
                queue.add(_Waiting(check_point, record.queue_offset, record.commit_offset, record.store_timestamp))
            elif tag in (ACK, BATCH_ACK):
                ack = PopAck.decode(body)
                self._counts.revive_out[ack.topic, ack.group, _kind(tag), queue.number] += 1
                if ack.key in queue.waiting:
                    queue.waiting[ack.key].check_point.acked.update(ack.offsets)
        except (ValueError, KeyError, TypeError) as error:
            events.warning("revive record passed over", commit_offset=record.commit_offset, reason=error)

    def _revive(self, queue: _ReviveQueue, now: int) -> None:
        """Those that are due, the earliest first: a clock that was wrong for a moment has brought others too early."""
        for _ in range(TURN):
            if not queue.due or now < queue.due[0][0] + LATE_MS or self._settled_ms <= queue.due[0][0]:
                return
            key = queue.due[0][2]
            waiting = queue.waiting[key]
            check_point = waiting.check_point
            for offset in check_point.offsets:
                if offset not in check_point.acked and not self._give_back(waiting, offset):
                    return  # the store takes no messages: what was given back is not given twice
                check_point.acked.add(offset)
            heapq.heappop(queue.due)
            del queue.waiting[key]

    def _give_back(self, waiting: _Waiting, offset: int) -> bool:
        """Whether the message is dealt with."""
        check_point, deliveries = waiting.check_point, self._deliveries
        is_doubtful = deliveries.is_doubtful(waiting.commit_offset)
        if is_doubtful and deliveries.cannot_tell():
            return False
        entry = self._store.reader.entry(check_point.topic, check_point.queue_id, offset)
        record = None if entry is None or entry.is_filler else self._store.reader.record_at(entry.commit_offset)
        if record is None:
            if entry is not None and self._store.damaged.is_awaited(check_point.topic, check_point.queue_id, entry):
                return False
            events.warning("popped message is gone", topic=check_point.topic, queue_offset=offset)
            return True
        topic = check_point.topic
        if not names.is_retry_topic(topic):
            topic = names.pop_retry_topic(check_point.group, topic)
        if is_doubtful and deliveries.is_home(record, topic, waiting.store_timestamp):
            return True
        self._topics.create_own(topic, 1)
        properties = decode_properties(record.properties)
        properties.setdefault(FIRST_POP_TIME, str(check_point.pop_time))
        message = message_of(record, Home(topic, 0), properties)
        message.reconsume_times += 1
        message.prepared_transaction_offset = record.commit_offset
        result = message.put_to(self._store)
        self._counts.revive_retries[check_point.topic, check_point.group, PutStatus(result.status).name] += 1
        return result.ok or result.status in HOPELESS

    # -- progress ------------------------------------------------------------------------------------------------------

    def _progress(self) -> dict[int, int]:
        found = {
            queue.number: min((each.queue_offset for each in queue.waiting.values()), default=queue.next_offset)
            for queue in self._queues
        }
        return {number: offset for number, offset in found.items() if offset}

    def _commit(self, progress: dict[int, int]) -> None:
        for number, offset in progress.items():
            self._offsets.commit(GROUP, self.topic, number, offset)


def _kind(tag: str) -> str:
    """As RocketMQ counts them: an acknowledgement of several messages is one like any other."""
    return "CK" if tag == CHECK_POINT else "ACK"


class _Waiting(NamedTuple):
    """A check point that is not settled, and its record in the revive topic."""

    check_point: CheckPoint
    queue_offset: int
    commit_offset: int
    store_timestamp: int


class _ReviveQueue:
    """`waiting` are the check points that are not settled; `due` is a heap of when they are."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.next_offset = 0
        self.waiting: dict[Key, _Waiting] = {}
        self.due: list[tuple[int, int, Key]] = []

    def add(self, waiting: _Waiting) -> None:
        key = waiting.check_point.key
        if key not in self.waiting:
            self.waiting[key] = waiting
            heapq.heappush(self.due, (waiting.check_point.revive_time, waiting.queue_offset, key))
