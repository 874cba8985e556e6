"""What clients tell of themselves: heartbeats, goodbyes, subscription checks; and who else is in a group.

A heartbeat makes the group's retry topic. With a fingerprint (heartbeats of version 2) a client may leave its
subscriptions out while they have not changed: the answer says whether it must send them.
"""

from __future__ import annotations

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import Client, ConsumerGroup, ConsumerTable, ProducerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.topics import UNIT_SUBSCRIPTION, TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FilterError, RequestRefused
from sprocketmq.filter.expression import TAG, filter_of
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import GetConsumerListByGroupResponseBody
from sprocketmq.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, HeartbeatData
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.client import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.files import Clock

events = Events("sprocketmq.broker.heartbeat")

_FINGERPRINT = "heartbeat fingerprint"


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
        consumers.on_change.append(self._notify)

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.HEART_BEAT, self.heartbeat)
        table.add(RequestCode.UNREGISTER_CLIENT, self.unregister)
        table.add(RequestCode.GET_CONSUMER_LIST_BY_GROUP, self.consumer_list)
        table.add(RequestCode.CHECK_CLIENT_CONFIG, self.check_config)

    def heartbeat(self, connection: Connection, request: Command) -> Reply:
        data = codec.decode(HeartbeatData, request.body)
        if self._closed not in connection.on_closed:
            connection.on_closed.append(self._closed)
        now = self._clock.now_ms()
        for consumer in data.consumer_data_set:
            client = Client(connection, data.client_id, request.language, request.version, now)
            self._consume(consumer, client, without_subscriptions=data.without_sub)
        for producer in data.producer_data_set:
            client = Client(connection, data.client_id, request.language, request.version, now)
            self._producers.register(producer.group_name, client)
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

    def _consume(self, data: ConsumerData, client: Client, *, without_subscriptions: bool) -> None:
        group = self._groups.get(data.group_name)
        if group is None:  # it is not created by a heartbeat here: its pulls are told so
            return
        if names.topic_fault(names.retry_topic(data.group_name)) is None:
            flag = UNIT_SUBSCRIPTION if data.unit_mode else 0
            self._topics.create_own(names.retry_topic(data.group_name), group.retry_queue_nums, sys_flag=flag)
        self._consumers.register(data, client, keep_subscriptions=without_subscriptions)

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
