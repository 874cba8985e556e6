from __future__ import annotations

import pytest

from sprocketmq.client.producer.broker_latency import LatencyFaults, unavailable_ms


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("latency", "pause"),
    [(0, 0), (549, 0), (550, 2000), (1799, 2000), (1800, 5000), (3000, 6000), (5000, 10000), (15000, 30000)],
)
def test_pause_by_latency(latency: int, pause: int) -> None:
    assert unavailable_ms(latency) == pause


def test_failure_counts_as_ten_seconds_and_passes() -> None:
    clock = Clock()
    faults = LatencyFaults(clock=clock)
    faults.record("a", 3, failed=True)
    assert not faults.is_available("a")
    assert faults.is_available("b")
    clock.now = 10.0
    assert faults.is_available("a")
