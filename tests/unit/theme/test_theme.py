"""The tokens that the report and the console share."""

from __future__ import annotations

import re

from sprocketmq.spark.pipeline.page import page
from sprocketmq.theme import tokens


def test_a_report_carries_the_tokens_and_uses_no_other() -> None:
    text = page("Shop", {})
    assert tokens() in text
    known = set(re.findall(r"(--[a-z0-9-]+):", tokens()))
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", text)) <= known


def test_paper_is_light_whatever_the_reader_has_chosen() -> None:
    assert "@media print { :root, :root[data-theme] { color-scheme: light } }" in tokens()


def test_every_colour_has_a_light_and_a_dark_form() -> None:
    colours = [line for line in tokens().splitlines() if "#" in line]
    assert len(colours) > 10
    assert [line for line in colours if "light-dark(" not in line] == []
