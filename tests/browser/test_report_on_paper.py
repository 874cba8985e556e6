"""The report as it is printed, from a reader's dark screen, with names and tables as long as they become."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from sprocketmq.spark.pipeline.page import page as report

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
TOPICS = [f"topic-{number}-of-a-team-that-likes-names-with-many-words-in-them" for number in range(12)]
#: CSS pixels of A4 without its margins.
PAPER = {"width": 700, "height": 1010}


@pytest.fixture(scope="module")
def paper(browser: Browser) -> Iterator[Page]:
    rows = [{"group": f"group-{i}", "topic": TOPICS[i % 12], "queue": i, "lag": i * 1000} for i in range(200)]
    tables: dict[str, list[dict[str, Any]]] = {
        "topics": [
            {"topic": name, "messages": 10**9, "bytes": 10**9, "largest": 10**6, "first": MOMENT, "last": MOMENT}
            for name in TOPICS
        ],
        "throughput": [{"second": 60.0 * i, "topic": TOPICS[i], "messages": 60, "perSecond": 1.0} for i in range(12)],
        "hot_keys": [{"key": f"key-{i}", "topic": TOPICS[0], "messages": 100 - i} for i in range(20)],
        "lag": rows,
    }
    context = browser.new_context(viewport=PAPER, color_scheme="dark")  # type: ignore[arg-type]
    shown = context.new_page()
    shown.set_content(report("Shop", tables).replace("<html lang=en>", "<html lang=en data-theme=dark>"))
    shown.emulate_media(media="print", color_scheme="dark")
    yield shown
    context.close()


def styles(paper: Page, selector: str, name: str) -> set[str]:
    found: list[str] = paper.eval_on_selector_all(selector, f"all => all.map(each => getComputedStyle(each)['{name}'])")
    return set(found)


def test_paper_is_white_and_its_ink_dark(paper: Page) -> None:
    assert styles(paper, "body", "backgroundColor") == {"rgb(255, 255, 255)"}
    assert styles(paper, "td", "color") == {"rgb(28, 36, 48)"}


def test_nothing_is_beyond_the_edge(paper: Page) -> None:
    assert paper.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    assert styles(paper, ".frame", "overflowX") == {"visible"}
    beyond = "all => all.filter(each => each.getBoundingClientRect().right > innerWidth).length"
    assert paper.eval_on_selector_all("td, th, svg.wide, .bar b, .figures div", beyond) == 0


def test_what_cannot_be_clicked_is_not_there(paper: Page) -> None:
    assert styles(paper, "nav, a[download]", "display") == {"none"}


def test_a_picture_is_whole_and_a_table_goes_on_under_its_heads(paper: Page) -> None:
    assert styles(paper, "svg, .bars, tr", "breakInside") == {"avoid"}
    assert styles(paper, "section", "breakInside") == {"auto"}, "a long table would leave half a page white"
    assert styles(paper, "h2", "breakAfter") == {"avoid"}
    assert styles(paper, "thead", "display") == {"table-header-group"}
    heights = "all => all.map(each => each.getBoundingClientRect().height)"
    assert max(paper.eval_on_selector_all("svg.wide, .bars", heights)) < PAPER["height"]


def test_it_is_printed_in_as_many_pages_as_it_needs(paper: Page) -> None:
    pages = re.findall(rb"/Type\s*/Page\b", paper.pdf(format="A4", prefer_css_page_size=True))
    assert 5 <= len(pages) <= 12  # two hundred rows, twelve panels
