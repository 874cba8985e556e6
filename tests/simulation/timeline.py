"""A virtual clock and a virtual network in one process: what happens is an event, in an order that a seed gives.

Between any two events a fault may strike, for nothing here waits: what would be an await in a process is an event.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Place = str
#: Milliseconds; most messages are quick, some are very late.
_QUICK, _LATE = (1, 15), (100, 4000)


@dataclass(frozen=True)
class Mood:
    """How a network is at its worst: shares of messages that are late, of connections that are, so that they overtake
    each other, and of a controller's answers that are lost."""

    late: float = 0.01
    late_connects: float = 0.1
    lost_answers: float = 0.0


MIXED = Mood()
#: What is asked of controllers is done, and the asker does not hear of it.
LOSSY = Mood(late=0.05, lost_answers=0.4)
#: A connection that is not there any more looks alive for long.
SLUGGISH = Mood(late_connects=0.6)


class Timeline:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0
        self._events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def after(self, delay: int, act: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, act, args))

    def run(self, until: int) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, act, args = heapq.heappop(self._events)
            act(*args)
        self.now = until


class Network:
    """Messages take their time, overtake each other, and are lost where a way is cut; each way by itself."""

    def __init__(self, time: Timeline) -> None:
        self._time = time
        self.cut: set[tuple[Place, Place]] = set()
        self.mood = time.random.choice((MIXED, MIXED, LOSSY, SLUGGISH))
        self._last: dict[object, int] = {}

    def heal(self) -> None:
        self.cut.clear()
        self.mood = Mood(0.0, 0.0)

    def send(self, here: Place, there: Place, act: Callable[..., None], *args: Any, stream: object = None) -> None:
        """What goes through one `stream` arrives in order, or not at all; else nothing is sure."""
        if (here, there) in self.cut:
            return
        random, mood = self._time.random, self.mood
        if here[0] == "k" and there[0] == "b" and random.random() < mood.lost_answers:
            return
        share = mood.late_connects if stream is not None and stream not in self._last else mood.late
        low, high = _LATE if random.random() < share else _QUICK
        arrives = self._time.now + low + int(random.random() * (high - low))
        if stream is not None:
            arrives = self._last[stream] = max(arrives, self._last.get(stream, 0))
        self._time.after(arrives - self._time.now, self._arrive, here, there, act, args)

    def _arrive(self, here: Place, there: Place, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        if (here, there) not in self.cut:
            act(*args)
