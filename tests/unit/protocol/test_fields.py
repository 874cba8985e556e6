from __future__ import annotations

import pytest

from sprocketmq.protocol.fields import INT, LONG, Long, bits_of, not_none, quoted


def test_widths() -> None:
    assert (bits_of(int), bits_of(Long), bits_of(str), bits_of(bool)) == (INT, LONG, None, None)
    assert INT.bounds == (-(2**31), 2**31 - 1)
    assert LONG.bounds == (-(2**63), 2**63 - 1)


def test_the_arm_that_is_not_none() -> None:
    assert not_none(int | None) is int
    assert not_none(Long | None) == Long
    assert not_none(str) is str


@pytest.mark.parametrize("value", ["x" * 10_000_000, b"x" * 10_000, ["x" * 10_000], {"k": "v" * 10_000}])
def test_what_a_peer_sent_is_quoted_in_short(value: object) -> None:
    assert len(quoted(value)) <= 63


def test_short_values_are_quoted_whole() -> None:
    assert (quoted("x"), quoted(5), quoted("x" * 58)) == ("'x'", "5", repr("x" * 58))
