"""Who is connected to a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.codes import LanguageCode
from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    client_id: str = wire("clientId", default="")
    client_addr: str = wire("clientAddr", default="")
    language: LanguageCode | None = wire("language", default=None)
    version: int = wire("version", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConnection:
    connection_set: tuple[Connection, ...] = wire("connectionSet", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConnection:
    connection_set: tuple[Connection, ...] = wire("connectionSet", default=())
    subscription_table: Mapping[str, SubscriptionData] = wire("subscriptionTable", default_factory=dict)
    consume_type: ConsumeType | None = wire("consumeType", default=None)
    message_model: MessageModel | None = wire("messageModel", default=None)
    consume_from_where: ConsumeFromWhere | None = wire("consumeFromWhere", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerInfo:
    client_id: str = wire("clientId", default="")
    remote_ip: str | None = wire("remoteIP", default=None)
    language: LanguageCode | None = wire("language", default=None)
    version: int = wire("version", default=0)
    last_update_timestamp: Long = wire("lastUpdateTimestamp", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerTableInfo:
    data: Mapping[str, tuple[ProducerInfo, ...]] = wire("data", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerListByGroupResponseBody:
    consumer_id_list: tuple[str, ...] = wire("consumerIdList", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySubscriptionResponseBody:
    subscription_data: SubscriptionData | None = wire("subscriptionData", default=None)
    group: str = wire("group", default="")
    topic: str = wire("topic", default="")
