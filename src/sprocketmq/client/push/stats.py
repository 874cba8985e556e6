"""Counters of a running consumer, by topic."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sprocketmq.protocol.bodies.running_info import ConsumeStatus


@dataclass(slots=True)
class _Counts:
    pulled: int = 0
    pull_seconds: float = 0.0
    pulls: int = 0
    consumed: int = 0
    failed: int = 0
    consume_seconds: float = 0.0


@dataclass(slots=True)
class ConsumeCounters:
    clock: Callable[[], float] = time.monotonic
    _now: dict[str, _Counts] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def pulled(self, topic: str, count: int, seconds: float) -> None:
        counts = self._of(topic)
        counts.pulled += count
        counts.pulls += 1
        counts.pull_seconds += seconds

    def consumed(self, topic: str, count: int, seconds: float, *, ok: bool) -> None:
        counts = self._of(topic)
        counts.consume_seconds += seconds
        if ok:
            counts.consumed += count
        else:
            counts.failed += count

    def status(self) -> dict[str, ConsumeStatus]:
        """Rates since the consumer started, averages in milliseconds."""
        seconds = max(self.clock() - self.started, 1e-3)
        return {topic: _status(counts, seconds) for topic, counts in sorted(self._now.items())}

    def _of(self, topic: str) -> _Counts:
        counts = self._now.get(topic)
        if counts is None:
            counts = self._now[topic] = _Counts()
        return counts


def _status(counts: _Counts, seconds: float) -> ConsumeStatus:
    handled = counts.consumed + counts.failed
    return ConsumeStatus(
        pull_rt=counts.pull_seconds * 1000 / max(counts.pulls, 1),
        pull_tps=counts.pulled / seconds,
        consume_rt=counts.consume_seconds * 1000 / max(handled, 1),
        consume_ok_tps=counts.consumed / seconds,
        consume_failed_tps=counts.failed / seconds,
        consume_failed_msgs=counts.failed,
    )
