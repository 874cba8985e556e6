"""Brokers that were here: missed while their set is smaller than it was, for an hour."""

from __future__ import annotations

from sprocketmq.dashboard.cluster.lost_brokers import LostBroker, LostBrokers


def test_who_is_missed() -> None:
    now = [0.0]
    seen = LostBrokers(lambda: now[0])
    assert seen.note({"a": {"x:1", "x:2"}, "b": {"y:1"}}) == []
    now[0] = 30.0
    assert seen.note({"a": {"x:1"}}) == [
        LostBroker("a", "x:2", 30.0, was_last=False),
        LostBroker("b", "y:1", 30.0, was_last=True),
    ]
    assert seen.note({"a": {"x:1", "x:3"}, "b": {"y:1"}}) == [], "another one took the place, and one came back"
    now[0] = 4000.0
    assert seen.note({"a": {"x:1"}}) == [], "that was meant"
