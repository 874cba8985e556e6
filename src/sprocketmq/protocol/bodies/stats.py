"""How far topics and groups are, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import localtime, strftime

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOffset:
    min_offset: Long = wire("minOffset", default=0)
    max_offset: Long = wire("maxOffset", default=0)
    last_update_timestamp: Long = wire("lastUpdateTimestamp", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatsTable:
    topic_put_tps: float = wire("topicPutTps", default=0.0)
    offset_table: Mapping[MessageQueue, TopicOffset] = wire("offsetTable", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetWrapper:
    broker_offset: Long = wire("brokerOffset", default=0)
    consumer_offset: Long = wire("consumerOffset", default=0)
    pull_offset: Long = wire("pullOffset", default=0)
    last_timestamp: Long = wire("lastTimestamp", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStats:
    offset_table: Mapping[MessageQueue, OffsetWrapper] = wire("offsetTable", default_factory=dict)
    consume_tps: float = wire("consumeTps", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStatsList:
    consume_stats_list: tuple[Mapping[str, tuple[ConsumeStats, ...]], ...] = wire("consumeStatsList", default=())
    broker_addr: str | None = wire("brokerAddr", default=None)
    total_diff: Long = wire("totalDiff", default=0)
    total_inflight_diff: Long = wire("totalInflightDiff", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatsItem:
    sum: Long = wire("sum", default=0)
    tps: float = wire("tps", default=0.0)
    avgpt: float = wire("avgpt", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatsData:
    stats_minute: BrokerStatsItem | None = wire("statsMinute", default=None)
    stats_hour: BrokerStatsItem | None = wire("statsHour", default=None)
    stats_day: BrokerStatsItem | None = wire("statsDay", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTimeSpan:
    """Each time also travels as a text, in the local time of whoever made the body, for people to read."""

    message_queue: MessageQueue | None = wire("messageQueue", default=None)
    min_time_stamp: Long = wire("minTimeStamp", default=0)
    max_time_stamp: Long = wire("maxTimeStamp", default=0)
    consume_time_stamp: Long = wire("consumeTimeStamp", default=0)
    delay_time: Long = wire("delayTime", default=0)
    min_time_stamp_str: str = wire("minTimeStampStr", default="")
    max_time_stamp_str: str = wire("maxTimeStampStr", default="")
    consume_time_stamp_str: str = wire("consumeTimeStampStr", default="")

    def __post_init__(self) -> None:
        for name in ("min_time_stamp", "max_time_stamp", "consume_time_stamp"):
            if not getattr(self, f"{name}_str"):
                object.__setattr__(self, f"{name}_str", _readable(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpanBody:
    consume_time_span_set: tuple[QueueTimeSpan, ...] = wire("consumeTimeSpanSet", default=())


def _readable(timestamp_ms: int) -> str:
    seconds, millis = divmod(timestamp_ms, 1000)
    try:
        return strftime("%Y-%m-%d#%H:%M:%S", localtime(seconds)) + f":{millis:03d}"
    except (OverflowError, OSError, ValueError):  # a peer's number that is no time
        return str(timestamp_ms)
