"""Messages that wait: delays by level, timers by due time, open transactions with their checks, POP in flight.

Brokers tell counts. When a message is due is in the message itself, so the newest records of their own topics are read,
up to a bound; what is older than those is in the counts alone. RocketMQ 4 has no timers and no POP.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from sprocketmq.client.admin.core import if_known
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.subscription import Subscription
from sprocketmq.dashboard.cluster.brokers import settings
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.protocol.bodies.stats import TopicOffset
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import (
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANSACTION_CHECK_MAX_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_TOPIC,
)
from sprocketmq.protocol.record.properties import (
    REAL_TOPIC,
    TIMER_OUT_MS,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
)

READ = 4000
REVIVE_PREFIX = "rmq_sys_REVIVE_LOG_"
_TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"
_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BUCKETS = (
    (60_000, "within a minute"), (600_000, "within ten minutes"), (3_600_000, "within an hour"),
    (86_400_000, "within a day"), (2**62, "later"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delay:
    """What waits at one level of one broker; `first_due_ms` is None when the message cannot be read."""

    broker: str
    level: int
    text: str
    count: int
    first_due_ms: int | None
    queue: int
    offset: int


@dataclass(slots=True)
class Timers:
    counts: dict[str, int] | None
    by_due: dict[str, int] = field(default_factory=dict)
    soonest: list[tuple[int, ReceivedMessage]] = field(default_factory=list)
    in_flight: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class OpenHalf:
    message: ReceivedMessage
    topic: str
    checks: int


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    open: list[OpenHalf]
    given_up: list[ReceivedMessage]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# -- delay levels -----------------------------------------------------------------------------------------------------


async def delays(view: ClusterView) -> list[Delay]:
    found = await asyncio.gather(*(_delays(view, *master) for master in (await view.masters()).items()))
    return [delay for each in found for delay in each]


async def _delays(view: ClusterView, broker: str, address: str) -> list[Delay]:
    runtime, config = await asyncio.gather(view.admin.brokers.runtime(address), if_known(settings(view, address)))
    levels = ((config or {}).get("messageDelayLevel") or _LEVELS).split()
    rows = []
    for key, value in runtime.items():
        name, _, number = key.rpartition("_")
        offset, _, end = value.partition(",")
        if name == "scheduleMessageOffset" and number.isdecimal() and offset.isdecimal() and end.isdecimal():
            level, count = int(number), int(end) - int(offset)
            if count > 0 and 1 <= level <= len(levels):
                rows.append(_delay(view, broker, level, levels[level - 1], count, int(offset)))
    return sorted(await asyncio.gather(*rows), key=lambda row: row.level)


async def _delay(view: ClusterView, broker: str, level: int, text: str, count: int, offset: int) -> Delay:
    queue = MessageQueue(SCHEDULE_TOPIC, broker, level - 1)
    first = await if_known(view.admin.messages.at(queue, offset))
    due = None if first is None else first.record.store_timestamp + span_ms(text)
    return Delay(broker, level, text, count, due, level - 1, offset)


def span_ms(text: str) -> int:
    """`10m` of a broker's configuration."""
    number, unit = text[:-1], text[-1:]
    return int(number) * _UNITS_MS[unit] if number.isdecimal() and unit in _UNITS_MS else 0


# -- timers and POP ---------------------------------------------------------------------------------------------------


async def timers(view: ClusterView) -> Timers:
    masters = await view.masters()
    counted = await asyncio.gather(*(if_known(view.admin.brokers.timers(each)) for each in masters.values()))
    known = [each for each in counted if each is not None]
    total = sum((Counter(each) for each in known), Counter[str]())
    users = {topic: count for topic, count in total.items() if not topic.startswith(REVIVE_PREFIX) and count > 0}
    found = Timers(users if known else None)
    waiting = [m for m in await newest(view, TIMER_TOPIC, READ) if due_ms(m) > _now_ms()]
    _sort_timers(found, waiting)
    return found


