from __future__ import annotations

from xml.etree import ElementTree

from sprocketmq.dashboard.draw.lines import lines, spark


def test_a_chart_is_well_formed_in_two_sizes_and_says_what_it_shows() -> None:
    chart = lines({"in <b>": [(0.0, 1.0), (2.0, 75.0)], "out": [(0.0, 0.0), (2.0, 10.0)]}, "Rates & more", "/s")
    found = ElementTree.fromstring(str(chart))
    pictures = found.findall("svg")
    assert [svg.get("class") for svg in pictures] == ["wide", "narrow"]
    assert pictures[0].get("aria-label") == ("Rates & more: in <b> now 75/s, at most 75/s, out now 10/s, at most 10/s")
    assert [len(svg.findall("path")) for svg in pictures] == [2, 2]
    assert "100/s" in [text.text for text in pictures[0].findall("text")], "a plain number above the highest"


def test_a_line_is_broken_where_nobody_looked() -> None:
    chart = lines({"in": [(0.0, 1.0), (2.0, 1.0), (100.0, 1.0), (102.0, 1.0)]}, "Rates")
    assert str(chart).count("M") == 2 * 2


def test_a_point_that_stands_alone_is_a_dot() -> None:
    chart = lines({"in": [(0.0, 1.0), (2.0, 1.0), (100.0, 1.0)]}, "Rates")
    assert 'h0"' in str(chart)


def test_one_point_is_no_line() -> None:
    assert "fills in" in lines({"in": [(0.0, 1.0)]}, "Rates")
    assert spark([(0.0, 1.0)], "Rate") == ""
    ElementTree.fromstring(str(spark([(0.0, 0.0), (1.0, 0.0)], "Rate")))
