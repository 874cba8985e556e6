"""Acknowledging what POP handed out: ACK_MESSAGE, BATCH_ACK_MESSAGE, CHANGE_MESSAGE_INVISIBLETIME."""

from __future__ import annotations

from functools import partial

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pop.order import PopOrder, check_take
from sprocketmq.broker.pop.records import MAX_MESSAGES, ORDERLY, CheckPoint, PopAck, parse_extra_info, topic_of
from sprocketmq.broker.pop.revive import Revive
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps, each
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore


class PopAcks:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, stats: Stats, clock: Clock, revive: Revive,
        order: PopOrder, answers: SafeAnswers,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._stats = stats
        self._clock = clock
        self._revive = revive
        self._order = order
        self._answers = answers

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.ACK_MESSAGE, self.ack)
        table.add_long(RequestCode.BATCH_ACK_MESSAGE, self.batch_ack)
        table.add(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, self.change_invisible_time)

    def ack(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(AckMessageRequestHeader, request.ext_fields)
        self._ack_one(header.topic, header.consumer_group, header.queue_id, header.offset, header.extra_info)
        return self._answers.reply(connection, request)

    def batch_ack(self, connection: Connection, request: Command) -> Steps:
        """Of thousands of check points, perhaps: others have their turns meanwhile."""
        body, (acks,) = codec.decode_apart(BatchAckMessageRequestBody, request.body, "acks")
        broker_name = body.broker_name or self._settings.current.broker_name
        yield from each(acks, partial(self._ack_many, broker_name))
        return self._answers.reply(connection, request)

    def change_invisible_time(self, connection: Connection, request: Command) -> Reply:
        """A new check point for the one message, and an acknowledgement for the old."""
        header = from_ext_fields(ChangeInvisibleTimeRequestHeader, request.ext_fields)
        info, now = parse_extra_info(header.extra_info), self._clock.now_ms()
        topic = info.real_topic(header.topic, header.consumer_group)
        self._check(topic, header.queue_id, header.offset)
        check_take(header.invisible_time, self._settings.current.longest_invisible_ms)
        if info.revive_queue_id == ORDERLY:
            until = now + header.invisible_time
            self._order.hide(topic, header.consumer_group, header.queue_id, header.offset, info.pop_time, until)
            return self._changed(request, info.pop_time, until - info.pop_time, ORDERLY)
        now = max(now, info.pop_time + 1)  # or the acknowledgement of the old check point would settle the new one
        check_point = CheckPoint(
            start_offset=header.offset, pop_time=now, invisible_time=header.invisible_time, topic=topic,
            group=header.consumer_group, queue_id=header.queue_id, broker_name=info.broker_name,
            offsets=[header.offset], acked=set(),
        )  # fmt: skip
        if not self._revive.put_check_point(check_point, info.revive_queue_id):
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store takes no check point now")
        self._ack_one(header.topic, header.consumer_group, header.queue_id, header.offset, header.extra_info)
        changed = self._changed(request, now, header.invisible_time, info.revive_queue_id)
        return self._answers.reply(connection, request, changed)

    def _changed(self, request: Command, pop_time: int, invisible_time: int, revive_queue_id: int) -> Command:
        header = ChangeInvisibleTimeResponseHeader(
            pop_time=pop_time, invisible_time=invisible_time, revive_qid=revive_queue_id
        )
        return request.reply(ext_fields=to_ext_fields(header))

    def _ack_one(self, asked: str, group: str, queue_id: int, offset: int, extra_info: str) -> None:
        info = parse_extra_info(extra_info)
        topic = info.real_topic(asked, group)
        self._check(topic, queue_id, offset)
        self._stats.acked(group, topic, 1)
        if info.revive_queue_id == ORDERLY:
            self._order.ack(topic, group, queue_id, offset, info.pop_time)
            return
        ack = PopAck(
            offsets=(offset,), start_offset=info.start_offset, topic=topic, group=group, queue_id=queue_id,
            pop_time=info.pop_time, broker_name=info.broker_name,
        )  # fmt: skip
        self._put(ack, info.revive_queue_id, info.pop_time + info.invisible_time)

    def _ack_many(self, broker_name: str, batch: BatchAck) -> None:
        if batch.count > MAX_MESSAGES:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, f"a check point is of {MAX_MESSAGES} messages at most")
        topic = topic_of(batch.topic, batch.consumer_group, batch.retry or "0")
        offsets = tuple(batch.offsets())
        for offset in offsets:
            self._check(topic, batch.queue_id, offset)
        self._stats.acked(batch.consumer_group, topic, len(offsets))
        if batch.revive_queue_id == ORDERLY:
            for offset in offsets:
                self._order.ack(topic, batch.consumer_group, batch.queue_id, offset, batch.pop_time)
        elif offsets:
            ack = PopAck(
                offsets=offsets, start_offset=batch.start_offset, topic=topic, group=batch.consumer_group,
                queue_id=batch.queue_id, pop_time=batch.pop_time, broker_name=broker_name,
            )  # fmt: skip
            self._put(ack, batch.revive_queue_id, batch.pop_time + batch.invisible_time)

    def _put(self, ack: PopAck, revive_queue_id: int, revive_time: int) -> None:
        if not self._revive.put_ack(ack, revive_queue_id, revive_time):
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store takes no acknowledgement now")

    def _check(self, topic: str, queue_id: int, offset: int) -> None:
        config = self._topics.get(topic)
        if config is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {topic}")
        if not 0 <= queue_id < config.read_queue_nums:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, f"topic {topic} has no queue {queue_id}")
        if not self._store.min_offset(topic, queue_id) <= offset < self._store.max_offset(topic, queue_id):
            raise RequestRefused(ResponseCode.NO_MESSAGE, f"queue {queue_id} of {topic} has no message at {offset}")
