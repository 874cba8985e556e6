"""Rows per second, by a clock that the test turns."""

from __future__ import annotations

import pytest

from sprocketmq.spark.write.rate_limit import WriteRate


def nothing() -> None:
    pass


@pytest.mark.parametrize("batch", [1, 7, 10, 10_000])
def test_a_limit_is_kept(batch: int) -> None:
    now, sent, flushed = [0.0], [0], [0]

    def sleep(seconds: float) -> None:
        assert flushed[0] == sent[0], "what was taken is sent before a pause"
        now[0] += seconds

    def flush() -> None:
        flushed[0] = sent[0]

    pace = WriteRate(100, lambda: now[0], sleep)
    while now[0] < 2:
        for begin, end in pace.portions(batch, flush):
            sent[0] += end - begin
    assert abs(sent[0] - 100 * now[0]) <= 20
    assert now[0] >= batch / 100 - 0.11


def test_portions_follow_each_other() -> None:
    pace = WriteRate(100, lambda: 0.0, lambda _: None)
    portions = list(pace.portions(25, nothing)) + list(pace.portions(5, nothing))
    assert portions == [(0, 10), (10, 20), (20, 25), (0, 5)]


def test_without_a_limit_nothing_waits() -> None:
    assert list(WriteRate(None).portions(1000, nothing)) == [(0, 1000)]
