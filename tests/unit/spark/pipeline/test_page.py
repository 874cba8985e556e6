"""The report's page."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sprocketmq.spark.pipeline.page import page
from sprocketmq.spark.pipeline.report import step_ms


@pytest.mark.parametrize(
    ("span_ms", "step"), [(0, 10), (1000, 10), (9_600, 100), (3_600_000, 30_000), (400 * 86_400_000, 4 * 86_400_000)]
)
def test_steps_fit_the_span(span_ms: int, step: int) -> None:
    assert step_ms(span_ms) == step


def test_a_page_shows_every_table_and_fetches_nothing() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    topics = [{"topic": "orders", "messages": 1234, "bytes": 99, "first": moment, "last": moment}]
    text = page("Shop", {"topics": topics, "lag": [{"group": "g", "topic": "orders", "lag": 7}]}, "cluster of host:1")
    assert "1,234" in text
    assert "cluster of host:1, stored from 2026-01-02 00:00:00 to" in text
    assert "class=bad><b>7</b>messages not consumed yet" in text
    assert "No trace was read: it is written by Producer(trace=True)" in text
    assert 'href="topics.parquet"' in text
    assert 'href="sizes.parquet"' not in text, "an empty table has no file"
    assert 'tabindex=0 role=region aria-label="Topics"' in text, "a table is scrolled by keys as well"
    assert "<thead><tr><th>topic</th><th class=n>messages</th>" in text, "a printed table repeats its heads"
    assert "<td class=t>2026-01-02 00:00:00</td>" in text, "a time is not broken"
    assert "src=" not in text
    assert "http" not in text


def test_names_cannot_break_the_page() -> None:
    text = page("<script>", {"topics": [{"topic": "<b>", "messages": 1, "bytes": 1}]})
    assert "<script>" not in text
    assert "<b>1" in text, "our own"
    assert "&lt;b&gt;" in text
