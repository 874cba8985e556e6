"""Rows per second, by a clock that the test turns."""

from __future__ import annotations

from sprocketmq.spark.pace import Pace


def test_a_limit_is_kept() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    pace = Pace(100, lambda: now[0], sleep)
    sent = 0
    while now[0] < 2:
        if pace.due():
            pace.wait()
        sent += 1
    assert 190 <= sent <= 220


def test_without_a_limit_nothing_waits() -> None:
    pace = Pace(None)
    assert not any(pace.due() for _ in range(1000))
