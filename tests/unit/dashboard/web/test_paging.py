from __future__ import annotations

import pytest

from sprocketmq.dashboard.web.paging import PER_PAGE, page_of

NAMES = [f"topic-{number:03}" for number in range(60)]


@pytest.mark.parametrize(
    ("number", "first"), [("1", 1), ("2", 26), ("3", 51), ("9", 51), ("0", 1), ("x", 1), ("-1", 1)]
)
def test_a_page_of_the_list_or_the_nearest(number: str, first: int) -> None:
    page = page_of(NAMES, "", number)
    assert (page.first, page.pages, page.found) == (first, 3, 60)
    assert len(page.items) == min(PER_PAGE, 60 - first + 1)


def test_every_word_must_be_in_a_name() -> None:
    assert list(page_of(NAMES, "TOPIC 07", "1").items) == ["topic-007"]
    assert page_of(NAMES, "nothing", "1").last == 0


def test_links_keep_the_search() -> None:
    assert page_of(NAMES, "a&b", "1", "yours").link(2) == "?q=a%26b&kind=yours&page=2"
