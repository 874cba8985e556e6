from __future__ import annotations

import pytest

from sprocketmq.client.producer.broker_latency import FAILURE_MS_V4, LATENCY_TABLE_V4, LatencyFaults


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("latency", "pause"),
    [(0, 0), (549, 0), (550, 2000), (1799, 2000), (1800, 5000), (3000, 6000), (5000, 10000), (15000, 30000)],
)
def test_pause_by_latency(latency: int, pause: int) -> None:
    assert LatencyFaults().unavailable_ms(latency) == pause


@pytest.mark.parametrize(("latency", "pause"), [(549, 0), (550, 30_000), (1000, 60_000), (99_999, 600_000)])
def test_older_table(latency: int, pause: int) -> None:
    assert LatencyFaults(LATENCY_TABLE_V4, FAILURE_MS_V4).unavailable_ms(latency) == pause


def test_failure_counts_as_ten_seconds_and_passes() -> None:
    clock = Clock()
    faults = LatencyFaults(clock=clock)
    faults.record("a", 3, failed=True)
    assert not faults.is_available("a")
    assert faults.is_available("b")
    clock.now = 10.0
    assert faults.is_available("a")


def test_least_bad_is_the_one_soonest_back() -> None:
    faults = LatencyFaults(clock=Clock())
    faults.record("slow", 16_000)
    faults.record("better", 600)
    assert faults.least_bad(["slow", "better"]) == "better"
    assert faults.least_bad([]) is None
    faults.forget("slow")
    assert faults.is_available("slow")
