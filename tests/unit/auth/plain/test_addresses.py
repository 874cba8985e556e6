from __future__ import annotations

from typing import Any

import pytest

from sprocketmq.auth.plain.addresses import parse_pattern
from sprocketmq.errors import ConfigError

from ..golden import GOLDEN


def has_gap_beside_a_range(pattern: str) -> bool:
    """Counted wrongly in RocketMQ, which takes the `::` for one group: they match too much, or nothing."""
    return "::" in pattern and ("*" in pattern or "-" in pattern)


@pytest.mark.parametrize("row", GOLDEN["addressPatterns"], ids=lambda row: repr(row["pattern"]))
def test_as_rocketmq_decides(row: dict[str, Any]) -> None:
    pattern, matches = row["pattern"], row.get("matches") or {}
    fatal = any(isinstance(answer, str) for answer in matches.values())  # every request of everybody fails
    if row["error"] or (fatal and pattern != "::*") or pattern == "1::ac:41:9987::bb:*":
        with pytest.raises(ConfigError):
            parse_pattern(pattern)
        return
    matcher = parse_pattern(pattern)
    if not fatal and not has_gap_beside_a_range(pattern):
        assert {address: matcher(address) for address in matches} == matches


def test_a_gap_beside_a_range() -> None:
    assert parse_pattern("2001:db8::1-20")("2001:db8::15")
    assert not parse_pattern("2001:db8::1-20")("2001:db8::21")
    assert parse_pattern("2001:db8::*")("2001:db8::7")
    assert not parse_pattern("2001:db8::*")("2001:db8::1:15:3")
    assert parse_pattern("2001:db8::1:1-20:*")("2001:db8::1:15:3")


@pytest.mark.parametrize("pattern", ["2001:db8::*:7", "2001:db8:0:0:0:0:1-20:7", "1:2:3:4:5:6:a-ff:a-ff"])
def test_what_stands_behind_a_range_of_ipv6_is_not_passed_over(pattern: str) -> None:
    """RocketMQ refuses these: whoever is in a white list needs no key, so none may name more than it says."""
    with pytest.raises(ConfigError, match="examine scope"):
        parse_pattern(pattern)
