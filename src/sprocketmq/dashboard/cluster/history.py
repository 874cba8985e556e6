"""Figures over time: a ring for each thing that somebody has looked at, so that a page that is loaded again goes on.

A point is kept when a figure was asked for anyway; nothing is asked for the sake of the history.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from time import time

Point = tuple[float, float]

_LONGEST = 600
_MOST = 512
_STEP_S = 1.0


class LagHistory:
    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._rings: OrderedDict[Hashable, deque[tuple[float, Mapping[str, float]]]] = OrderedDict()
        self._clock = clock

    def note(self, key: Hashable, values: Mapping[str, float]) -> None:
        """At most one point a second."""
        ring = self._rings.setdefault(key, deque(maxlen=_LONGEST))
        self._rings.move_to_end(key)
        now = self._clock()
        if not ring or now - ring[-1][0] >= _STEP_S:
            ring.append((now, dict(values)))
        while len(self._rings) > _MOST:
            self._rings.popitem(last=False)

    def series(self, key: Hashable) -> dict[str, list[Point]]:
        """By name, oldest first."""
        found: dict[str, list[Point]] = {}
        for when, values in self._rings.get(key, ()):
            for name, value in values.items():
                found.setdefault(name, []).append((when, value))
        return found
