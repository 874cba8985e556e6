"""Counters: what was put, per topic, and what was got, per topic and group. Plain integers, counted on the loop.

Samples of them are taken every 10 seconds. What happened in the last minute, hour or day is the difference of the
counter now and the oldest sample of that span; a counter that is younger than the span counts from its birth.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from sprocketmq.broker.counters import Counter

SAMPLE_SECONDS = 10
#: Samples kept: a minute's every 10 seconds, ten minutes' likewise, an hour's every 10 minutes, a day's every hour.
_MINUTE, _TEN_MINUTES, _HOUR, _DAY = 6, 60, 6, 24
_HOUR_STEP, _DAY_STEP = 60, 360


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in a span of time."""

    count: int
    size: int
    seconds: float

    @property
    def tps(self) -> float:
        return self.count / self.seconds if self.seconds > 0 else 0.0


Sample = tuple[float, int, int]


class History:
    """The samples of one counter, which was 0 at `born`."""

    __slots__ = ("counter", "day", "hour", "minute")

    def __init__(self, counter: Counter, born: float) -> None:
        self.counter = counter
        first = (born, 0, 0)
        self.minute: deque[Sample] = deque([first], maxlen=_MINUTE)
        self.hour: deque[Sample] = deque([first], maxlen=_HOUR)
        self.day: deque[Sample] = deque([first], maxlen=_DAY)

    def sample(self, now: float, tick: int) -> None:
        sample = (now, self.counter.count, self.counter.size)
        self.minute.append(sample)
        if tick % _HOUR_STEP == 0:
            self.hour.append(sample)
        if tick % _DAY_STEP == 0:
            self.day.append(sample)

    def window(self, samples: deque[Sample], now: float) -> Window:
        """From the oldest of `samples` until now."""
        began, count, size = samples[0]
        return Window(self.counter.count - count, self.counter.size - size, max(now - began, SAMPLE_SECONDS))


class Rates:
    """How fast the broker's totals grow: the averages of 10 seconds, a minute and ten minutes."""

    SPANS = (1, 6, 60)

    def __init__(self, born: float) -> None:
        self._samples: deque[tuple[float, tuple[int, ...]]] = deque([(born, ())], maxlen=_TEN_MINUTES + 1)

    def sample(self, now: float, totals: tuple[int, ...]) -> None:
        self._samples.append((now, totals))

    def tps(self, which: int) -> tuple[float, float, float]:
        """Of the total at place `which` in the samples."""
        ten_seconds, minute, ten_minutes = (self._over(which, back) for back in self.SPANS)
        return ten_seconds, minute, ten_minutes

    def _over(self, which: int, back: int) -> float:
        ended, last = self._samples[-1]
        began, first = self._samples[-1 - min(back, len(self._samples) - 1)]
        if not last or ended <= began:
            return 0.0
        return (last[which] - (first[which] if first else 0)) / (ended - began)


@dataclass(slots=True)
class Mornings:
    """The totals of puts and gets at the last two midnights, local time."""

    day: date | None = None
    yesterday: tuple[int, int] = (0, 0)
    today: tuple[int, int] = (0, 0)

    def note(self, day: date, totals: tuple[int, int]) -> None:
        """Called again and again; the first time on a new day is its morning."""
        if self.day is not None and day != self.day:
            self.yesterday, self.today = self.today, totals
        self.day = day


class Stats:
    """Names and keys as RocketMQ has them; `get` finds the history for VIEW_BROKER_STATS_DATA."""

    def __init__(self, cluster: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.cluster = cluster
        self.puts: dict[str, Counter] = {}
        self.gets: dict[str, Counter] = {}
        self.send_backs: dict[str, Counter] = {}
        #: Totals of the broker, those of deleted topics too.
        self.broker_puts = Counter()
        self.broker_gets = Counter()
        #: Pulls that found messages, and pulls that did not.
        self.found = 0
        self.missed = 0
        self.mornings = Mornings()
        self.rates = Rates(clock())
        self._gone_puts = Counter()
        self._gone_gets = Counter()
        self._histories: dict[tuple[str, str], History] = {}
        self._sampled = clock()
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
        self.found += 1

    def sent_back(self, group: str, topic: str) -> None:
        self.send_backs.setdefault(f"{topic}@{group}", Counter()).count += 1

    def add_up(self) -> None:
        """Bring the broker's totals up to date."""
        for total, gone, table in (
            (self.broker_puts, self._gone_puts, self.puts),
            (self.broker_gets, self._gone_gets, self.gets),
        ):
            total.count = gone.count + sum(counter.count for counter in table.values())
            total.size = gone.size + sum(counter.size for counter in table.values())

    def sample(self, today: date) -> None:
        """Called every SAMPLE_SECONDS."""
        now = self.clock()
        self.add_up()
        for name, counter in self._all():
            self._history(name, counter).sample(now, self._ticks)
        self.rates.sample(now, (self.broker_puts.count, self.found, self.missed, self.broker_gets.count))
        self.mornings.note(today, (self.broker_puts.count, self.broker_gets.count))
        self._sampled = now
        self._ticks += 1

    def _all(self) -> Iterable[tuple[tuple[str, str], Counter]]:
        for kind, table in (("PUT", self.puts), ("GET", self.gets), ("SNDBCK", self.send_backs)):
            for key, counter in table.items():
                yield (kind, key), counter
        yield ("BROKER_PUT", self.cluster), self.broker_puts
        yield ("BROKER_GET", self.cluster), self.broker_gets

    def get(self, stats_name: str, key: str) -> History | None:
        """The history behind a name such as TOPIC_PUT_NUMS; a NUMS name means its count, a SIZE name its size."""
        kinds = {"TOPIC_PUT": "PUT", "GROUP_GET": "GET", "SNDBCK_PUT": "SNDBCK"}
        tables = {"PUT": self.puts, "GET": self.gets, "SNDBCK": self.send_backs}
        prefix, _, unit = stats_name.rpartition("_")
        if unit not in ("NUMS", "SIZE"):
            return None
        if prefix in ("BROKER_PUT", "BROKER_GET") and key == self.cluster:
            self.add_up()
            return self._history((prefix, key), self.broker_puts if prefix == "BROKER_PUT" else self.broker_gets)
        kind = kinds.get(prefix, "")
        counter = tables.get(kind, {}).get(key)
        return None if counter is None else self._history((kind, key), counter)

    def tps(self, stats_name: str, key: str) -> float:
        """How many in a second, over the last minute; 0 when there is no such counter."""
        history = self.get(stats_name, key)
        return 0.0 if history is None else history.window(history.minute, self.clock()).tps

    def forget_topic(self, topic: str) -> None:
        self._forget(lambda name, _group: name == topic)

    def forget_group(self, group: str) -> None:
        self._forget(lambda _name, owner: owner == group)

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        for kind, table, gone in (
            ("PUT", self.puts, self._gone_puts),
            ("GET", self.gets, self._gone_gets),
            ("SNDBCK", self.send_backs, Counter()),
        ):
            for key in [key for key in table if is_gone(key.partition("@")[0], key.partition("@")[2])]:
                counter = table.pop(key)
                gone.count += counter.count
                gone.size += counter.size
                self._histories.pop((kind, key), None)

    def _history(self, name: tuple[str, str], counter: Counter) -> History:
        found = self._histories.get(name)
        if found is None:
            found = self._histories[name] = History(counter, self._sampled)
        return found
