"""Counters: what was put and what was got, per queue and group. Plain integers, counted on the loop.

RocketMQ's names of statistics and the keys they are asked for with:

    TOPIC_PUT_NUMS, TOPIC_PUT_SIZE       topic              QUEUE_PUT_NUMS, QUEUE_PUT_SIZE    topic@queue
    GROUP_GET_NUMS, GROUP_GET_SIZE       topic@group        QUEUE_GET_NUMS, QUEUE_GET_SIZE    topic@queue@group
    TOPIC_PUT_LATENCY                    queue@topic        GROUP_GET_LATENCY                 queue@topic@group
    SNDBCK_PUT_NUMS, DLQ_PUT_NUMS, SNDBCK2DLQ_TIMES, GROUP_CK_NUMS, GROUP_ACK_NUMS            topic@group
    BROKER_PUT_NUMS, BROKER_GET_NUMS, each also with _WITHOUT_SYSTEM_TOPIC, BROKER_CK_NUMS, BROKER_ACK_NUMS     cluster

A latency is milliseconds: of a put, how long it waited for the disk; of a get, how long the store looked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from enum import Enum
from typing import Any, NamedTuple

from sprocketmq.broker.metrics.counter import SMALL_BYTES, Counter, LargeMessages
from sprocketmq.broker.metrics.history import MINUTE, SAMPLE_SECONDS, Counted, History, Mornings, Rates, Ticks
from sprocketmq.broker.metrics.special_message_counts import SpecialMessageCounts
from sprocketmq.protocol.names import is_system_topic

__all__ = ["SAMPLE_SECONDS", "Figure", "QueueCounters", "StatUnit", "Stats"]

#: What is counted per topic and group and in nothing else.
_SENT_BACK, _BURIED, _CHECK_POINT, _ACKED = "SNDBCK_PUT", "DLQ_PUT", "GROUP_CK", "GROUP_ACK"
_BY_GROUP = {
    "SNDBCK_PUT_NUMS": _SENT_BACK,
    "DLQ_PUT_NUMS": _BURIED,
    "SNDBCK2DLQ_TIMES": _BURIED,
    "GROUP_CK_NUMS": _CHECK_POINT,
    "GROUP_ACK_NUMS": _ACKED,
}


class StatUnit(Enum):
    """What of a counter a statistic tells."""

    NUMS = "NUMS"
    SIZE = "SIZE"
    LATENCY = "LATENCY"


class Figure(NamedTuple):
    history: History
    unit: StatUnit


class QueueCounters:
    """One for each queue; together they are the topic's."""

    __slots__ = ("history", "large", "queues")

    def __init__(self) -> None:
        self.large = LargeMessages()
        self.queues: list[Counter] = []
        self.history: History | None = None

    def of(self, queue_id: int) -> Counter:
        if queue_id >= len(self.queues):
            self.grow(queue_id + 1)
        return self.queues[queue_id]

    def grow(self, count: int) -> list[Counter]:
        """The counters of `count` queues at least."""
        self.queues += [Counter() for _ in range(count - len(self.queues))]
        return self.queues

    @property
    def count(self) -> int:
        return sum(counter.count for counter in self.queues)

    @property
    def size(self) -> int:
        return sum(counter.size for counter in self.queues)

    @property
    def micros(self) -> int:
        return sum(counter.micros for counter in self.queues)


