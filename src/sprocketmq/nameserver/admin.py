"""What administrators ask of a nameserver: write permissions, topics to forget, the key-value table, its settings.

Whatever changes something is logged with its peer. Who may ask what is in `auth.authorization.request_table`.
"""

from __future__ import annotations

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.nameserver.kvconfig import KVConfig
from sprocketmq.nameserver.routes import RouteTable
from sprocketmq.nameserver.settings import NameserverSettings
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import KVTable
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.kv import (
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
)
from sprocketmq.protocol.headers.nameserver import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteTopicFromNamesrvRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply

events = Events("sprocketmq.nameserver.admin")


class AdminProcessors:
    def __init__(self, routes: RouteTable, kv: KVConfig, settings: NameserverSettings) -> None:
        self._routes = routes
        self._kv = kv
        self._settings = settings

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_KV_CONFIG, self.get_kv)
        table.add(RequestCode.GET_KVLIST_BY_NAMESPACE, self.list_kv)
        table.add(RequestCode.GET_NAMESRV_CONFIG, self.get_config)
        table.add_slow(RequestCode.PUT_KV_CONFIG, self.put_kv)
        table.add_slow(RequestCode.DELETE_KV_CONFIG, self.delete_kv)
        table.add_slow(RequestCode.UPDATE_NAMESRV_CONFIG, self.update_config)
        table.add(RequestCode.WIPE_WRITE_PERM_OF_BROKER, self.wipe_write_perm)
        table.add(RequestCode.ADD_WRITE_PERM_OF_BROKER, self.add_write_perm)
        table.add(RequestCode.DELETE_TOPIC_IN_NAMESRV, self.delete_topic)

    # -- routes -------------------------------------------------------------------------------------------------------

    def wipe_write_perm(self, connection: Connection, request: Command) -> Reply:
        name = from_ext_fields(WipeWritePermOfBrokerRequestHeader, request.ext_fields).broker_name
        count = self._routes.topics.set_writable(name, False)
        events.info("write permission wiped", broker=name, topics=count, peer=connection.peer)
        return request.reply(ext_fields=to_ext_fields(WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count)))

    def add_write_perm(self, connection: Connection, request: Command) -> Reply:
        name = from_ext_fields(AddWritePermOfBrokerRequestHeader, request.ext_fields).broker_name
        count = self._routes.topics.set_writable(name, True)
        events.info("write permission added", broker=name, topics=count, peer=connection.peer)
        return request.reply(ext_fields=to_ext_fields(AddWritePermOfBrokerResponseHeader(add_topic_count=count)))

    def delete_topic(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(DeleteTopicFromNamesrvRequestHeader, request.ext_fields)
        if self._routes.delete_topic(header.topic, header.cluster_name or None):
            events.info("topic deleted", topic=header.topic, cluster=header.cluster_name or "*", peer=connection.peer)
        return request.reply()

    # -- key-value table ----------------------------------------------------------------------------------------------

    async def put_kv(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(PutKVConfigRequestHeader, request.ext_fields)
        await self._kv.put(header.namespace, header.key, header.value)
        events.info("key put", namespace=header.namespace, key=header.key, peer=connection.peer)
        return request.reply()

    def get_kv(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetKVConfigRequestHeader, request.ext_fields)
        value = self._kv.get(header.namespace, header.key)
        if value is None:
            raise RequestRefused(ResponseCode.QUERY_NOT_FOUND, f"no key {header.key} in namespace {header.namespace}")
        return request.reply(ext_fields=to_ext_fields(GetKVConfigResponseHeader(value=value)))

    async def delete_kv(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(DeleteKVConfigRequestHeader, request.ext_fields)
        await self._kv.delete(header.namespace, header.key)
        events.info("key deleted", namespace=header.namespace, key=header.key, peer=connection.peer)
        return request.reply()

    def list_kv(self, _connection: Connection, request: Command) -> Reply:
        namespace = from_ext_fields(GetKVListByNamespaceRequestHeader, request.ext_fields).namespace
        entries = self._kv.entries(namespace)
        if entries is None:
            raise RequestRefused(ResponseCode.QUERY_NOT_FOUND, f"no namespace {namespace}")
        return request.reply(body=codec.encode(KVTable(table=entries)))

    # -- settings -----------------------------------------------------------------------------------------------------

    def get_config(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=self._settings.text().encode())

    async def update_config(self, connection: Connection, request: Command) -> Reply:
        return await self._settings.update_from(connection, request)
