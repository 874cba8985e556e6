"""Which brokers to leave alone for a while, judged by how long their last answers took.

A send that took at least a threshold's time (or failed, which counts as FAILURE_MS) makes its broker unavailable for
the time beside that threshold.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: RocketMQ 5: (latency, unavailable for), both in milliseconds, slowest first.
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


class LatencyFaults:
    """Until when each broker is out of favour, by how long its latest request took."""

    __slots__ = ("_clock", "_until")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def record(self, broker_name: str, latency_ms: float, *, failed: bool = False) -> None:
        pause_ms = unavailable_ms(FAILURE_MS if failed else latency_ms)
        self._until[broker_name] = self._clock() + pause_ms / 1000

    def is_available(self, broker_name: str) -> bool:
        until = self._until.get(broker_name)
        return until is None or self._clock() >= until


def unavailable_ms(latency_ms: float) -> int:
    """For how long a broker is left alone that took so long."""
    if latency_ms < LATENCY_TABLE[-1][0]:  # the common case costs one look
        return 0
    return next((pause for threshold, pause in LATENCY_TABLE if latency_ms >= threshold), 0)
