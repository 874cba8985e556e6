from __future__ import annotations

from xml.etree import ElementTree

from sprocketmq.theme.charts import areas, bars


def test_charts_are_well_formed_and_escape_names() -> None:
    over_time = areas({"<a>": [(0.0, 1.0), (60.0, 5.0)], "b": [(30.0, 2.0)]}, 30.0)
    for chart in (over_time, bars([("x & y", 3.0), ("z", 0.0)])):
        ElementTree.fromstring(f"<div>{chart}</div>")
    assert areas({}, 1.0) == ""


def test_a_chart_is_told_to_who_does_not_see_it() -> None:
    found = ElementTree.fromstring(f"<div>{areas({'a': [(5.0, 1.0)], 'b>': [(5.0, 2.0)]}, 1.0)}</div>")
    assert {svg.get("aria-label") for svg in found} == {"a, at most 1/s; b>, at most 2/s"}


def test_a_picture_has_no_more_panels_than_a_page_holds() -> None:
    many = {f"{number:02d}": [(5.0, float(number + 1))] for number in range(20)}
    found = ElementTree.fromstring(f"<div>{areas(many, 1.0)}</div>")
    assert [len(svg.findall("path")) for svg in found if svg.get("class") == "wide"] == [8, 8, 4]
    scales = {text.text for svg in found for text in svg.findall("text") if (text.text or "").endswith("/s")}
    assert "20/s" in scales, "all to the same scale"


def test_chart_has_a_wide_and_a_narrow_form_with_a_panel_for_each_series() -> None:
    found = ElementTree.fromstring(f"<div>{areas({'a': [(5.0, 1.0)], 'b': [(5.0, 1.0)]}, 1.0)}</div>")
    assert [svg.get("class") for svg in found] == ["wide", "narrow"]
    assert [len(svg.findall("path")) for svg in found] == [2, 2], "equal series do not hide each other"
