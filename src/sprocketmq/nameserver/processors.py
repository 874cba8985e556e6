"""What brokers and clients ask of a nameserver: registrations, routes, lists of topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.nameserver.brokers import BrokerRegistration, LiveBroker
from sprocketmq.nameserver.kvconfig import KVConfig
from sprocketmq.nameserver.registration_checks import checked, is_topic
from sprocketmq.nameserver.routes import RouteTable
from sprocketmq.nameserver.settings import NameserverSettings
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import BrokerMemberGroup, GetBrokerMemberGroupResponseBody
from sprocketmq.protocol.bodies.compressed_registration import decode_compressed
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.registration import KVTable, RegisterBrokerBody
from sprocketmq.protocol.bodies.route import TopicRouteData
from sprocketmq.protocol.bodies.topic import TopicList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.nameserver import (
    BrokerHeartbeatRequestHeader,
    GetBrokerMemberGroupRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    RegisterTopicRequestHeader,
    UnRegisterBrokerRequestHeader,
)
from sprocketmq.protocol.names import ORDER_TOPIC_CONFIG
from sprocketmq.protocol.rocketmq_versions import V3_0_11, V4_9_4
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply

events = Events("sprocketmq.nameserver.processors")

_UNIT, _UNIT_SUBSCRIPTION = 1, 2
_ZONE = "__ZONE_NAME"


class RouteProcessors:
    def __init__(self, routes: RouteTable, kv: KVConfig, settings: NameserverSettings) -> None:
        self._routes = routes
        self._kv = kv
        self._settings = settings
        self._encoded: dict[tuple[str, bool], bytes] = {}
        self._encoded_state = (0, 0, 0)

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.REGISTER_BROKER, self.register_broker)
        table.add(RequestCode.UNREGISTER_BROKER, self.unregister_broker)
        table.add(RequestCode.BROKER_HEARTBEAT, self.heartbeat)
        table.add(RequestCode.QUERY_DATA_VERSION, self.query_data_version)
        table.add(RequestCode.REGISTER_TOPIC_IN_NAMESRV, self.register_topic)
        table.add(RequestCode.GET_BROKER_MEMBER_GROUP, self.member_group)
        table.add(RequestCode.GET_ROUTEINFO_BY_TOPIC, self.route)
        table.add(RequestCode.GET_BROKER_CLUSTER_INFO, self.cluster_info)
        table.add(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, self.all_topics)
        table.add(RequestCode.GET_TOPICS_BY_CLUSTER, self.topics_by_cluster)
        table.add(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, self.system_topics)
        table.add(RequestCode.GET_UNIT_TOPIC_LIST, self._by_flag(lambda flag: bool(flag & _UNIT)))
        table.add(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, self._by_flag(lambda flag: bool(flag & _UNIT_SUBSCRIPTION)))
        table.add(
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
            self._by_flag(lambda flag: flag & (_UNIT | _UNIT_SUBSCRIPTION) == _UNIT_SUBSCRIPTION),
        )

    # -- brokers ----------------------------------------------------------------------------------------------------

    def register_broker(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(RegisterBrokerRequestHeader, request.ext_fields)
        if header.body_crc32 and header.body_crc32 != crc32(request.body) & 0x7FFFFFFF:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the checksum of the registration does not match its body")
        body = _registration_body(request, header.compressed)
        coming = BrokerRegistration(
            cluster=header.cluster_name,
            name=header.broker_name,
            broker_id=header.broker_id,
            address=header.broker_addr,
            ha_address=header.ha_server_addr,
            zone=(request.ext_fields or {}).get(_ZONE),
            expiry_ms=header.heartbeat_timeout_millis,
            acting_master=header.enable_acting_master,
            topics=body.topic_config_serialize_wrapper,
            filter_servers=body.filter_server_list,
            session=connection,
        )
        self._refuse_other(connection, coming.address, (coming.name, coming.broker_id))
        registered = self._routes.register(
            checked(coming, connection.peer),
            delete_absent=self._settings.current.delete_topic_with_broker_registration,
        )
        if self.connection_closed not in connection.on_closed:
            connection.on_closed.append(self.connection_closed)
        if registered.is_new:
            events.info(
                "broker registered", cluster=header.cluster_name, broker=header.broker_name, id=header.broker_id,
                address=header.broker_addr, topics=len(body.topic_config_serialize_wrapper.topic_config_table),
                peer=connection.peer,
            )  # fmt: skip
        answer = RegisterBrokerResponseHeader(
            ha_server_addr=registered.ha_address, master_addr=registered.master_address
        )
        return request.reply(ext_fields=to_ext_fields(answer), body=self._order_topics())

    def unregister_broker(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(UnRegisterBrokerRequestHeader, request.ext_fields)
        self._refuse_other(connection, header.broker_addr)
        live = self._routes.unregister(header.cluster_name, header.broker_name, header.broker_addr)
        if live is not None:
            log_gone(live, "unregistered")
        return request.reply()

    def _refuse_other(self, connection: Connection, address: str, again: tuple[str, int] | None = None) -> None:
        """A broker takes back what it registered itself, over that connection or another one from its machine.

        To register an address under another name or id takes the old record back as well; `again` is what it says now.
        """
        for live in self._routes.at(address):
            session = live.session
            if (live.name, live.broker_id) == again:
                continue
            if isinstance(session, Connection) and session.peer.host != connection.peer.host:
                events.warning("not taken back", address=address, by=session.peer, peer=connection.peer)
                raise RequestRefused(ResponseCode.NO_PERMISSION, f"{address} was registered from another machine")

    def connection_closed(self, connection: Connection) -> None:
        for live in self._routes.session_closed(connection):
            log_gone(live, "disconnected")

    def heartbeat(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(BrokerHeartbeatRequestHeader, request.ext_fields)
        self._routes.heartbeat(header.cluster_name, header.broker_addr)
        return request.reply()

    def query_data_version(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(QueryDataVersionRequestHeader, request.ext_fields)
        asked = codec.decode(DataVersion, request.body)
        held = self._routes.data_version(header.cluster_name, header.broker_addr)
        if held == asked:
            self._routes.heartbeat(header.cluster_name, header.broker_addr)
        answer = to_ext_fields(QueryDataVersionResponseHeader(changed=held != asked))
        return request.reply(ext_fields=answer, body=b"" if held is None else codec.encode(held))

    def register_topic(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(RegisterTopicRequestHeader, request.ext_fields)
        queues = codec.decode(TopicRouteData, request.body).queue_datas
        if not all(is_topic(header.topic, each.read_queue_nums, each.write_queue_nums) for each in queues):
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, "the topic's name or its queues cannot be")
        self._routes.put_queues(header.topic, queues)
        return request.reply()

    def member_group(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetBrokerMemberGroupRequestHeader, request.ext_fields)
        group = self._routes.group(header.broker_name)
        members = BrokerMemberGroup(
            cluster=header.cluster_name,
            broker_name=header.broker_name,
            broker_addrs={} if group is None else dict(sorted(group.addresses.items())),
        )
        return request.reply(body=codec.encode(GetBrokerMemberGroupResponseBody(broker_member_group=members)))

    def _order_topics(self) -> bytes:
        if not self._settings.current.return_order_topic_config_to_broker:
            return b""
        entries = self._kv.entries(ORDER_TOPIC_CONFIG)
        return b"" if not entries else codec.encode(KVTable(table=entries))

    # -- clients ----------------------------------------------------------------------------------------------------

    def route(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetRouteInfoRequestHeader, request.ext_fields)
        standard = request.version >= V4_9_4 or bool(header.accept_standard_json_only)  # older ones want bare keys
        return request.reply(body=self._encoded_route(header.topic, standard))

    def _encoded_route(self, topic: str, standard: bool) -> bytes:
        """Encoded once for each change: with many clients the same routes are asked for again and again."""
        state = (self._routes.version, self._kv.version, self._settings.version)
        if state != self._encoded_state:
            self._encoded_state = state
            self._encoded.clear()
        body = self._encoded.get((topic, standard))
        if body is None:
            encode = codec.encode_standard if standard else codec.encode
            body = self._encoded[topic, standard] = encode(self._route(topic))
        return body

    def _route(self, topic: str) -> TopicRouteData:
        settings = self._settings.current
        route = self._routes.route(topic, acting_master=settings.support_acting_master)
        if route is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no broker has topic {topic}")
        if settings.order_message_enable:
            route = replace(route, order_topic_conf=self._kv.get(ORDER_TOPIC_CONFIG, topic))
        return route

    def cluster_info(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=codec.encode(self._routes.cluster_info()))

    # -- lists of topics ----------------------------------------------------------------------------------------------

    def all_topics(self, _connection: Connection, request: Command) -> Reply:
        if not self._settings.current.enable_all_topic_list:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "enableAllTopicList is false here")
        return _topic_list(request, self._routes.topics.names())

    def topics_by_cluster(self, _connection: Connection, request: Command) -> Reply:
        self._require_topic_lists()
        header = from_ext_fields(GetTopicsByClusterRequestHeader, request.ext_fields)
        return _topic_list(request, self._routes.topics_of_cluster(header.cluster))

    def system_topics(self, _connection: Connection, request: Command) -> Reply:
        """The topics that clusters and brokers have under their own names, and an address to ask for more."""
        self._require_topic_lists()
        groups = list(self._routes.groups())
        names = frozenset(name for group in groups for name in (group.cluster, group.name))
        address = next((group.addresses[min(group.addresses)] for group in groups), None)
        return _topic_list(request, names, address)

    def _by_flag(self, matches: Callable[[int], bool]) -> Handler:
        def handler(_connection: Connection, request: Command) -> Reply:
            self._require_topic_lists()
            return _topic_list(request, self._routes.topics.by_flag(matches))

        return handler

    def _require_topic_lists(self) -> None:
        if not self._settings.current.enable_topic_list:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "enableTopicList is false here")


def log_gone(live: LiveBroker, reason: str) -> None:
    events.info(
        "broker gone", reason=reason, cluster=live.cluster, broker=live.name, id=live.broker_id, address=live.address
    )


def _topic_list(request: Command, names: frozenset[str], address: str | None = None) -> Reply:
    return request.reply(body=codec.encode(TopicList(topic_list=names, broker_addr=address)))


def _registration_body(request: Command, is_compressed: bool) -> RegisterBrokerBody:
    if not request.body:
        return RegisterBrokerBody()
    if is_compressed:
        return decode_compressed(request.body, request.version)
    if request.version >= V3_0_11:
        return codec.decode(RegisterBrokerBody, request.body)
    # Brokers before that send their topics alone.
    topics = codec.decode(TopicConfigAndMappingSerializeWrapper, request.body)
    return RegisterBrokerBody(topic_config_serialize_wrapper=topics)
