"""Offsets of consumer groups and of the delay levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOffsetSerializeWrapper:
    offset_table: Mapping[str, Mapping[int, Long]] = wire("offsetTable", default_factory=dict)
    data_version: DataVersion | None = wire("dataVersion", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayOffsetSerializeWrapper:
    offset_table: Mapping[int, Long] = wire("offsetTable", default_factory=dict)
    data_version: DataVersion | None = wire("dataVersion", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetBody:
    offset_table: Mapping[MessageQueue, Long] = wire("offsetTable", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueueForC:
    topic: str = wire("topic", default="")
    broker_name: str = wire("brokerName", default="")
    queue_id: int = wire("queueId", default=0)
    offset: Long = wire("offset", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetBodyForC:
    offset_table: tuple[MessageQueueForC, ...] = wire("offsetTable", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatusBody:
    message_queue_table: Mapping[MessageQueue, Long] = wire("messageQueueTable", default_factory=dict)
    consumer_table: Mapping[str, Mapping[MessageQueue, Long]] = wire("consumerTable", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffsetBody:
    correction_offsets: Mapping[int, Long] = wire("correctionOffsets", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMovedEvent:
    consumer_group: str = wire("consumerGroup", default="")
    message_queue: MessageQueue | None = wire("messageQueue", default=None)
    offset_request: Long = wire("offsetRequest", default=0)
    offset_new: Long = wire("offsetNew", default=0)