def _sort_timers(found: Timers, waiting: list[ReceivedMessage]) -> None:
    own = [m for m in waiting if m.properties.get(REAL_TOPIC, "").startswith(REVIVE_PREFIX)]
    users = sorted((due_ms(m), m.record.commit_offset, m) for m in waiting if m not in own)
    found.in_flight = in_flight(own)
    found.soonest = [(due, message) for due, _, message in users[:20]]
    found.by_due = {label: 0 for _, label in _BUCKETS}
    for due, _, _ in users:
        found.by_due[next(label for limit, label in _BUCKETS if due - _now_ms() <= limit)] += 1


def due_ms(message: ReceivedMessage) -> int:
    text = message.properties.get(TIMER_OUT_MS, "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def in_flight(records: Iterable[ReceivedMessage]) -> Counter[tuple[str, str]]:
    """By group and topic, how many messages were handed out and not acknowledged: check points less their acks."""
    taken: dict[tuple[Any, ...], tuple[str, str, set[int]]] = {}
    acked: dict[tuple[Any, ...], set[int]] = {}
    for record in records:
        try:
            body = orjson.loads(record.body)
            key = tuple(body.get(name) for name in ("t", "c", "q", "so", "pt", "bn"))
            if record.tag == "ck":
                steps = body.get("d") or range(int(body["n"]))
                taken[key] = (str(body["c"]), str(body["t"]), {int(body["so"]) + int(step) for step in steps})
            else:
                acked.setdefault(key, set()).update(map(int, body.get("aol") or [body["ao"]]))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # another broker's way of writing it down
    found: Counter[tuple[str, str]] = Counter()
    for key, (group, topic, offsets) in taken.items():
        found[group, topic] += len(offsets - acked.get(key, set()))
    return +found


async def newest(view: ClusterView, topic: str, most: int) -> list[ReceivedMessage]:
    """The newest records of a topic of the brokers' own; nothing where there is none."""
    stats: dict[MessageQueue, TopicOffset] = await if_known(view.admin.topics.stats(topic)) or {}
    begins = {queue: max(each.min_offset, each.max_offset - most) for queue, each in stats.items()}
    found = await asyncio.gather(*(read(view, queue, at, stats[queue].max_offset) for queue, at in begins.items()))
    return [message for each in found for message in each]


async def read(view: ClusterView, queue: MessageQueue, begin: int, end: int) -> list[ReceivedMessage]:
    found: list[ReceivedMessage] = []
    at, subscription = begin, Subscription(queue.topic)
    while at < end:
        answer = await if_known(view.admin.messages.read(queue, at, subscription))
        if answer is None or answer[1] <= at:
            break
        found += answer[0]
        at = answer[1]
    return found


# -- transactions -----------------------------------------------------------------------------------------------------


async def transactions(view: ClusterView) -> OpenTransactions:
    """Half messages behind the brokers' own progress, less those that were marked as ended."""
    halves, marks = await asyncio.gather(_behind(view, TRANSACTION_HALF_TOPIC), _behind(view, TRANSACTION_OP_TOPIC))
    ended = {(mark.broker_name, int(part)) for mark in marks for part in _offsets(mark)}
    latest: dict[tuple[str, int], OpenHalf] = {}
    for half in halves:
        first = half.properties.get(TRAN_PREPARED_QUEUE_OFFSET, "")
        line = int(first) if first.isdecimal() else half.queue_offset
        if (half.broker_name, half.queue_offset) not in ended and (half.broker_name, line) not in ended:
            checks = half.properties.get(TRANSACTION_CHECK_TIMES, "0")
            topic = half.properties.get(REAL_TOPIC, "?")
            latest[half.broker_name, line] = OpenHalf(half, topic, int(checks) if checks.isdecimal() else 0)
    given_up = await newest(view, TRANSACTION_CHECK_MAX_TOPIC, 20)
    return OpenTransactions(list(latest.values()), given_up)


def _offsets(mark: ReceivedMessage) -> list[str]:
    return [part for part in mark.body.decode(errors="replace").split(",") if part.isdecimal() and len(part) < 20]


async def _behind(view: ClusterView, topic: str) -> list[ReceivedMessage]:
    stats = await if_known(view.admin.topics.stats(topic)) or {}
    progress = await if_known(view.admin.offsets.get(_TRANSACTION_GROUP, topic)) or {}
    found = []
    for queue, each in stats.items():
        begin = max(progress.get(queue) or 0, each.min_offset, each.max_offset - READ)
        found += await read(view, queue, begin, each.max_offset)
    return found
