"""Asking producers about transactions that nobody has ended.

A half message is checked first when its immunity is over, then every `transactionCheckInterval`. A check appends a copy
of the half with one more try in TRANSACTION_CHECK_TIMES and asks one living client of the producer group; its answer is
an END_TRANSACTION. Who may not end the transaction is not asked: anybody can say that he is of the group, and a check
carries the message. While no client of the group is there, nobody is asked and no try is counted. After
`transactionCheckMax` tries, or when the log is about to forget it, the message goes to TRANS_CHECK_MAX_TIME_TOPIC.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.alarm import Alarm, Steady
from sprocketmq.broker.system_topics.delivery import Home, home_of, message_of
from sprocketmq.broker.tables.group_members import ProducerTable
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.broker.transaction.half_messages import Half, OpenHalves
from sprocketmq.broker.transaction.handler import immunity_ms
from sprocketmq.broker.transaction.written_log import QUEUE
from sprocketmq.codes import RequestCode
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.transaction import CheckTransactionStateRequestHeader
from sprocketmq.protocol.names import TRANSACTION_CHECK_MAX_TOPIC, TRANSACTION_HALF_TOPIC
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.properties import (
    PRODUCER_GROUP,
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    UNIQUE_KEY,
    encode_properties,
)
from sprocketmq.protocol.record.record import encode_record
from sprocketmq.remoting import Connection
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.transaction")

#: Whether the peer of a connection may end transactions of a topic.
MayEnd = Callable[[Connection, str], bool]

#: Checks in one turn of the loop.
TURN = 100
#: A damaged half is looked at again after so long, while others are asked for it.
_MENDING_MS = 1000
_HOUR_MS = 3_600_000


class TransactionChecks:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, producers: ProducerTable,
        halves: OpenHalves, clock: Clock, may_end: MayEnd,
    ) -> None:  # fmt: skip
        self._steady = Steady(clock)
        self.alarm = Alarm("transaction checks", self._steady, self._check_due)
        self._settings = settings
        self._store = store
        self._topics = topics
        self._producers = producers
        self._halves = halves
        self._clock = clock
        self._may_end = may_end
        self._due: list[tuple[int, int]] = []
        self._turns = count()
        self._ahead_ms = 0
        self._load_again_ms = 0

    def start(self) -> None:
        self._ahead_ms = self._clock.now_ms() - self._steady.now_ms()
        self._load()
        self.alarm.start()

    def _load(self) -> None:
        config = self._settings.current
        self._due.clear()
        for offset, half in self._halves.load():
            wait = immunity_ms(half.properties, config.transaction_time_out)
            if half.checks:
                wait = config.transaction_check_interval
            waited = self._clock.now_ms() - half.record.store_timestamp
            self.expect(offset, wait - max(0, min(waited, wait)))
        self._load_again_ms = self._steady.now_ms() + _MENDING_MS
        if self._halves.is_awaiting:
            self.alarm.set(self._load_again_ms)

    def expect(self, offset: int, wait_ms: int) -> None:
        """Check the half at this queue offset after that time, when it is still open."""
        due_ms = self._steady.now_ms() + wait_ms
        heapq.heappush(self._due, (due_ms, offset))
        self.alarm.set(due_ms)

    def _check_due(self) -> None:
        now = self._steady.now_ms()
        if self._halves.is_awaiting:
            self._load_when_mended(now)
        for _ in range(TURN):
            if not self._due or self._due[0][0] > now:
                break
            offset = heapq.heappop(self._due)[1]
            if offset in self._halves.open:
                # A transaction is too old when both say so: the wall clock, which may be set, and the one of the start.
                self._check(offset, min(self._clock.now_ms(), now + self._ahead_ms))
        if self._due:
            self.alarm.set(self._due[0][0])

    def _load_when_mended(self, now: int) -> None:
        """What was ended meanwhile must be in the log first: that is all a load goes by."""
        if now >= self._load_again_ms:
            self._load_again_ms = now + _MENDING_MS
            self._halves.write_marks()
            if self._halves.are_marked:
                self._load()
        if self._halves.is_awaiting:
            self.alarm.set(self._load_again_ms)

    def _check(self, offset: int, now: int) -> None:
        config = self._settings.current
        if offset >= self._store.max_offset(TRANSACTION_HALF_TOPIC, QUEUE):  # its flush or its replicas are late
            self.expect(offset, config.transaction_check_interval)
            return
        half = self._halves.read(offset)
        if half is None and self._halves.is_awaited(offset):
            self.expect(offset, _MENDING_MS)
            return
        if half is None:
            events.error("half message is gone", queue_offset=offset)
            self._halves.closed(offset)
            return
        half = half._replace(first=self._halves.open[offset])
        kept_ms = self._store.config.file_reserved_time * _HOUR_MS
        if half.checks >= config.transaction_check_max or now - half.record.born_timestamp > kept_ms > 0:
            self._give_up(half, offset)
            return
        producer = self._living(half.properties)
        copied = None if producer is None else self._copy(half)
        if producer is None or copied is None:
            self.expect(offset, config.transaction_check_interval)
            return
        self._halves.opened(copied.queue_offset, copied.commit_offset, half.first)
        self.expect(copied.queue_offset, config.transaction_check_interval)
        self._ask(producer, half, copied)

    def _living(self, properties: dict[str, str]) -> Connection | None:
        """One client of the group, in turns."""
        group, topic = properties.get(PRODUCER_GROUP, ""), properties.get(REAL_TOPIC, "")
        members = [
            connection
            for connection in self._producers.groups.get(group, ())
            if not connection.closed and self._may_end(connection, topic)
        ]
        return members[next(self._turns) % len(members)] if members else None

    def _copy(self, half: Half) -> PutResult | None:
        half.properties[TRANSACTION_CHECK_TIMES] = str(half.checks + 1)
        half.properties[TRAN_PREPARED_QUEUE_OFFSET] = str(half.first)
        result = message_of(half.record, Home(TRANSACTION_HALF_TOPIC, QUEUE), half.properties).put_to(self._store)
        return result if result.ok else None

    def _ask(self, producer: Connection, half: Half, copied: PutResult) -> None:
        home = home_of(half.properties) or Home(TRANSACTION_HALF_TOPIC, QUEUE)
        key = half.properties.get(UNIQUE_KEY)
        header = CheckTransactionStateRequestHeader(
            topic=TRANSACTION_HALF_TOPIC,
            tran_state_table_offset=copied.queue_offset,
            commit_log_offset=copied.commit_offset,
            msg_id=key,
            transaction_id=key,
            offset_msg_id=offset_message_id(self._store.appender.store_host, copied.commit_offset),
        )
        body = encode_record(
            half.record.replace(
                topic=home.topic,
                queue_id=home.queue_id,
                queue_offset=copied.queue_offset,
                commit_offset=copied.commit_offset,
                properties=encode_properties(half.properties).encode(),
            )
        )
        fields = to_ext_fields(header) | {"bname": self._settings.current.broker_name}
        producer.send(Command(RequestCode.CHECK_TRANSACTION_STATE, ext_fields=fields, body=body))

    def _give_up(self, half: Half, offset: int) -> None:
        topic = self._topics.create_own(TRANSACTION_CHECK_MAX_TOPIC, 1)
        result = message_of(half.record, Home(topic.topic_name, 0), half.properties).put_to(self._store)
        if not result.ok:
            self.expect(offset, self._settings.current.transaction_check_interval)
            return
        events.warning("transaction given up", queue_offset=offset, checks=half.checks)
        self._halves.end(half)
