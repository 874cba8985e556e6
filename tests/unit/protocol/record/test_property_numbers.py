from __future__ import annotations

import pytest

from sprocketmq.protocol.record.property_numbers import number_in


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("17", 17), ("-1", -1), ("9" * 18, 10**18 - 1)])
def test_numbers(text: str, number: int) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize("text", [None, "", "x", "1.5", "²", "٣", " 1", "1\n", "9" * 19, "--1"])
def test_no_numbers(text: str | None) -> None:
    assert number_in(text) is None
