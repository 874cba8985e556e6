"""How many values lay below each of some bounds, for Prometheus. For what is rare: nothing on a hot road counts so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        """A value on a bound is below it, as Prometheus counts."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
