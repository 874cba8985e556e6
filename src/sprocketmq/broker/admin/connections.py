"""Who is connected: the producers and consumers of a group, and all producers."""

from __future__ import annotations

from sprocketmq.broker.tables.group_members import Client, ConsumerTable, ProducerTable
from sprocketmq.codes import LanguageCode, RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies import codec, connections
from sprocketmq.protocol.bodies.connections import (
    ConsumerConnection,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.client import (
    GetConsumerConnectionListRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply


class ConnectionProcessors:
    def __init__(self, producers: ProducerTable, consumers: ConsumerTable) -> None:
        self._producers = producers
        self._consumers = consumers

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_CONSUMER_CONNECTION_LIST, self.consumers)
        table.add(RequestCode.GET_PRODUCER_CONNECTION_LIST, self.producers)
        table.add(RequestCode.GET_ALL_PRODUCER_INFO, self.all_producers)

    def consumers(self, _connection: Connection, request: Command) -> Reply:
        name = from_ext_fields(GetConsumerConnectionListRequestHeader, request.ext_fields).consumer_group
        group = self._consumers.get(name)
        if group is None:
            raise RequestRefused(ResponseCode.CONSUMER_NOT_ONLINE, f"no consumer of group {name} is online")
        body = ConsumerConnection(
            connection_set=tuple(map(_connection_of, group.members.values())),
            subscription_table={topic: wanted.data for topic, wanted in group.subscriptions.items()},
            consume_type=group.consume_type,
            message_model=group.message_model,
            consume_from_where=group.consume_from_where,
        )
        return request.reply(body=codec.encode(body))

    def producers(self, _connection: Connection, request: Command) -> Reply:
        name = from_ext_fields(GetProducerConnectionListRequestHeader, request.ext_fields).producer_group
        members = self._producers.groups.get(name)
        if not members:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no producer of group {name} is online")
        body = ProducerConnection(connection_set=tuple(map(_connection_of, members.values())))
        return request.reply(body=codec.encode(body))

    def all_producers(self, _connection: Connection, request: Command) -> Reply:
        data = {group: tuple(map(_info_of, members.values())) for group, members in self._producers.groups.items()}
        return request.reply(body=codec.encode(ProducerTableInfo(data=data)))


def language_of(client: Client) -> LanguageCode:
    """The client's language; a code that is newer than we are is OTHER."""
    try:
        return LanguageCode(LanguageCode.OTHER if client.language is None else client.language)
    except ValueError:
        return LanguageCode.OTHER


def _connection_of(client: Client) -> connections.Connection:
    return connections.Connection(
        client_id=client.client_id,
        client_addr=str(client.connection.peer),
        language=language_of(client),
        version=client.version,
    )


def _info_of(client: Client) -> ProducerInfo:
    return ProducerInfo(
        client_id=client.client_id,
        remote_ip=f"/{client.connection.peer}",
        language=language_of(client),
        version=client.version,
        last_update_timestamp=client.last_update_ms,
    )
