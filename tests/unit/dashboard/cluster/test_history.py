from __future__ import annotations

from sprocketmq.dashboard.cluster.history import LagHistory


def test_a_point_a_second_and_the_last_ones_only() -> None:
    now = [0.0]
    history = LagHistory(lambda: now[0])
    for tenth in range(0, 20_000):
        now[0] = tenth / 10
        history.note("key", {"in": tenth, "out": 0.0})
    series = history.series("key")
    assert list(series) == ["in", "out"]
    assert len(series["in"]) == 600
    assert series["in"][-1][0] == 1999.0
    assert history.series("other") == {}


def test_rings_that_nobody_looked_at_for_long_are_forgotten() -> None:
    history = LagHistory()
    for number in range(600):
        history.note(number, {"in": 1.0})
    assert history.series(0) == {}
    assert history.series(599)
