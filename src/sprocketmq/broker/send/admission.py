"""May this be sent, and to which queue? Asked once for a topic, until something changes that the answer rests on:
a topic, a mapping of queues, the configuration, the pressure on the broker.

    static topic -> too many wait for the disk? -> pressure? -> gates -> time, name, topic (made where it may be),
    permission

Whoever may not send is told by RequestRefused.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.metrics.counter import LargeMessages
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.admitted_topics import AdmittedTopics, TopicAdmission
from sprocketmq.broker.send.backpressure import Pressure
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.tables.topics import UNIT, UNIT_SUBSCRIPTION, TopicTable
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from sprocketmq.protocol.permissions import PERM_WRITE
from sprocketmq.protocol.requests.send import SendRequest
from sprocketmq.remoting import Connection, Reply
from sprocketmq.remoting.peer import Peer

events = Events("sprocketmq.broker.send")

#: A send, or a reply: what an admission rests on has the same names in both.
Sent = SendRequest | SendMessageRequestHeader | SendMessageRequestHeaderV2


class SendAdmission:
    """`announce` tells the nameservers of new topics; it is awaited before the send that made one is answered."""

    def __init__(
        self, settings: Settings, topics: TopicTable, stats: Stats, pressure: Pressure, acks: Acks,
        static_topics: LogicalRequests, announce: Callable[[], Awaitable[None]], now_ms: Callable[[], int],
    ) -> None:  # fmt: skip
        self.admitted = AdmittedTopics()
        #: What else may speak against sends, by raising RequestRefused; whoever adds one calls `close` when it changes.
        self.gates: list[Callable[[], object]] = []
        self._settings = settings
        self._topics = topics
        self._stats = stats
        self._pressure = pressure
        self._acks = acks
        self._static_topics = static_topics
        self._static = TopicAdmission(0, [], LargeMessages(), takes=static_topics.take)
        self._announce = announce
        self._announcing: set[asyncio.Task[None]] = set()
        self._now_ms = now_ms
        self._configure(settings.current)
        settings.on_change.append(self._configure)
        pressure.on_change.append(self.close)
        topics.on_change.append(lambda _config: self.forget())

    def forget(self) -> None:
        """Have every topic admitted anew: what may be sent to it has changed."""
        self.admitted.topics.clear()

    def _configure(self, config: BrokerConfig) -> None:
        self.admitted.waiting_limit = config.send_thread_pool_queue_capacity
        self.close()
        self.forget()

    def close(self) -> None:
        """The next send is asked, and opens again where nothing speaks against it."""
        self.admitted.is_open = False

    def admit(self, connection: Connection, request: Command, sent: Sent) -> TopicAdmission:
        if self._static_topics.owns(sent.topic, request):
            return self._static
        waiting_limit = self.admitted.waiting_limit
        if len(self._acks) >= waiting_limit:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{waiting_limit} sends wait for the disk")
        self._pressure.refuse()
        for gate in self.gates:
            gate()
        self.admitted.is_open = True
        return self.admitted.topics.get(sent.topic) or self._admit(connection.peer, sent)

    def _admit(self, peer: Peer, sent: Sent) -> TopicAdmission:
        self._check(sent.topic)
        known = self._topics.get(sent.topic)
        topic = known or self._create(peer, sent)
        is_new = known is None or self._topics.unsaved(sent.topic) > 0
        self._check_permission(topic)
        queues = max(topic.read_queue_nums, topic.write_queue_nums)
        put = self._stats.topic(sent.topic)
        counters = put.grow(queues)
        special = sent.topic[:1] == "%"  # retries and dead letters: the interceptors look at all of them
        admission = TopicAdmission(queues, counters, put.large, special=special, is_new=is_new)
        if not is_new and sent.topic not in self._static_topics.topics:
            self.admitted.topics[sent.topic] = admission
        return admission

    def _check(self, topic: str) -> None:
        if self._now_ms() < self._settings.current.start_accept_send_request_time_stamp:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "this broker does not take messages yet")
        fault = names.topic_fault(topic)
        if fault is not None:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, fault)
        if names.is_closed_topic(topic):
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"clients may not send to {topic}")

    def _check_permission(self, topic: TopicConfig) -> None:
        if not topic.writable or (topic.order and not self._settings.current.broker_permission & PERM_WRITE):
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {topic.topic_name} may not be written")

    def _create(self, peer: Peer, sent: Sent) -> TopicConfig:
        if names.is_retry_topic(sent.topic):
            self._topics.refuse_too_many(sent.topic, peer)
            return self._topics.create_own(sent.topic, 1, sys_flag=UNIT_SUBSCRIPTION if sent.unit_mode else 0)
        flag = UNIT if sent.unit_mode else 0
        return self._topics.create_by_send(sent.topic, sent.default_topic, sent.default_topic_queue_nums, flag, peer)

    def choose_queue(self, sent: Sent, queues: int) -> int:
        """Below zero the broker chooses one of those that are written to."""
        if sent.queue_id >= queues:
            remark = f"topic {sent.topic} has {queues} queues, there is no queue {sent.queue_id}"
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
        topic = self._topics.get(sent.topic)
        writable = 0 if topic is None else topic.write_queue_nums
        if writable <= 0:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {sent.topic} has no queue to write to")
        return random.randrange(writable)  # noqa: S311 - spreads load

    def announce_first(self, connection: Connection, request: Command, topic: str, answer: bytes | None) -> Reply:
        """A producer that has its answer may tell a consumer of the topic: the route must be there by then.

        An answer that waits for the log waits for the topic, too.
        """
        unsaved = self._topics.unsaved(topic)
        if answer is None and unsaved:
            self._acks.answers.wait_for_topic(unsaved)
        if answer is None or request.is_oneway:
            return answer
        task = asyncio.ensure_future(self._reply_announced(connection, request, answer))
        self._announcing.add(task)
        task.add_done_callback(self._announcing.discard)
        return None

    async def _reply_announced(self, connection: Connection, request: Command, answer: bytes) -> None:
        try:
            await self._announce()
        except Exception as error:  # noqa: BLE001 - the edge of the task: its message is kept, and its producer waits
            events.error("new topic not announced", error)
        connection.reply(answer, request)
