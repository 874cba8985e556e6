"""Entries of a ConsumeQueue, for inspection."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeQueueData:
    physic_offset: Long = wire("physicOffset", default=0)
    physic_size: int = wire("physicSize", default=0)
    tags_code: Long = wire("tagsCode", default=0)
    extend_data_json: str | None = wire("extendDataJson", default=None)
    bit_map: str | None = wire("bitMap", default=None)
    eval: bool = wire("eval", default=False)
    msg: str | None = wire("msg", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueueResponseBody:
    subscription_data: SubscriptionData | None = wire("subscriptionData", default=None)
    filter_data: str | None = wire("filterData", default=None)
    queue_data: tuple[ConsumeQueueData, ...] = wire("queueData", default=(), omit_empty=True)
    max_queue_index: Long = wire("maxQueueIndex", default=0)
    min_queue_index: Long = wire("minQueueIndex", default=0)
