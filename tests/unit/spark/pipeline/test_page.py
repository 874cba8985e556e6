"""The report's page and its charts."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from sprocketmq.spark.pipeline.charts import areas, bars
from sprocketmq.spark.pipeline.page import page, size_text
from sprocketmq.spark.pipeline.report import step_ms


def test_charts_are_well_formed_and_escape_names() -> None:
    over_time = areas({"<a>": [(0.0, 1.0), (60.0, 5.0)], "b": [(30.0, 2.0)]}, 30.0)
    for chart in (over_time, bars([("x & y", 3.0), ("z", 0.0)])):
        ElementTree.fromstring(f"<div>{chart}</div>")
    assert areas({}, 1.0) == ""


def test_chart_has_a_wide_and_a_narrow_form_with_a_panel_for_each_series() -> None:
    found = ElementTree.fromstring(f"<div>{areas({'a': [(5.0, 1.0)], 'b': [(5.0, 1.0)]}, 1.0)}</div>")
    assert [svg.get("class") for svg in found] == ["wide", "narrow"]
    assert [len(svg.findall("path")) for svg in found] == [2, 2], "equal series do not hide each other"


@pytest.mark.parametrize(
    ("span_ms", "step"), [(0, 10), (1000, 10), (9_600, 100), (3_600_000, 30_000), (400 * 86_400_000, 4 * 86_400_000)]
)
def test_steps_fit_the_span(span_ms: int, step: int) -> None:
    assert step_ms(span_ms) == step


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (6_706_414, "6.71 MB"), (4096, "4 KiB"), (3 * 10**12, "3 TB")]
)
def test_sizes_have_units(count: int, text: str) -> None:
    assert size_text(count) == text


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
    assert "src=" not in text
    assert "http" not in text


def test_names_cannot_break_the_page() -> None:
    text = page("<script>", {"topics": [{"topic": "<b>", "messages": 1, "bytes": 1}]})
    assert "<script>" not in text
    assert "<b>1" in text, "our own"
    assert "&lt;b&gt;" in text
