"""What counters were in the past: samples every 10 seconds, thinned with age.

A sample is kept only where its counter changed, so one that rests costs nothing. What happened in the last minute, hour
or day is the difference of the counter now and what it was when that span began; a counter that is younger than the
span counts from its birth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

SAMPLE_SECONDS = 10


class Span(NamedTuple):
    """A span begins at one of the last `kept` samples whose number `step` divides."""

    step: int
    kept: int

    def begin(self, last: int) -> int:
        return (last // self.step - self.kept + 1) * self.step


MINUTE, HOUR, DAY = Span(1, 6), Span(60, 6), Span(360, 24)
_SPANS = (MINUTE, HOUR, DAY)
_MOST_SAMPLES = 2 * sum(span.kept for span in _SPANS)
_TEN_MINUTES = 60


class Counted(Protocol):
    """A counter, or several of them as one."""

    @property
    def count(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def micros(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in a span of time."""

    count: int
    size: int
    micros: int
    seconds: float

    @property
    def tps(self) -> float:
        return self.count / self.seconds if self.seconds > 0 else 0.0


class Ticks:
    """When samples were taken; `last` is the number of the latest, and the first, 0, is the broker's start."""

    def __init__(self, born: float) -> None:
        self.last = 0
        self._times = deque([born], maxlen=DAY.step * DAY.kept + 1)

    def next(self, now: float) -> int:
        self.last += 1
        self._times.append(now)
        return self.last

    def time_of(self, tick: int) -> float:
        """The oldest that is known stands for older ones."""
        return self._times[max(0, len(self._times) - 1 - (self.last - tick))]


class History:
    """Of one counter, which was 0 at the latest sample."""

    __slots__ = ("_samples", "_ticks", "counter")

    def __init__(self, counter: Counted, ticks: Ticks) -> None:
        self.counter = counter
        self._ticks = ticks
        self._samples: list[tuple[int, int, int, int]] = [(ticks.last, 0, 0, 0)]

    def sample(self, tick: int) -> None:
        counter = self.counter
        now = (tick, counter.count, counter.size, counter.micros)
        if now[1:] == self._samples[-1][1:]:
            return
        self._samples.append(now)
        if len(self._samples) > _MOST_SAMPLES:
            self._thin(tick)

    def window(self, span: Span, now: float) -> Window:
        """From the beginning of `span` until now."""
        first = self._samples[0]
        begin = span.begin(self._ticks.last)
        _, count, size, micros = self._samples[self._at(begin)] if begin > first[0] else first
        seconds = now - self._ticks.time_of(max(begin, first[0]))
        counter = self.counter
        return Window(counter.count - count, counter.size - size, counter.micros - micros, max(seconds, SAMPLE_SECONDS))

    def _at(self, tick: int) -> int:
        """Which sample tells what the counter was then."""
        return max(0, bisect_right(self._samples, tick, key=lambda sample: sample[0]) - 1)

    def _thin(self, last: int) -> None:
        """Keep the samples where a span may begin."""
        wanted = {self._at((last // span.step - back) * span.step) for span in _SPANS for back in range(span.kept)}
        self._samples = [self._samples[index] for index in sorted(wanted | {len(self._samples) - 1})]


class Rates:
    """How fast the broker's totals grow: the averages of 10 seconds, a minute and ten minutes."""

    SPANS = (1, 6, 60)

    def __init__(self, born: float) -> None:
        self._samples: deque[tuple[float, tuple[int, ...]]] = deque([(born, ())], maxlen=_TEN_MINUTES + 1)

    def sample(self, now: float, totals: tuple[int, ...]) -> None:
        self._samples.append((now, totals))

    def tps(self, which: int) -> tuple[float, float, float]:
        """Of the total that is number `which` in the samples."""
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
