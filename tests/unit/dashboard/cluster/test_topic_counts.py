"""The order of topics by what they hold or get, while it is asked for and later."""

from __future__ import annotations

from sprocketmq.client.admin.topics import TopicFigures
from sprocketmq.dashboard.cluster.topic_counts import TopicCounts
from sprocketmq.protocol.bodies.stats import TopicOffset
from sprocketmq.protocol.message_queue import MessageQueue


def figures(rate: float, messages: int) -> TopicFigures:
    return TopicFigures(rate, {MessageQueue("t", "broker-a", 0): TopicOffset(min_offset=5, max_offset=5 + messages)})


async def test_those_that_were_not_asked_are_last_and_those_that_are_gone_are_forgotten() -> None:
    counts, names = TopicCounts(), ["a", "b", "c", "d"]
    counts.begin(names)
    counts.note("b", figures(1.0, 9))
    counts.note("c", figures(2.0, 9))
    counts.note("d", figures(0.0, 0))
    assert counts.sort(names, "messages") == ["b", "c", "d", "a"]
    assert counts.sort(names, "rate") == ["c", "b", "d", "a"]
    assert counts.counted(names) == 3
    counts.begin(["a", "c"])
    counts.end()
    assert counts.counted(names) == 1
    assert counts.fresh_s == 15.0
