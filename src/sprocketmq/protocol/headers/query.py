"""Looking messages and queue entries up."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageRequestHeader(TopicRequestHeader):
    """12 QUERY_MESSAGE."""

    topic: str = wire("topic")
    key: str = wire("key")
    max_num: int = wire("maxNum")
    begin_timestamp: Long = wire("beginTimestamp")
    end_timestamp: Long = wire("endTimestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageResponseHeader:
    """Answers 12 QUERY_MESSAGE."""

    index_last_update_timestamp: Long = wire("indexLastUpdateTimestamp")
    index_last_update_phyoffset: Long = wire("indexLastUpdatePhyoffset")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessageRequestHeader:
    """33 VIEW_MESSAGE_BY_ID."""

    topic: str | None = wire("topic", default=None)
    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueueRequestHeader(TopicRequestHeader):
    """321 QUERY_CONSUME_QUEUE."""

    topic: str | None = wire("topic", default=None)
    queue_id: int = wire("queueId", default=0)
    index: Long = wire("index", default=0)
    count: int = wire("count", default=0)
    consumer_group: str | None = wire("consumerGroup", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpanRequestHeader(TopicRequestHeader):
    """303 QUERY_CONSUME_TIME_SPAN."""

    topic: str = wire("topic")
    group: str = wire("group")
