"""Spark's filters as bounds."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNotNull, LessThan, Not

from sprocketmq.spark.read.pushdown import Narrowing, narrow
from sprocketmq.store.view.store import FOREVER


def test_sets_are_cut_down() -> None:
    found = narrow(Narrowing(), [EqualTo(("topic",), "a"), In(("queueId",), (1, 2)), IsNotNull(("topic",))])
    assert found.topics == frozenset({"a"})
    assert found.queue_ids == frozenset({1, 2})
    assert narrow(found, [EqualTo(("queueId",), 2)]).queue_ids == frozenset({2})
    assert narrow(found, [EqualTo(("queueId",), 3)]).nothing


def test_offsets_become_half_open_bounds() -> None:
    found = narrow(Narrowing(), [GreaterThanOrEqual(("queueOffset",), 10), LessThan(("queueOffset",), 20)])
    assert (found.begin_offset, found.end_offset) == (10, 21), "never less than what the filter allows"
    assert narrow(found, [EqualTo(("queueOffset",), 30)]).nothing
    assert narrow(Narrowing(), [In(("commitLogOffset",), (5, 9))]).selection().begin_physical == 5


def test_times_are_cut_to_milliseconds() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 678_900, UTC)
    milliseconds = int(when.timestamp() * 1000)
    found = narrow(Narrowing(), [GreaterThan(("storeTimestamp",), when)])
    assert (found.begin_time, found.end_time) == (milliseconds, FOREVER)
    assert found.selection().end_time == FOREVER


def test_what_is_not_understood_narrows_nothing() -> None:
    unknown = [Not(EqualTo(("topic",), "a")), EqualTo(("body",), b"x"), EqualTo(("properties", "topic"), "a")]
    assert narrow(Narrowing(), unknown) == Narrowing()


def test_queues_are_asked_one_by_one() -> None:
    found = Narrowing().only("topics", ["a"]).only("brokers", ["b"])
    assert found.allows("a", "b", 7)
    assert not found.allows("a", "c", 7)
