"""What becomes of special messages, counted where it happens: transactions, delays, POP.

Bounds are those of RocketMQ 5.3 (PopMetricsConstant, TransactionMetrics, BrokerMetricsManager).
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sprocketmq.metrics.histogram import Histogram

Creations = dict[tuple[str, bool], Histogram]

_MINUTE_S, _HOUR_S = 60, 3600


class SpecialMessageCounts:
    """
    committed, rolled_back    transactions by topic
    finish_ms                 from a half message to its end, by topic
    delay_seconds             how long delayed and timed messages rested, by topic
    timers_in, timers_out     put into the wheel and taken out of it, by topic
    revive_in                 records written to the revive topic, by (topic, group, CK or ACK, what became of it)
    revive_out                records read from it, by (topic, group, CK or ACK, revive queue)
    revive_retries            messages that POP gave back, by (topic, group, what became of it)
    topic_ms, group_ms        how long topics and groups took to be made, by (success or failure, is a system's)
    """

    def __init__(self) -> None:
        self.committed: Tally[str] = Tally()
        self.rolled_back: Tally[str] = Tally()
        self.finish_ms: dict[str, Histogram] = {}
        self.delay_seconds: dict[str, Histogram] = {}
        self.timers_in: Tally[str] = Tally()
        self.timers_out: Tally[str] = Tally()
        self.revive_in: Tally[tuple[str, str, str, str]] = Tally()
        self.revive_out: Tally[tuple[str, str, str, int]] = Tally()
        self.revive_retries: Tally[tuple[str, str, str]] = Tally()
        self.topic_ms: Creations = {}
        self.group_ms: Creations = {}

    def finished(self, topic: str, after_ms: int, *, committed: bool) -> None:
        (self.committed if committed else self.rolled_back)[topic] += 1
        bounds = [1000 * second for second in (5, _MINUTE_S, 10 * _MINUTE_S, _HOUR_S, 12 * _HOUR_S, 24 * _HOUR_S)]
        self.finish_ms.setdefault(topic, Histogram(bounds)).note(max(after_ms, 0))

    def rested(self, topic: str, ms: int) -> None:
        bounds = (_MINUTE_S, 10 * _MINUTE_S, _HOUR_S, 12 * _HOUR_S, 24 * _HOUR_S)
        self.delay_seconds.setdefault(topic, Histogram(bounds)).note(max(ms, 0) / 1000)

    @contextmanager
    def making(self, took: Creations, is_system: bool) -> Iterator[None]:
        """Times what is done inside, which makes a topic or a group or fails to."""
        began, status = time.monotonic(), "failure"
        try:
            yield
            status = "success"
        finally:
            histogram = took.setdefault((status, is_system), Histogram((10, 100, 1000, 3000, 5000)))
            histogram.note((time.monotonic() - began) * 1000)

    def forget_topic(self, topic: str) -> None:
        """A topic that is gone leaves no labels behind."""
        for counts in (self.committed, self.rolled_back, self.timers_in, self.timers_out):
            counts.pop(topic, None)
        for histograms in (self.finish_ms, self.delay_seconds):
            histograms.pop(topic, None)
        for tally in (self.revive_in, self.revive_out, self.revive_retries):
            _forget(tally, topic)


def _forget(counts: Tally[Any], topic: str) -> None:
    for key in [key for key in counts if key[0] == topic]:
        del counts[key]
