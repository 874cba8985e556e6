"""The report's page and its charts."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

from sprocketmq.spark.pipeline.charts import bars, lines
from sprocketmq.spark.pipeline.page import page


def test_charts_are_well_formed_and_escape_names() -> None:
    for chart in (lines({"<a>": [(0.0, 1.0), (60.0, 5.0)], "b": [(30.0, 2.0)]}), bars([("x & y", 3.0), ("z", 0.0)])):
        assert ElementTree.fromstring(chart).tag == "svg"
    assert lines({}) == ""


def test_one_moment_is_a_dot() -> None:
    assert "<circle" in lines({"a": [(5.0, 1.0)]})


def test_a_page_shows_every_table_and_fetches_nothing() -> None:
    topics = [{"topic": "orders", "messages": 1234, "bytes": 99, "first": datetime(2026, 1, 2, tzinfo=UTC)}]
    text = page("Shop", {"topics": topics, "lag": [{"group": "g", "topic": "orders", "lag": 7}]})
    assert "1,234" in text
    assert "2026-01-02" in text
    assert "Nothing." in text
    assert "src=" not in text
    assert "http" not in text


def test_names_cannot_break_the_page() -> None:
    text = page("<script>", {"topics": [{"topic": "<b>", "messages": 1, "bytes": 1}]})
    assert "<script>" not in text
    assert "<b>1" in text, "our own"
    assert "&lt;b&gt;" in text
