"""The settings of a producer; `settings` has all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sprocketmq.client.message import MAX_BODY_BYTES
from sprocketmq.client.setting_check import check_settings

KIB = 1024
MIB = 1024 * KIB


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

    def __post_init__(self) -> None:
        check_settings(self)


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
    compression: Literal["zlib", "lz4", "zstd", "none"] = "zlib"
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

    def __post_init__(self) -> None:
        check_settings(self)
