"""Which brokers to leave alone for a while, judged by how long their last answers took.

A send that took at least a threshold's time (or failed, which counts as FAILURE_MS) makes its broker unavailable for
the time beside that threshold. A table is a list of (latency, unavailable for), both in milliseconds, slowest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Fault:
    latency_ms: float
    until: float


@dataclass(slots=True)
class LatencyFaults:
    """The latest latency of each broker, and until when it is out of favour."""

    table: Sequence[tuple[int, int]] = LATENCY_TABLE
    failure_ms: int = FAILURE_MS
    clock: Callable[[], float] = time.monotonic
    _faults: dict[str, _Fault] = field(default_factory=dict)

    def record(self, broker_name: str, latency_ms: float, *, failed: bool = False) -> None:
        judged = float(self.failure_ms) if failed else latency_ms
        self._faults[broker_name] = _Fault(latency_ms, self.clock() + self.unavailable_ms(judged) / 1000)

    def unavailable_ms(self, latency_ms: float) -> int:
        if self.table and latency_ms < self.table[-1][0]:  # the common case costs one look
            return 0
        return next((pause for threshold, pause in self.table if latency_ms >= threshold), 0)

    def is_available(self, broker_name: str) -> bool:
        fault = self._faults.get(broker_name)
        return fault is None or self.clock() >= fault.until

    def least_bad(self, broker_names: Iterable[str]) -> str | None:
        """The broker to try when none is in favour: soonest back, then quickest."""
        known = sorted(set(broker_names), key=lambda name: (self._until(name), self._latency(name), name))
        return known[0] if known else None

    def forget(self, broker_name: str) -> None:
        self._faults.pop(broker_name, None)

    def _until(self, broker_name: str) -> float:
        fault = self._faults.get(broker_name)
        return 0.0 if fault is None else fault.until

    def _latency(self, broker_name: str) -> float:
        fault = self._faults.get(broker_name)
        return 0.0 if fault is None else fault.latency_ms
