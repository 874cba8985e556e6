"""How far groups have come: consume stats, time spans, and who consumes what."""

from __future__ import annotations

from collections.abc import Container

from sprocketmq.broker.admin.consumer_lag import Lag
from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import QuerySubscriptionResponseBody
from sprocketmq.protocol.bodies.group import GroupList
from sprocketmq.protocol.bodies.stats import (
    ConsumeStats,
    ConsumeStatsList,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
)
from sprocketmq.protocol.bodies.topic import TopicConfig, TopicList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.group import (
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)
from sprocketmq.protocol.headers.query import QueryConsumeTimeSpanRequestHeader
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore


class ProgressProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        offsets: ConsumerOffsets, consumers: ConsumerTable, stats: Stats, registration: Registration, clock: Clock,
        static_topics: Container[str],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._consumers = consumers
        self._registration = registration
        self._clock = clock
        self._lag = Lag(store, offsets, stats, static_topics)

    def add_to(self, table: ProcessorTable) -> None:
        table.add_long(RequestCode.GET_CONSUME_STATS, self.of_group)
        table.add_long(RequestCode.GET_BROKER_CONSUME_STATS, self.of_broker)
        table.add(RequestCode.QUERY_CONSUME_TIME_SPAN, self.time_span)
        table.add(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, self.groups_of_topic)
        table.add(RequestCode.QUERY_TOPICS_BY_CONSUMER, self.topics_of_group)
        table.add(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, self.subscription)

    # -- lag ----------------------------------------------------------------------------------------------------------

    def of_group(self, _connection: Connection, request: Command) -> Steps:
        header = from_ext_fields(GetConsumeStatsRequestHeader, request.ext_fields)
        group = header.consumer_group
        table: dict[object, object] = {}
        tps = 0.0
        for name in self._asked_for(header):
            config = self._topics.get(name)
            if config is not None:
                stats = self._stats_of(group, config)
                table |= codec.to_tree(stats)["offsetTable"]
                tps += stats.consume_tps
                yield
        body = yield from codec.encode_in_steps(ConsumeStats(consume_tps=tps), "offset_table", table)
        return request.reply(body=body)

    def _asked_for(self, header: GetConsumeStatsRequestHeader) -> list[str]:
        """Who lists topics hears of them all; else of those that the group consumes now."""
        if listed := dict.fromkeys(topic for topic in (header.topic_list or "").split(";") if topic):
            return list(listed)
        group = header.consumer_group
        topics = [header.topic] if header.topic else sorted(self._offsets.topics_of(group))
        return [topic for topic in topics if self._still_wants(group, topic)]

    def _stats_of(self, group: str, topic: TopicConfig) -> ConsumeStats:
        return self._lag.of(group, topic, self._settings.current.broker_name)

    def _still_wants(self, group: str, topic: str) -> bool:
        """A group that is online and subscribes to other topics has left this one."""
        online = self._consumers.get(group)
        return online is None or not online.subscriptions or topic in online.subscriptions

    def of_broker(self, _connection: Connection, request: Command) -> Steps:
        header = from_ext_fields(GetConsumeStatsInBrokerHeader, request.ext_fields)
        trees: list[object] = []
        diff = inflight = 0
        topics_by_group = self._offsets.topics_by_group()
        for group in list(self._groups.configs):
            known = [self._topics.get(topic) for topic in topics_by_group.get(group, ())]
            topics = [topic for topic in known if topic is not None and (topic.order or not header.is_order)]
            of_group = []
            for topic in topics:
                if self._still_wants(group, topic.topic_name):
                    stats = self._stats_of(group, topic)
                    queues = stats.offset_table.values()
                    diff += sum(queue.broker_offset - queue.consumer_offset for queue in queues)
                    inflight += sum(queue.pull_offset - queue.consumer_offset for queue in queues)
                    of_group.append(codec.to_tree(stats))
                    yield
            trees.append({group: of_group})
        told = ConsumeStatsList(broker_addr=self._registration.address, total_diff=diff, total_inflight_diff=inflight)
        body = yield from codec.encode_in_steps(told, "consume_stats_list", trees, depth=3)
        return request.reply(body=body)

    # -- time ---------------------------------------------------------------------------------------------------------

    def time_span(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(QueryConsumeTimeSpanRequestHeader, request.ext_fields)
        config = self._topics.get(header.topic)
        if config is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {header.topic}")
        found = [self._span(header.group, header.topic, queue_id) for queue_id in range(config.write_queue_nums)]
        body = QueryConsumeTimeSpanBody(consume_time_span_set=tuple(span for span in found if span is not None))
        return request.reply(body=codec.encode(body))

    def _span(self, group: str, topic: str, queue_id: int) -> QueueTimeSpan | None:
        """The times of a queue's first and last message and of what the group has consumed.

        None for a queue without messages.
        """
        low, high = self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id)
        if high <= low:
            return None
        committed = self._offsets.query(group, topic, queue_id) or low
        first = self._time(topic, queue_id, low)
        delay = 0
        if committed < high:
            delay = self._clock.now_ms() - self._time(topic, queue_id, max(committed, low))
        return QueueTimeSpan(
            message_queue=MessageQueue(topic, self._settings.current.broker_name, queue_id),
            min_time_stamp=first,
            max_time_stamp=self._time(topic, queue_id, high - 1),
            consume_time_stamp=self._time(topic, queue_id, committed - 1) if committed > low else first,
            delay_time=delay,
        )

    def _time(self, topic: str, queue_id: int, offset: int) -> int:
        return max(self._store.reader.message_store_timestamp(topic, queue_id, offset), 0)

    # -- who and what -------------------------------------------------------------------------------------------------

    def groups_of_topic(self, _connection: Connection, request: Command) -> Reply:
        topic = from_ext_fields(QueryTopicConsumeByWhoRequestHeader, request.ext_fields).topic
        groups = self._consumers.groups_of(topic) | self._offsets.groups_of(topic)
        return request.reply(body=codec.encode(GroupList(group_list=frozenset(groups))))

    def topics_of_group(self, _connection: Connection, request: Command) -> Reply:
        group = from_ext_fields(QueryTopicsByConsumerRequestHeader, request.ext_fields).group
        topics = frozenset(self._offsets.topics_of(group))
        return request.reply(body=codec.encode(TopicList(topic_list=topics, broker_addr=self._registration.address)))

    def subscription(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(QuerySubscriptionByConsumerRequestHeader, request.ext_fields)
        online = self._consumers.get(header.group)
        wanted = None if online is None else online.subscriptions.get(header.topic or "")
        body = QuerySubscriptionResponseBody(
            subscription_data=None if wanted is None else wanted.data, group=header.group, topic=header.topic or ""
        )
        return request.reply(body=codec.encode(body))
