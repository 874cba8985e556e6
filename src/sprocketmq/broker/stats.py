"""Counters: what was put, per topic, and what was got, per topic and group. Plain integers, counted on the loop.

Samples of them are taken every 10 seconds; the last minute, hour and day are differences of samples.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sprocketmq.broker.counters import Counter

SAMPLE_SECONDS = 10
#: Samples kept: a minute's every 10 seconds, an hour's every 10 minutes, a day's every hour. One more is the base.
_MINUTE, _HOUR, _DAY = 7, 7, 25
_HOUR_STEP, _DAY_STEP = 60, 360


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in a span of time."""

    count: int
    size: int
    seconds: float

    @property
    def tps(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0


Sample = tuple[float, int, int]


class History:
    """The samples of one counter."""

    __slots__ = ("counter", "day", "hour", "minute")

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.minute: deque[Sample] = deque(maxlen=_MINUTE)
        self.hour: deque[Sample] = deque(maxlen=_HOUR)
        self.day: deque[Sample] = deque(maxlen=_DAY)

    def sample(self, now: float, tick: int) -> None:
        sample = (now, self.counter.count, self.counter.size)
        self.minute.append(sample)
        if tick % _HOUR_STEP == 0:
            self.hour.append(sample)
        if tick % _DAY_STEP == 0:
            self.day.append(sample)

    @staticmethod
    def window(samples: deque[Sample]) -> Window:
        if len(samples) < 2:
            return Window(0, 0, 0.0)
        (began, count, size), (ended, more, larger) = samples[0], samples[-1]
        return Window(more - count, larger - size, ended - began)


class Stats:
    """Names and keys as RocketMQ has them; `get` finds the history for VIEW_BROKER_STATS_DATA."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.puts: dict[str, Counter] = {}
        self.gets: dict[str, Counter] = {}
        self.send_backs: dict[str, Counter] = {}
        self.broker_puts = Counter()
        self.broker_gets = Counter()
        self._histories: dict[tuple[str, str], History] = {}
        self._ticks = 0

    def topic(self, topic: str) -> Counter:
        """What is put to a topic."""
        counter = self.puts.get(topic)
        if counter is None:
            counter = self.puts[topic] = Counter()
        return counter

    def put(self, topic: str, count: int, size: int) -> None:
        counter = self.topic(topic)
        counter.count += count
        counter.size += size

    def got(self, group: str, topic: str, count: int, size: int) -> None:
        key = f"{topic}@{group}"
        counter = self.gets.get(key)
        if counter is None:
            counter = self.gets[key] = Counter()
        counter.count += count
        counter.size += size

    def sent_back(self, group: str, topic: str) -> None:
        self.send_backs.setdefault(f"{topic}@{group}", Counter()).count += 1

    def sample(self, now: float) -> None:
        """Called every SAMPLE_SECONDS."""
        self._add_up(self.broker_puts, self.puts)
        self._add_up(self.broker_gets, self.gets)
        for name, table in (("PUT", self.puts), ("GET", self.gets), ("SNDBCK", self.send_backs)):
            for key, counter in table.items():
                self._history(name, key, counter).sample(now, self._ticks)
        self._history("PUT", self.cluster, self.broker_puts, own=True).sample(now, self._ticks)
        self._history("GET", self.cluster, self.broker_gets, own=True).sample(now, self._ticks)
        self._ticks += 1

    def get(self, stats_name: str, key: str) -> History | None:
        """The history behind a name such as TOPIC_PUT_NUMS; a NUMS name means its count, a SIZE name its size."""
        kinds = {"TOPIC_PUT": "PUT", "GROUP_GET": "GET", "SNDBCK_PUT": "SNDBCK"}
        for prefix, kind in kinds.items():
            if stats_name.startswith(prefix):
                return self._histories.get((kind, key))
        own = {"BROKER_PUT_NUMS": "PUT", "BROKER_GET_NUMS": "GET"}.get(stats_name)
        return None if own is None else self._histories.get((f"BROKER_{own}", key))

    def forget_topic(self, topic: str) -> None:
        self.puts.pop(topic, None)
        for table in (self.gets, self.send_backs):
            for key in [key for key in table if key.startswith(f"{topic}@")]:
                del table[key]
        for name in [name for name in self._histories if name[1] == topic or name[1].startswith(f"{topic}@")]:
            del self._histories[name]

    @staticmethod
    def _add_up(total: Counter, table: dict[str, Counter]) -> None:
        total.count = max(total.count, sum(counter.count for counter in table.values()))
        total.size = max(total.size, sum(counter.size for counter in table.values()))

    def _history(self, kind: str, key: str, counter: Counter, *, own: bool = False) -> History:
        name = (f"BROKER_{kind}" if own else kind, key)
        found = self._histories.get(name)
        if found is None:
            found = self._histories[name] = History(counter)
        return found
