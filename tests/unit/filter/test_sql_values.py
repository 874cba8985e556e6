"""Numbers read from text and ordered as Java does it."""

from __future__ import annotations

import math

import pytest

from sprocketmq.errors import EvaluateError
from sprocketmq.filter.sql_values import order, order_doubles, reader_of, to_double, to_integer, to_long


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("+5", 5), ("-5", -5), ("007", 7), ("٥", 5), ("-2147483648", -(2**31)), ("0000000000001", 1)],
)
def test_integers(text: str, value: int) -> None:
    assert to_integer(text) == value
    assert to_long(text) == value


@pytest.mark.parametrize("text", ["", "+", "-", "--5", " 5", "5 ", "5.0", "5L", "1_0", "0x5", "𝟓", "9" * 5000])
def test_what_is_no_integer(text: str) -> None:
    for read in (to_integer, to_long):
        with pytest.raises(EvaluateError):
            read(text)


def test_integer_ranges() -> None:
    assert to_long("2147483648") == 2**31
    with pytest.raises(EvaluateError, match="32-bit"):
        to_integer("2147483648")
    with pytest.raises(EvaluateError, match="64-bit"):
        to_long("9223372036854775808")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 1.5\t", 1.5),
        ("1.5f", 1.5),
        ("5.", 5.0),
        (".5D", 0.5),
        ("1e3", 1000.0),
        ("0x1.8p1", 3.0),
        ("-0x1p99999", -math.inf),
        ("1e400", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_doubles(text: str, value: float) -> None:
    assert to_double(text) == value


@pytest.mark.parametrize("text", ["", ".", "e5", "1e", "inf", "nan", "1_0", "٥", "0x10", "1dd", "\u00a01"])
def test_what_is_no_double(text: str) -> None:
    with pytest.raises(EvaluateError):
        to_double(text)


def test_doubles_are_totally_ordered() -> None:
    ascending = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]
    for at, left in enumerate(ascending):
        for beside, right in enumerate(ascending):
            assert order_doubles(left, right) == (at > beside) - (at < beside)


def test_the_reader_follows_the_literal() -> None:
    assert reader_of(2147483647) is to_integer
    assert reader_of(-2147483648) is to_long
    assert reader_of(1.5) is to_double


def test_order_across_types() -> None:
    assert order("7", 7) == 0
    assert order(7, "8") < 0
    assert order(2**53 + 1, float(2**53)) == 0
    assert order("TRUE", True) == 0
    assert order(True, 1) == -1
    assert order(1, True) == -1
    with pytest.raises(EvaluateError, match="boolean on the left"):
        order(True, "true")
