"""The knobs of producers and consumers, with RocketMQ's defaults. Times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from sprocketmq.client.message import MAX_BODY_BYTES
from sprocketmq.protocol.allocation import AVERAGELY, Allocation

KIB = 1024
MIB = 1024 * KIB

Compression = Literal["zlib", "lz4", "zstd", "none"]


@dataclass(frozen=True, slots=True)
class Batching:
    """Automatic batching: a batch leaves when it is `max_bytes` or `max_messages` long, or `linger` old.

    No more than `buffer_messages` and `buffer_bytes` wait at a time; `submit` raises Overloaded beyond that.
    A batch that has no receipt `delivery_timeout` after it was begun fails, wherever it is by then.
    """

    linger: float = 0.002
    max_bytes: int = 256 * KIB
    max_messages: int = 2048
    buffer_messages: int = 100_000
    buffer_bytes: int = 64 * MIB
    delivery_timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    send_timeout: float = 3.0
    retries: int = 2
    retry_when_not_ok: bool = False
    compress_over: int = 4096
    compression: Compression = "zlib"
    compress_level: int = 5
    max_message_bytes: int = MAX_BODY_BYTES
    topic_queues: int = 4
    avoid_slow_brokers: bool = False
    in_flight: int = 10_000
    batching: Batching = Batching()


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """How much may lie between a queue's pulls and its handlers."""

    count: int = 1000
    size_bytes: int = 100 * MIB
    span: int = 2000  # between the oldest and the newest unsettled offset; only where order is free


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """`consume_from` counts only for a group without offsets: `last`, `first`, or a time."""

    consume_from: Literal["last", "first"] | datetime = "last"
    concurrency: int = 20
    pull_batch: int = 32
    pull_batch_bytes: int = 256 * KIB
    limits: FlowLimits = FlowLimits()
    max_reconsume_times: int = -1  # 16 for concurrent handlers, no limit for orderly ones
    consume_timeout: float = 15 * 60.0
    suspend: float = 1.0  # before an orderly queue tries its message again
    rate_limit: float = 0.0  # messages per second for this consumer; 0 is no limit
    allocation: Allocation = AVERAGELY
    rebalance_interval: float = 20.0
    persist_interval: float = 5.0
    lock_interval: float = 20.0
    long_poll: float = 15.0
    retry_pause: float = 1.0  # after a pull that failed
    offsets_path: Path | None = None  # of a broadcasting consumer
    pop_invisible: float = 60.0
    pop_batch: int = 32
    pop_limit: int = 96  # messages in hand per broker
    stop_timeout: float = 10.0  # for handlers that are running when the consumer stops, and for its last commit


@dataclass(frozen=True, slots=True)
class PullSettings:
    """The pull consumer's. Offsets of finished polls are committed every `commit_interval`, unless that is 0."""

    consume_from: Literal["last", "first"] | datetime = "last"
    pull_batch: int = 1024  # brokers give fewer when they want to
    pull_batch_bytes: int = MIB
    buffer_bytes: int = 8 * MIB  # per queue
    commit_interval: float = 5.0
    allocation: Allocation = AVERAGELY
    rebalance_interval: float = 20.0
    long_poll: float = 20.0
    retry_pause: float = 1.0
    range_retries: int = 5
