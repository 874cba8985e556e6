"""Transactional messages: a half message first, then END_TRANSACTION commits it or rolls it back.

    send with TRAN_MSG      rests in RMQ_SYS_TRANS_HALF_TOPIC, unseen by consumers
    END_TRANSACTION         commit: stored in its own topic, then marked; rollback: marked
    neither comes           the producer is asked, see `check_back`

An END_TRANSACTION must name the half exactly: its producer group, its queue offset and its place in the log. One for a
transaction that has ended changes nothing, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.auth.guard import check_stored
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.delivery import home_of, message_of, redirect
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.transaction.half_messages import Half, OpenHalves
from sprocketmq.broker.transaction.written_log import QUEUE
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.transaction import EndTransactionRequestHeader
from sprocketmq.protocol.names import TRANSACTION_HALF_TOPIC
from sprocketmq.protocol.record.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    DELAY,
    PRODUCER_GROUP,
    REAL_TOPIC,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_ID,
    TRANSACTION_PROPERTY,
    UNIQUE_KEY,
)
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK, with_transaction_type
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore

_TIMES = (DELAY, TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
#: What a check notes in its copy of a half.
_OF_A_COPY = (TRAN_PREPARED_QUEUE_OFFSET, TRANSACTION_CHECK_TIMES)

#: Told of a half that was stored: its queue offset, and after how long it may first be checked.
Opened = Callable[[int, int], object]


class Transactions:
    def __init__(
        self, settings: Settings, store: MessageStore, halves: OpenHalves, stats: Stats, answers: SafeAnswers,
        on_opened: Opened,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._halves = halves
        self._stats = stats
        self._answers = answers
        self._on_opened = on_opened

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.END_TRANSACTION, self.end)

    def intercept(self, message: BrokerMessage) -> None:
        """Let a half message rest. It cannot be delayed as well: its time comes with the commit. And it begins a line,
        whatever its sender says: one that sends on what it got would name the transaction of somebody else.
        """
        properties = message.properties
        if message.request is None or properties.get(TRANSACTION_PROPERTY, "").lower() != "true":
            return
        if message.reconsume_times > 0 and DELAY in properties:  # a retry of a message that was one
            return
        if self._settings.current.reject_transaction_message:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "this broker takes no transactional messages")
        for name in (*_TIMES, *_OF_A_COPY):
            properties.pop(name, None)
        properties[TRANSACTION_ID] = properties[UNIQUE_KEY]
        message.sys_flag = with_transaction_type(message.sys_flag, 0)
        redirect(message, TRANSACTION_HALF_TOPIC, QUEUE)
        immunity = immunity_ms(properties, self._settings.current.transaction_time_out)
        topic = properties[REAL_TOPIC]
        message.on_stored.append(lambda result: self._opened(result, topic, immunity))

    def _opened(self, result: PutResult, topic: str, immunity: int) -> None:
        self._halves.opened(result.queue_offset, result.commit_offset)
        self._halves.resting.add(topic, 1)
        self._on_opened(result.queue_offset, immunity)

    def end(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(EndTransactionRequestHeader, request.ext_fields)
        verdict = header.commit_or_rollback
        if verdict not in (TRANSACTION_COMMIT, TRANSACTION_ROLLBACK):
            return request.reply()  # the producer does not know yet: it is asked again later
        half = self._named(header)
        check_stored(connection, request, half.properties.get(REAL_TOPIC, ""))
        if self._halves.find(half) is None:  # what ended it may be written and not safe yet
            return self._answers.reply(connection, request)
        self._refuse_late(half, header)
        if verdict == TRANSACTION_COMMIT:
            self._deliver(half)
            self._count(half, committed=True)
            reply = self._answers.reply(connection, request)  # its message is what counts; the mark may follow
            self._halves.end(half)
            return reply
        self._halves.end(half)
        self._count(half, committed=False)
        self._halves.write_marks()
        return self._answers.reply(connection, request)

    def _count(self, half: Half, *, committed: bool) -> None:
        after_ms = self._store.clock.now_ms() - half.record.born_timestamp
        self._stats.special.finished(half.properties.get(REAL_TOPIC, ""), after_ms, committed=committed)

    def _named(self, header: EndTransactionRequestHeader) -> Half:
        half = self._halves.at(header.commit_log_offset)
        if half is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no half message at {header.commit_log_offset}")
        if half.properties.get(PRODUCER_GROUP) != header.producer_group:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the half message is of another producer group")
        if half.record.queue_offset != header.tran_state_table_offset:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the half message has another queue offset")
        return half

    def _refuse_late(self, half: Half, header: EndTransactionRequestHeader) -> None:
        """Whoever set an immunity time is asked after it, and only that answer counts."""
        if header.from_transaction_check or CHECK_IMMUNITY_TIME_IN_SECONDS not in half.properties:
            return
        immunity = immunity_ms(half.properties, self._settings.current.transaction_time_out)
        if self._store.clock.now_ms() - half.record.store_timestamp > immunity:
            raise RequestRefused(ResponseCode.ILLEGAL_OPERATION, "the time of this transaction is over")

    def _deliver(self, half: Half) -> None:
        home = home_of(half.properties)
        if home is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the half message does not say where it belongs")
        message = message_of(half.record, home, half.properties)
        message.sys_flag = with_transaction_type(message.sys_flag, TRANSACTION_COMMIT)
        message.prepared_transaction_offset = half.record.commit_offset
        result = message.put_to(self._store)
        if not result.ok:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store does not take the message now")
        self._stats.put(home.topic, home.queue_id, 1, result.size)


def immunity_ms(properties: dict[str, str], default_ms: int) -> int:
    """How long a half message is not checked."""
    seconds = number_in(properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS))
    return default_ms if seconds is None or seconds < 0 else seconds * 1000
