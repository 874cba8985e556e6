from __future__ import annotations

import pytest

from sprocketmq.theme.numbers import bound_text, short, size_text, span_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (999, "999 B"), (6_706_414, "6.71 MB"), (4096, "4.1 kB"), (3 * 10**12, "3 TB"), (999_999, "1 MB"),
        (5 * 10**15, "5 PB"), (123_456, "123 kB"),
    ],
)  # fmt: skip
def test_sizes_have_units(count: int, text: str) -> None:
    assert size_text(count) == text


@pytest.mark.parametrize(("count", "text"), [(512, "512 B"), (4096, "4 KiB"), (1 << 30, "1,024 MiB"), (5000, "5 kB")])
def test_bounds_are_whole(count: int, text: str) -> None:
    assert bound_text(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"), (42.4, "42"), (12_345, "12.3k"), (1_000_000, "1M"), (999_999, "1M"), (-2_500_000, "-2.5M"),
        (12.3e9, "12.3G"), (0, "0"),
    ],
)  # fmt: skip
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.5, "0.5 s"), (59, "59 s"), (90, "1.5 min"), (7200, "2 h"), (1e6, "11.6 d"), (1500 * 86_400, "1,500 d")],
)
def test_spans_have_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert span_text(seconds) == text
