"""Clients as a broker knows them: group members, and what a broker asks of a client."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire
from sprocketmq.protocol.header import RpcRequestHeader, TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterClientRequestHeader(RpcRequestHeader):
    """35 UNREGISTER_CLIENT."""

    client_id: str = wire("clientID")
    producer_group: str | None = wire("producerGroup", default=None)
    consumer_group: str | None = wire("consumerGroup", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerListByGroupRequestHeader(RpcRequestHeader):
    """38 GET_CONSUMER_LIST_BY_GROUP."""

    consumer_group: str = wire("consumerGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyConsumerIdsChangedRequestHeader(RpcRequestHeader):
    """40 NOTIFY_CONSUMER_IDS_CHANGED."""

    consumer_group: str = wire("consumerGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerRunningInfoRequestHeader(RpcRequestHeader):
    """307 GET_CONSUMER_RUNNING_INFO."""

    consumer_group: str = wire("consumerGroup")
    client_id: str = wire("clientId")
    jstack_enable: bool = wire("jstackEnable", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatusRequestHeader(TopicRequestHeader):
    """221 GET_CONSUMER_STATUS_FROM_CLIENT, 223 INVOKE_BROKER_TO_GET_CONSUMER_STATUS."""

    topic: str = wire("topic")
    group: str = wire("group")
    client_addr: str | None = wire("clientAddr", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectlyResultRequestHeader(TopicRequestHeader):
    """309 CONSUME_MESSAGE_DIRECTLY."""

    consumer_group: str = wire("consumerGroup")
    client_id: str | None = wire("clientId", default=None)
    msg_id: str | None = wire("msgId", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    topic: str | None = wire("topic", default=None)
    topic_sys_flag: int | None = wire("topicSysFlag", default=None)
    group_sys_flag: int | None = wire("groupSysFlag", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerConnectionListRequestHeader(RpcRequestHeader):
    """203 GET_CONSUMER_CONNECTION_LIST."""

    consumer_group: str = wire("consumerGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetProducerConnectionListRequestHeader(RpcRequestHeader):
    """204 GET_PRODUCER_CONNECTION_LIST."""

    producer_group: str = wire("producerGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAllProducerInfoRequestHeader:
    """328 GET_ALL_PRODUCER_INFO."""
