"""What a client tells every broker it talks to, each 30 seconds."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionData:
    class_filter_mode: bool = wire("classFilterMode", default=False)
    topic: str = wire("topic", default="")
    sub_string: str = wire("subString", default="")
    tags_set: frozenset[str] = wire("tagsSet", default=frozenset())
    code_set: frozenset[int] = wire("codeSet", default=frozenset())
    sub_version: Long = wire("subVersion", default=0)
    expression_type: str = wire("expressionType", default="TAG")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerData:
    group_name: str = wire("groupName", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerData:
    group_name: str = wire("groupName", default="")
    consume_type: ConsumeType | None = wire("consumeType", default=None)
    message_model: MessageModel | None = wire("messageModel", default=None)
    consume_from_where: ConsumeFromWhere | None = wire("consumeFromWhere", default=None)
    subscription_data_set: tuple[SubscriptionData, ...] = wire("subscriptionDataSet", default=())
    unit_mode: bool = wire("unitMode", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatData:
    client_id: str = wire("clientID", default="")
    producer_data_set: tuple[ProducerData, ...] = wire("producerDataSet", default=())
    consumer_data_set: tuple[ConsumerData, ...] = wire("consumerDataSet", default=())
    heartbeat_fingerprint: int = wire("heartbeatFingerprint", default=0)
    without_sub: bool = wire("withoutSub", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckClientRequestBody:
    client_id: str = wire("clientId", default="")
    group: str = wire("group", default="")
    subscription_data: SubscriptionData | None = wire("subscriptionData", default=None)
    namespace: str | None = wire("namespace", default=None)
