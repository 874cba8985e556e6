"""Topics on a broker."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire
from sprocketmq.protocol.header import TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequestHeader(TopicRequestHeader):
    """17 UPDATE_AND_CREATE_TOPIC, 513 UPDATE_AND_CREATE_STATIC_TOPIC."""

    topic: str = wire("topic")
    default_topic: str = wire("defaultTopic")
    read_queue_nums: int = wire("readQueueNums")
    write_queue_nums: int = wire("writeQueueNums")
    perm: int = wire("perm")
    topic_filter_type: str = wire("topicFilterType")
    topic_sys_flag: int | None = wire("topicSysFlag", default=None)
    order: bool = wire("order")
    attributes: str | None = wire("attributes", default=None)
    force: bool | None = wire("force", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequestHeader(TopicRequestHeader):
    """215 DELETE_TOPIC_IN_BROKER."""

    topic: str = wire("topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicConfigRequestHeader(TopicRequestHeader):
    """351 GET_TOPIC_CONFIG."""

    topic: str = wire("topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicStatsInfoRequestHeader(TopicRequestHeader):
    """202 GET_TOPIC_STATS_INFO."""

    topic: str = wire("topic")
