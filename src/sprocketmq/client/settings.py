"""The knobs of producers and consumers, with RocketMQ's defaults. Times are in seconds.

Each is explained by the text below it; `scripts/client_settings.py` makes docs/client-settings.md of them.
"""

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
    """Seconds that a batch waits for more messages."""
    max_bytes: int = 256 * KIB
    """A batch leaves when its messages have so many bytes."""
    max_messages: int = 2048
    """A batch leaves when it has so many messages."""
    buffer_messages: int = 100_000
    """Messages that may wait for their receipts; `submit` raises Overloaded beyond."""
    buffer_bytes: int = 64 * MIB
    """Bytes that may wait for their receipts."""
    delivery_timeout: float = 30.0
    """Seconds from the beginning of a batch after which it fails, whatever has been tried by then."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """A producer's; `Producer(group, settings=ProducerSettings(retries=0))`."""

    send_timeout: float = 3.0
    """Seconds for one send, all its tries together; `send(timeout=...)` changes it for one call."""
    retries: int = 2
    """Further tries of a failed send, on another broker where there is one."""
    retry_when_not_ok: bool = False
    """Try again as well when the message was stored less safely than the broker is set to promise."""
    compress_over: int = 4096
    """Bodies of so many bytes are compressed."""
    compression: Compression = "zlib"
    """How: `none` leaves all bodies as they are. Consumers find out by themselves."""
    compress_level: int = 5
    """How hard the compression tries."""
    max_message_bytes: int = MAX_BODY_BYTES
    """Longer bodies raise InvalidMessage; brokers have a limit of their own (`maxMessageSize`)."""
    topic_queues: int = 4
    """Queues of a topic that a send creates, no more than the broker's default topic has."""
    avoid_slow_brokers: bool = False
    """Pass over brokers that were slow or failed a moment ago, as Java's `sendLatencyFaultEnable`."""
    in_flight: int = 10_000
    """Single sends that may be under way at once; further ones wait."""
    batching: Batching = Batching()
    """Of `submit`, `enqueue` and `enqueue_all`."""


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """How much may lie between a queue's pulls and its handlers."""

    count: int = 1000
    """Messages."""
    size_bytes: int = 100 * MIB
    """Bytes."""
    span: int = 2000
    """Between the oldest and the newest unsettled offset; only where order is free."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """A push consumer's; `PushConsumer(group, settings=ConsumerSettings(concurrency=4))`."""

    consume_from: Literal["last", "first"] | datetime = "last"
    """Where a group without offsets begins: at the end, at the beginning, or at a time."""
    concurrency: int = 20
    """Handlers that run at a time."""
    pull_batch: int = 32
    """Messages that one pull asks for."""
    pull_batch_bytes: int = 256 * KIB
    """Bytes that one pull asks for."""
    limits: FlowLimits = FlowLimits()
    """How much may lie between a queue's pulls and its handlers."""
    max_reconsume_times: int = -1
    """Tries after the first one, before a message goes to the dead-letter queue; -1 is 16 for concurrent handlers, no
    limit for orderly ones."""
    consume_timeout: float = 15 * 60.0
    """Seconds that a handler may take; after that the message is tried again."""
    suspend: float = 1.0
    """Seconds before an orderly queue tries its message again."""
    rate_limit: float = 0.0
    """Messages per second for this consumer; 0 is no limit."""
    allocation: Allocation = AVERAGELY
    """How the members of a group share the queues; all of them need the same."""
    rebalance_interval: float = 20.0
    """Seconds between two looks at who has which queue; changes of the group are told at once."""
    persist_interval: float = 5.0
    """Seconds between two commits of offsets."""
    lock_interval: float = 20.0
    """Seconds between two renewals of the locks of an orderly consumer."""
    long_poll: float = 15.0
    """Seconds that a broker holds a pull for which there is no message."""
    retry_pause: float = 1.0
    """Seconds to wait after a pull that failed."""
    offsets_path: Path | None = None
    """Where a broadcasting consumer keeps its offsets; by default where Java clients do."""
    pop_invisible: float = 60.0
    """Seconds in which a popped message must be handled before it comes again."""
    pop_batch: int = 32
    """Messages that one pop asks for."""
    pop_limit: int = 96
    """Popped messages in hand per broker."""
    stop_timeout: float = 10.0
    """Seconds for handlers that run when the consumer stops, and for its last commit."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """A pull consumer's; `PullConsumer(group, settings=PullSettings(consume_from="first"))`."""

    consume_from: Literal["last", "first"] | datetime = "last"
    """Where a group without offsets begins: at the end, at the beginning, or at a time."""
    pull_batch: int = 1024
    """Messages that one pull asks for; brokers give fewer when they want to."""
    pull_batch_bytes: int = MIB
    """Bytes that one pull asks for."""
    buffer_bytes: int = 8 * MIB
    """Bytes per queue that are fetched ahead."""
    commit_interval: float = 5.0
    """Seconds between two commits of what was read; 0 leaves it to `commit()`."""
    allocation: Allocation = AVERAGELY
    """How the members of a group share the queues; all of them need the same."""
    rebalance_interval: float = 20.0
    """Seconds between two looks at who has which queue; changes of the group are told at once."""
    long_poll: float = 20.0
    """Seconds that a broker holds a pull for which there is no message."""
    retry_pause: float = 1.0
    """Seconds to wait after a pull that failed."""
    range_retries: int = 5
    """Further tries of a pull of `read_range` that failed."""
