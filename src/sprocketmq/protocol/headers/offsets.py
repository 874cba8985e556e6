"""Committed offsets of consumer groups, and the offsets of a queue."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.enums import BoundaryType
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import RpcRequestHeader, TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffsetRequestHeader(TopicRequestHeader):
    """14 QUERY_CONSUMER_OFFSET."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    set_zero_if_not_found: bool | None = wire("setZeroIfNotFound", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffsetResponseHeader:
    """Answers 14 QUERY_CONSUMER_OFFSET."""

    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffsetRequestHeader(TopicRequestHeader):
    """15 UPDATE_CONSUMER_OFFSET."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    commit_offset: Long = wire("commitOffset")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffsetRequestHeader(TopicRequestHeader):
    """29 SEARCH_OFFSET_BY_TIMESTAMP."""

    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    timestamp: Long = wire("timestamp")
    boundary_type: BoundaryType | None = wire("boundaryType", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffsetResponseHeader:
    """Answers 29 SEARCH_OFFSET_BY_TIMESTAMP."""

    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffsetRequestHeader(TopicRequestHeader):
    """30 GET_MAX_OFFSET."""

    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    committed: bool = wire("committed", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffsetResponseHeader:
    """Answers 30 GET_MAX_OFFSET."""

    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffsetRequestHeader(TopicRequestHeader):
    """31 GET_MIN_OFFSET."""

    topic: str = wire("topic")
    queue_id: int = wire("queueId")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffsetResponseHeader:
    """Answers 31 GET_MIN_OFFSET."""

    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeRequestHeader(TopicRequestHeader):
    """32 GET_EARLIEST_MSG_STORETIME."""

    topic: str = wire("topic")
    queue_id: int = wire("queueId")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeResponseHeader:
    """Answers 32 GET_EARLIEST_MSG_STORETIME."""

    timestamp: Long = wire("timestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetRequestHeader(TopicRequestHeader):
    """220 RESET_CONSUMER_CLIENT_OFFSET, 222 INVOKE_BROKER_TO_RESET_OFFSET."""

    group: str = wire("group")
    topic: str = wire("topic")
    queue_id: int = wire("queueId", default=-1)
    offset: Long | None = wire("offset", default=None)
    timestamp: Long = wire("timestamp")
    is_force: bool = wire("isForce")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneGroupOffsetRequestHeader(RpcRequestHeader):
    """314 CLONE_GROUP_OFFSET."""

    src_group: str = wire("srcGroup")
    dest_group: str = wire("destGroup")
    topic: str | None = wire("topic", default=None)
    offline: bool = wire("offline", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffsetHeader(TopicRequestHeader):
    """308 QUERY_CORRECTION_OFFSET."""

    filter_groups: str | None = wire("filterGroups", default=None)
    compare_group: str = wire("compareGroup")
    topic: str = wire("topic")
