from __future__ import annotations

import pytest

from sprocketmq.cli.nearest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("typed", "meant"), [("listenPrt", "listenPort"), ("LISTENPORT", "listenPort"), ("zzz", None), ("ordres", "orders")]
)
def test_the_nearest_name(typed: str, meant: str | None) -> None:
    assert nearest(typed, ["listenPort", "brokerName", "orders"]) == meant


def test_as_a_question() -> None:
    assert did_you_mean("ordres", ["orders"]) == ": did you mean orders?"
    assert did_you_mean("x", ["orders"]) == ""
