"""The settings of a push consumer and of a pull consumer; `settings` has all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from sprocketmq.client.setting_check import check_settings
from sprocketmq.protocol.allocation import AVERAGELY, Allocation

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """How much may lie between a queue's pulls and its handlers."""

    count: int = 1000
    """Messages."""
    size_bytes: int = 100 * MIB
    """Bytes."""
    span: int = 2000
    """Between the oldest and the newest unsettled offset; only where order is free."""

    def __post_init__(self) -> None:
        check_settings(self)


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

    def __post_init__(self) -> None:
        check_settings(self)


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

    def __post_init__(self) -> None:
        check_settings(self)
