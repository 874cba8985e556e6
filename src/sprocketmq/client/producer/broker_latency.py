"""Which brokers to leave alone for a while, judged by how long their last answers took.

A send that took at least a threshold's time (or failed, which counts as FAILURE_MS) makes its broker unavailable for
the time beside that threshold. A table is a list of (latency, unavailable for), both in milliseconds, slowest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

#: RocketMQ 5.
LATENCY_TABLE = (
    (15000, 30000),
    (5000, 10000),
    (3000, 6000),
    (1800, 5000),
    (550, 2000),
    (100, 0),
    (50, 0),
)
FAILURE_MS = 10_000

#: RocketMQ 4: far more cautious.
LATENCY_TABLE_V4 = (
    (15000, 600_000),
    (3000, 180_000),
    (2000, 120_000),
    (1000, 60_000),
    (550, 30_000),
    (100, 0),
    (50, 0),
)
FAILURE_MS_V4 = 30_000


class LatencyFaults:
    """The latest latency of each broker, and until when it is out of favour."""

    __slots__ = ("_clock", "_failure_ms", "_faults", "_table")

    def __init__(
        self,
        table: Sequence[tuple[int, int]] = LATENCY_TABLE,
        failure_ms: int = FAILURE_MS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table, self._failure_ms, self._clock = table, failure_ms, clock
        self._faults: dict[str, tuple[float, float]] = {}  # of a broker: until when, and its latency

    def record(self, broker_name: str, latency_ms: float, *, failed: bool = False) -> None:
        judged = float(self._failure_ms) if failed else latency_ms
        self._faults[broker_name] = (self._clock() + self.unavailable_ms(judged) / 1000, latency_ms)

    def unavailable_ms(self, latency_ms: float) -> int:
        if self._table and latency_ms < self._table[-1][0]:  # the common case costs one look
            return 0
        return next((pause for threshold, pause in self._table if latency_ms >= threshold), 0)

    def is_available(self, broker_name: str) -> bool:
        fault = self._faults.get(broker_name)
        return fault is None or self._clock() >= fault[0]

    def least_bad(self, broker_names: Iterable[str]) -> str | None:
        """The broker to try when none is in favour: soonest back, then quickest."""
        known = sorted(set(broker_names), key=lambda name: (self._faults.get(name, (0.0, 0.0)), name))
        return known[0] if known else None

    def forget(self, broker_name: str) -> None:
        self._faults.pop(broker_name, None)
