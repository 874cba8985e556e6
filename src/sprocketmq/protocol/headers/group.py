"""Consumer groups on a broker: their configuration, subscriptions and progress."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire
from sprocketmq.protocol.header import RpcRequestHeader, TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubscriptionGroupRequestHeader(RpcRequestHeader):
    """207 DELETE_SUBSCRIPTIONGROUP."""

    group_name: str = wire("groupName")
    clean_offset: bool = wire("cleanOffset", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSubscriptionGroupConfigRequestHeader(RpcRequestHeader):
    """352 GET_SUBSCRIPTIONGROUP_CONFIG."""

    group: str = wire("group")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGroupForbiddenRequestHeader(TopicRequestHeader):
    """353 UPDATE_AND_GET_GROUP_FORBIDDEN."""

    group: str = wire("group")
    topic: str = wire("topic")
    readable: bool | None = wire("readable", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumeStatsRequestHeader(TopicRequestHeader):
    """208 GET_CONSUME_STATS."""

    consumer_group: str = wire("consumerGroup")
    topic: str | None = wire("topic", default=None)
    topic_list: str | None = wire("topicList", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumeStatsInBrokerHeader:
    """317 GET_BROKER_CONSUME_STATS."""

    is_order: bool = wire("isOrder")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicConsumeByWhoRequestHeader(TopicRequestHeader):
    """300 QUERY_TOPIC_CONSUME_BY_WHO."""

    topic: str = wire("topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicsByConsumerRequestHeader(RpcRequestHeader):
    """343 QUERY_TOPICS_BY_CONSUMER."""

    group: str = wire("group")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySubscriptionByConsumerRequestHeader(TopicRequestHeader):
    """345 QUERY_SUBSCRIPTION_BY_CONSUMER."""

    group: str = wire("group")
    topic: str | None = wire("topic", default=None)
