# cython: annotation_typing=False
"""How long puts took: counts by duration, for the broker's figures. Below a millisecond they double from 1 us on."""

from __future__ import annotations

from bisect import bisect_right

QUICK_US = tuple(1 << bits for bits in range(11))  # a put is in the first that it is below
SLOW_MS = (10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_NAMES = (
    "[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]", "[500ms~1s]", "[1~2s]", "[2~3s]",
    "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]",
)  # fmt: skip


class PutTimes:
    __slots__ = ("quick", "slow", "worst_ns")

    def __init__(self) -> None:
        self.quick = [0] * len(QUICK_US)
        self.slow = [0] * (len(SLOW_MS) + 1)
        self.worst_ns = 0

    def note(self, ns: int) -> None:
        """A put took `ns`."""
        if ns > self.worst_ns:
            self.worst_ns = ns
        if ns >= 1_000_000:
            self.slow[bisect_right(SLOW_MS, ns // 1_000_000)] += 1
            return
        us, bucket = ns // 1000, 0  # its bits are counted: the bucket is that of the power of two above it
        while us > 0:
            us >>= 1
            bucket += 1
        self.quick[bucket] += 1

    def distribution(self) -> str:
        """As RocketMQ shows it in `putMessageDistributeTime`."""
        counts = (sum(self.quick), *self.slow)
        return " ".join(f"{name}:{count}" for name, count in zip(_NAMES, counts, strict=True))

    def within_ms(self, share: float) -> float:
        """The duration that so large a share of the puts stayed below, as closely as the counts tell."""
        counts = (*self.quick, *self.slow)
        bounds = (*(us / 1000 for us in QUICK_US), *map(float, SLOW_MS), self.worst_ns / 1e6)
        left = share * sum(counts)
        for count, bound in zip(counts, bounds, strict=True):
            left -= count
            if left <= 0:
                return min(bound, self.worst_ns / 1e6)
        return self.worst_ns / 1e6
