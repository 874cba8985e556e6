"""What clients tell of themselves: heartbeats, goodbyes, subscription checks; and who else is in a group.

A heartbeat makes the group's retry topic. With a fingerprint (heartbeats of version 2) a client may leave its
subscriptions out while they have not changed: the answer says whether it must send them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TypeVar

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import Client, ConsumerGroup, ConsumerTable, ProducerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.topics import UNIT_SUBSCRIPTION, TopicTable, own_topic
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FilterError, RequestRefused
from sprocketmq.filter.expression import filter_of
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import GetConsumerListByGroupResponseBody
from sprocketmq.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, HeartbeatData
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.client import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from sprocketmq.protocol.names import TAG
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps, each
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.heartbeat")

_FINGERPRINT = "heartbeat fingerprint"
#: Groups whose retry topics are made with one write to disk.
GROUPS_AT_ONCE = 64


class ClientProcessors:
    def __init__(
        self, settings: Settings, topics: TopicTable, groups: GroupTable, producers: ProducerTable,
        consumers: ConsumerTable, clock: Clock,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._topics = topics
        self._groups = groups
        self._producers = producers
        self._consumers = consumers
        self._clock = clock
        self.refused = 0
        consumers.on_change.append(self._notify)

    def add_to(self, table: ProcessorTable) -> None:
        table.add_long(RequestCode.HEART_BEAT, self.heartbeat)
        table.add(RequestCode.UNREGISTER_CLIENT, self.unregister)
        table.add(RequestCode.GET_CONSUMER_LIST_BY_GROUP, self.consumer_list)
        table.add(RequestCode.CHECK_CLIENT_CONFIG, self.check_config)

    def heartbeat(self, connection: Connection, request: Command) -> Steps:
        """One client with hundreds of groups must not keep all others waiting: it takes turns with them."""
        data, (consumers, producers) = codec.decode_apart(
            HeartbeatData, request.body, "consumer_data_set", "producer_data_set"
        )
        self._refuse(names.client_id_fault(data.client_id) or self._too_many_groups(len(consumers) + len(producers)))
        heard: list[ConsumerData] = []
        yield from each(consumers, heard.append)
        self._refuse(self._too_many_subscriptions(heard))
        producer_groups: list[str] = []
        yield from each(producers, lambda producer: producer_groups.append(producer.group_name))
        if self._closed not in connection.on_closed:
            connection.on_closed.append(self._closed)

        def client() -> Client:
            now, seen = self._clock.now_ms(), self._clock.monotonic_ms()
            return Client(connection, data.client_id, request.language, request.version, now, seen)

        def register(consumer: ConsumerData) -> None:
            if consumer.group_name in self._groups.configs:  # else its pulls are told so
                self._consumers.register(consumer, client(), keep_subscriptions=data.without_sub)

        for some in _batches(heard):
            yield from self._make_retry_topics(connection, some)
            yield from each(some, register)
        yield from each(producer_groups, lambda group: self._producers.register(group, client()))
        return self._registered(connection, request, data)

    def _too_many_groups(self, count: int) -> str | None:
        most = self._settings.current.max_groups_per_heartbeat
        return f"a heartbeat of {count} groups, more than {most}" if count > most else None

    def _too_many_subscriptions(self, consumers: Sequence[ConsumerData]) -> str | None:
        most = self._settings.current.max_subscriptions_per_heartbeat
        count = sum(len(consumer.subscription_data_set) for consumer in consumers)
        return f"a heartbeat of {count} subscriptions, more than {most}" if count > most else None

    def _refuse(self, fault: str | None) -> None:
        if fault is not None:
            self.refused += 1
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)

    def _registered(self, connection: Connection, request: Command, data: HeartbeatData) -> Command:
        changed = self._fingerprint_changed(connection, data)
        return request.reply(
            ext_fields={"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true" if changed else "false"}
        )

    def _fingerprint_changed(self, connection: Connection, data: HeartbeatData) -> bool:
        """Whether the client must send its subscriptions; one that did has them known under its fingerprint."""
        if data.heartbeat_fingerprint == 0:
            return True
        known = connection.attributes.get(_FINGERPRINT)
        if not data.without_sub:
            connection.attributes[_FINGERPRINT] = data.heartbeat_fingerprint
        return bool(known != data.heartbeat_fingerprint)

    def _make_retry_topics(
        self, connection: Connection, consumers: Sequence[ConsumerData]
    ) -> Generator[None, None, None]:
        """Those of groups that are known, or come by themselves, all at once: each write to disk takes its time."""
        wanted: list[TopicConfig] = []

        def want(data: ConsumerData) -> None:
            group = self._groups.get(data.group_name, connection.peer)
            topic = names.retry_topic(data.group_name)
            if group is not None and names.topic_fault(topic) is None:
                flag = UNIT_SUBSCRIPTION if data.unit_mode else 0
                wanted.append(own_topic(topic, group.retry_queue_nums, sys_flag=flag))

        yield from each(consumers, want)
        self._topics.create_all_own(wanted)

    def unregister(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(UnregisterClientRequestHeader, request.ext_fields)
        if header.producer_group:
            self._producers.unregister(header.producer_group, connection)
        if header.consumer_group:
            self._consumers.unregister(header.consumer_group, connection)
        return request.reply()

    def _closed(self, connection: Connection) -> None:
        self._producers.connection_closed(connection)
        self._consumers.connection_closed(connection)

    def consumer_list(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetConsumerListByGroupRequestHeader, request.ext_fields)
        group = self._consumers.get(header.consumer_group)
        if group is None:
            remark = f"no consumer of group {header.consumer_group} is known here"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        ids = tuple(dict.fromkeys(group.client_ids()))
        return request.reply(body=codec.encode(GetConsumerListByGroupResponseBody(consumer_id_list=ids)))

    def check_config(self, _connection: Connection, request: Command) -> Reply:
        """Whether a subscription beyond tags would be served; a client asks before it starts."""
        wanted = codec.decode(CheckClientRequestBody, request.body).subscription_data
        if wanted is None or wanted.expression_type in ("", TAG):
            return request.reply()
        if not self._settings.current.enable_property_filter:
            remark = "this broker does not filter by properties; its enablePropertyFilter is false"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        try:
            filter_of(wanted.expression_type, wanted.sub_string)
        except FilterError as error:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None
        return request.reply()

    def _notify(self, group: ConsumerGroup) -> None:
        """Tell the members that they share the queues anew. In broadcasting each has all of them: nothing to share."""
        settings = self._groups.configs.get(group.name)
        enabled = settings is None or settings.notify_consumer_ids_changed_enable
        if group.is_broadcasting or not enabled or not self._settings.current.notify_consumer_ids_changed_enable:
            return
        for connection in tuple(group.members):
            notice = Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ext_fields={"consumerGroup": group.name})
            connection.send(notice)


T = TypeVar("T")


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + GROUPS_AT_ONCE] for at in range(0, len(items), GROUPS_AT_ONCE))