class Stats:
    """`get` finds what VIEW_BROKER_STATS_DATA asks for."""

    def __init__(self, cluster: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.cluster = cluster
        self.puts: dict[str, QueueCounters] = {}
        self.gets: dict[str, QueueCounters] = {}
        self._tallies: dict[str, dict[str, Counter]] = {kind: {} for kind in _BY_GROUP.values()}
        #: Totals of the broker, those of deleted topics too.
        self.broker_puts = Counter()
        self.broker_gets = Counter()
        #: The same without topics of the system: what people have put and got.
        self.user_puts = Counter()
        self.user_gets = Counter()
        self._totals = {
            "BROKER_PUT_NUMS": self.broker_puts,
            "BROKER_GET_NUMS": self.broker_gets,
            "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC": self.user_puts,
            "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC": self.user_gets,
            "BROKER_CK_NUMS": Counter(),
            "BROKER_ACK_NUMS": Counter(),
        }
        #: Counters of the broker's parts, by names of their own.
        self.parts: dict[str, Counter] = {}
        self.special = SpecialMessageCounts()
        self._gone = {name: Counter() for name in self._totals}
        #: Pulls that found messages, and pulls that did not.
        self.found = 0
        self.missed = 0
        self.mornings = Mornings()
        self.rates = Rates(clock())
        self._ticks = Ticks(clock())

    # -- counting -----------------------------------------------------------------------------------------------------

    def topic(self, topic: str) -> QueueCounters:
        """What is put to a topic."""
        counters = self.puts.get(topic)
        if counters is None:
            counters = self.puts[topic] = QueueCounters()
        return counters

    def put(self, topic: str, queue_id: int, count: int, size: int) -> Counter:
        counters = self.topic(topic)
        counter = counters.of(queue_id)
        counter.count += count
        counter.size += size
        if size > SMALL_BYTES * count:
            counters.large.note(size // count, count)
        return counter

    def group(self, group: str, topic: str) -> QueueCounters:
        """What a group gets of a topic."""
        key = f"{topic}@{group}"
        counters = self.gets.get(key)
        if counters is None:
            counters = self.gets[key] = QueueCounters()
        return counters

    def got(self, group: str, topic: str, queue_id: int, count: int, size: int, micros: int = 0) -> None:
        counter = self.group(group, topic).of(queue_id)
        counter.count += count
        counter.size += size
        counter.micros += micros
        self.found += 1

    def sent_back(self, group: str, topic: str) -> None:
        self._tally(_SENT_BACK, group, topic, 1)

    def buried(self, group: str, topic: str) -> None:
        """A message has become a dead letter."""
        self._tally(_BURIED, group, topic, 1)

    def check_point(self, group: str, topic: str) -> None:
        """POP has handed messages out."""
        self._tally(_CHECK_POINT, group, topic, 1)

    def acked(self, group: str, topic: str, count: int) -> None:
        self._tally(_ACKED, group, topic, count)

    def dead_letters(self) -> Iterable[tuple[str, int]]:
        """How many each group gave up on, by `topic@group`."""
        return ((key, counter.count) for key, counter in self._tallies[_BURIED].items())

    def _tally(self, kind: str, group: str, topic: str, count: int) -> None:
        self._tallies[kind].setdefault(f"{topic}@{group}", Counter()).count += count

    # -- sums and samples ---------------------------------------------------------------------------------------------

    def add_up(self) -> None:
        """Bring the broker's totals up to date."""
        for name, table in self._summed():
            _set(self._totals[name], self._gone[name], table.values())
            if (own := f"{name}_WITHOUT_SYSTEM_TOPIC") in self._totals:
                counted = [counters for key, counters in table.items() if not is_system_topic(key.partition("@")[0])]
                _set(self._totals[own], self._gone[own], counted)

    def _summed(self) -> Iterable[tuple[str, Mapping[str, Counted]]]:
        yield "BROKER_PUT_NUMS", self.puts
        yield "BROKER_GET_NUMS", self.gets
        yield "BROKER_CK_NUMS", self._tallies[_CHECK_POINT]
        yield "BROKER_ACK_NUMS", self._tallies[_ACKED]

    def sample(self, today: date) -> None:
        """Called every SAMPLE_SECONDS."""
        now = self.clock()
        self.add_up()
        every = list(self._counters())
        for counter in every:
            if counter.history is None and counter.count:
                self._history(counter)
        tick = self._ticks.next(now)
        for counter in every:
            if counter.history is not None:
                counter.history.sample(tick)
        self.rates.sample(now, (self.broker_puts.count, self.found, self.missed, self.broker_gets.count))
        self.mornings.note(today, (self.user_puts.count, self.user_gets.count))

    def _counters(self) -> Iterable[Counter | QueueCounters]:
        for table in (self.puts, self.gets):
            for counters in table.values():
                yield counters
                yield from counters.queues
        for tally in self._tallies.values():
            yield from tally.values()
        yield from self._totals.values()
        yield from self.parts.values()

    def _history(self, counter: Counter | QueueCounters) -> History:
        if counter.history is None:
            counter.history = History(counter, self._ticks)
        found: History = counter.history
        return found

    # -- what tools ask -----------------------------------------------------------------------------------------------

    def get(self, stats_name: str, key: str) -> Figure | None:
        """The figure behind a name such as TOPIC_PUT_NUMS; None when nothing was counted under this key."""
        counter = self._find(stats_name, key)
        if counter is None:
            return None
        suffix = stats_name.rpartition("_")[2]
        return Figure(self._history(counter), StatUnit(suffix) if suffix in ("SIZE", "LATENCY") else StatUnit.NUMS)

    def _find(self, stats_name: str, key: str) -> Counter | QueueCounters | None:
        first, _, rest = key.partition("@")
        match stats_name:
            case "TOPIC_PUT_NUMS" | "TOPIC_PUT_SIZE":
                return self.puts.get(key)
            case "GROUP_GET_NUMS" | "GROUP_GET_SIZE":
                return self.gets.get(key)
            case "QUEUE_PUT_NUMS" | "QUEUE_PUT_SIZE":
                return _queue_of(self.puts.get(first), rest)
            case "QUEUE_GET_NUMS" | "QUEUE_GET_SIZE":
                queue, _, group = rest.partition("@")
                return _queue_of(self.gets.get(f"{first}@{group}"), queue)
            case "TOPIC_PUT_LATENCY":
                return _queue_of(self.puts.get(rest), first)
            case "GROUP_GET_LATENCY":
                return _queue_of(self.gets.get(rest), first)
        if stats_name in self._totals and key == self.cluster:
            self.add_up()
            return self._totals[stats_name]
        return self._tallies.get(_BY_GROUP.get(stats_name, ""), {}).get(key)

    def tps(self, stats_name: str, key: str) -> float:
        """How many in a second, over the last minute; 0 when there is no such counter."""
        counter = self._find(stats_name, key)
        return 0.0 if counter is None else self._tps(counter)

    def part(self, name: str) -> Counter:
        return self.parts.setdefault(name, Counter())

    def tps_of_part(self, name: str) -> float:
        return self._tps(self.part(name))

    def _tps(self, counter: Counter | QueueCounters) -> float:
        return self._history(counter).window(MINUTE, self.clock()).tps

    # -- what is gone -------------------------------------------------------------------------------------------------

    def forget_topic(self, topic: str) -> None:
        self._forget(lambda name, _group: name == topic)
        self.special.forget_topic(topic)

    def forget_group(self, group: str) -> None:
        self._forget(lambda _name, owner: owner == group)

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        self.add_up()
        tables: list[dict[str, Any]] = [self.puts, self.gets, *self._tallies.values()]
        for table in tables:
            for key in [key for key in table if is_gone(key.partition("@")[0], key.partition("@")[2])]:
                del table[key]
        before = {name: (total.count, total.size) for name, total in self._totals.items()}
        self.add_up()
        for name, (count, size) in before.items():
            self._gone[name].count += count - self._totals[name].count
            self._gone[name].size += size - self._totals[name].size
        self.add_up()


def _set(total: Counter, gone: Counter, counters: Iterable[Counted]) -> None:
    each = list(counters)
    total.count = gone.count + sum(counter.count for counter in each)
    total.size = gone.size + sum(counter.size for counter in each)


def _queue_of(counters: QueueCounters | None, queue_id: str) -> Counter | None:
    if counters is None or not queue_id.isdecimal() or int(queue_id) >= len(counters.queues):
        return None
    return counters.queues[int(queue_id)]
