"""Messages that a consumer group could not consume: they come back later, and in the end go to the dead letters.

    %RETRY%group    what comes back, after a delay that grows with each try: level 3 + tries so far
    %DLQ%group      what was tried as often as the group allows

A consumer sends a message back by CONSUMER_SEND_MSG_BACK, which names the stored record. When that fails, it sends
the message itself to the retry topic, with the number of tries in the request; the same limit holds there. A group
that consumes in order must not get a message again behind others: what it sends to its retry topic is a dead letter.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from sprocketmq.auth.guard import check_stored
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.delivery import Home, message_of
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.queue_locks import QueueLocks
from sprocketmq.broker.tables.topics import UNIT_SUBSCRIPTION, TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.group import GroupRetryPolicy, SubscriptionGroupConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import GroupRetryPolicyType
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.send_back import ConsumerSendMsgBackRequestHeader
from sprocketmq.protocol.permissions import PERM_WRITE
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.properties import (
    DELAY,
    ORIGIN_MESSAGE_ID,
    RETRY_TOPIC,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    WAIT,
    decode_properties,
)
from sprocketmq.protocol.record.record import Record
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.remoting.peer import Peer
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore

DLQ_QUEUES = 1
#: What a message waited for before it came is no wish for its next try.
_WAITED = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS, TIMER_OUT_MS)
#: The delay level of the first try that comes back.
FIRST_LEVEL = 3
#: Clients from 3.4.9 on may say how often a message is tried.
_SENDS_MAX_TIMES = 121


class Retries:
    """`put` stores a message of the broker's own, delayed when it asks for that."""

    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable, locks: QueueLocks,
        stats: Stats, answers: SafeAnswers, put: Callable[[BrokerMessage], PutResult],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._locks = locks
        self._stats = stats
        self._answers = answers
        self._put = put

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.CONSUMER_SEND_MSG_BACK, self.send_back)

    # -- a consumer sends the message itself ---------------------------------------------------------------------------

    def intercept(self, message: BrokerMessage) -> None:
        """Bury a message for a retry topic that has been tried often enough."""
        request = message.request
        if request is None or not names.is_retry_topic(message.topic):
            return
        group = self._group(names.group_of_retries(message.topic), message.peer)
        limit = group.retry_max_times
        if message.client_version >= _SENDS_MAX_TIMES and request.max_reconsume_times is not None:
            limit = request.max_reconsume_times
        if message.reconsume_times > limit or self._locks.is_locked(group.group_name):
            message.properties[DELAY] = "0"
            self._stats.buried(group.group_name, message.properties.get(RETRY_TOPIC, message.topic))
            message.topic, message.queue_id = self._dead_letters(group.group_name)

    # -- a consumer sends the message back -----------------------------------------------------------------------------

    def send_back(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ConsumerSendMsgBackRequestHeader, request.ext_fields)
        group = self._group(header.group, connection.peer)
        if not self._settings.current.broker_permission & PERM_WRITE:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "this broker may not be written")
        if group.retry_queue_nums <= 0:
            return request.reply()
        record = self._store.reader.message_at(header.offset)
        if record is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no message at offset {header.offset}")
        check_stored(connection, request, record.topic)  # or a group could have any message of the broker
        limit = group.retry_max_times
        if request.version >= _SENDS_MAX_TIMES and header.max_reconsume_times is not None:
            limit = header.max_reconsume_times
        message = self._next_try(record, group, header.delay_level, limit, unit_mode=bool(header.unit_mode))
        result = self._put(message)
        if not result.ok:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store does not take the message back now")
        self._stats.sent_back(header.group, header.origin_topic or message.properties[RETRY_TOPIC])
        if message.topic == names.SCHEDULE_TOPIC:  # it is a message that waits, as one that was sent with a delay
            self._stats.put(message.topic, message.queue_id, 1, result.size)
        return self._answers.reply(connection, request)

    def _next_try(
        self, record: Record, group: SubscriptionGroupConfig, delay_level: int, limit: int, *, unit_mode: bool
    ) -> BrokerMessage:
        properties = decode_properties(record.properties)
        properties.setdefault(RETRY_TOPIC, record.topic)
        properties.setdefault(ORIGIN_MESSAGE_ID, offset_message_id(record.store_host, record.commit_offset))
        properties[WAIT] = "false"
        properties.pop(DELAY, None)
        if record.reconsume_times >= limit or delay_level < 0:
            self._stats.buried(group.group_name, properties[RETRY_TOPIC])
            properties[DELAY] = "0"
            home = self._dead_letters(group.group_name)
        else:
            for name in _WAITED:
                properties.pop(name, None)
            properties |= delay_of(group.group_retry_policy, record.reconsume_times, delay_level)
            home = self._retry_home(group, unit_mode=unit_mode)
        message = message_of(record, home, properties)
        message.reconsume_times += 1
        return message

    def _retry_home(self, group: SubscriptionGroupConfig, *, unit_mode: bool) -> Home:
        flag = UNIT_SUBSCRIPTION if unit_mode else 0
        topic = self._topics.create_own(names.retry_topic(group.group_name), group.retry_queue_nums, sys_flag=flag)
        if not topic.writable:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {topic.topic_name} may not be written")
        count = max(1, min(group.retry_queue_nums, topic.read_queue_nums))
        return Home(topic.topic_name, random.randrange(count))  # noqa: S311 - spreads load

    def _dead_letters(self, group: str) -> Home:
        topic = self._topics.create_own(names.dlq_topic(group), DLQ_QUEUES)
        return Home(topic.topic_name, 0)

    def _group(self, name: str, peer: Peer | None) -> SubscriptionGroupConfig:
        group = self._groups.get(name, peer)
        if group is None:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no group {name}")
        return group


def delay_of(policy: GroupRetryPolicy, tries: int, delay_level: int) -> dict[str, str]:
    """The property that makes the next try wait: the level asked for, else what the group's policy says."""
    if delay_level > 0:
        return {DELAY: str(delay_level)}
    if policy.type is GroupRetryPolicyType.EXPONENTIAL and policy.exponential_retry_policy is not None:
        growing = policy.exponential_retry_policy
        return {TIMER_DELAY_MS: str(min(growing.initial * growing.multiplier ** min(tries, 32), growing.max))}
    if policy.customized_retry_policy is not None and policy.customized_retry_policy.next:
        rests = policy.customized_retry_policy.next
        return {TIMER_DELAY_MS: str(rests[min(tries + 2, len(rests) - 1)])}
    return {DELAY: str(FIRST_LEVEL + tries)}
