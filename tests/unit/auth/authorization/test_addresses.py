from __future__ import annotations

from typing import Any

import pytest

from sprocketmq.auth.authorization import addresses

from ..golden import GOLDEN

#: RocketMQ reads a host with less than four parts as one whose last part fills the rest, and then matches nothing.
UNREAD = {"10.1/16"}


@pytest.mark.parametrize("row", GOLDEN["sourceIps"], ids=lambda row: repr(row["pattern"]))
def test_as_rocketmq_decides(row: dict[str, Any]) -> None:
    pattern = row["pattern"]
    assert addresses.is_valid(pattern) is (row["valid"] and pattern not in UNREAD)
    if not row["valid"]:
        assert not any(addresses.covers(pattern, address) for address in row["contains"])
        return
    for address, contained in row["contains"].items():
        by_value = "/" not in pattern and addresses.number(address) == addresses.number(pattern)
        assert addresses.covers(pattern, address) is (contained or by_value)


def test_a_single_ipv6_address_is_compared_by_value() -> None:
    assert addresses.covers("2001:db8::1", "[2001:db8:0:0:0:0:0:1]")
    assert addresses.covers("::1", "0:0:0:0:0:0:0:1")
    assert not addresses.covers("::1", "::2")


def test_an_address_that_is_none_is_nowhere() -> None:
    assert not addresses.covers("0.0.0.0/0", "not-an-address")


@pytest.mark.parametrize(
    ("bits", "covered"),
    [(8, {"10.1.2.3", "10.9.9.9"}), (32, {"10.1.2.3"}), (64, {"10.1.2.3"}), (120, {"10.1.2.3"}), (129, set())],
)
def test_a_block_of_ipv4_in_ipv6_clothes_is_not_everybody(bits: int, covered: set[str]) -> None:
    peers = {"10.1.2.3", "10.9.9.9", "11.1.1.1", "::1", "2001:db8::1"}
    assert {peer for peer in peers if addresses.covers(f"::ffff:10.1.2.3/{bits}", peer)} == covered
