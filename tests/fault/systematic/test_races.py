"""Every order of two threads on each shared field; and that this finds the races that were there once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from tests.fault.systematic.interleave import Interleaved
from tests.fault.systematic.planted_races import PLANTED
from tests.fault.systematic.races import RACES, Race, enumerate_orders

NAMED = {race.name: race for race in RACES}


@pytest.mark.parametrize("race", RACES, ids=list(NAMED))
def test_every_order_of_two_threads_is_right(race: Race) -> None:
    assert enumerate_orders(race, 0) > 50


@pytest.mark.parametrize(("name", "bugs"), PLANTED, ids=[next(iter(bugs.values())).__name__ for _, bugs in PLANTED])
def test_a_planted_race_is_found(name: str, bugs: dict[tuple[type, str], Callable[..., Any]]) -> None:
    patches = [patch.object(owner, method, bug) for (owner, method), bug in bugs.items()]
    for each in patches:
        each.start()
    try:
        with pytest.raises((AssertionError, Interleaved)):
            enumerate_orders(NAMED[name], 0)
    finally:
        for each in patches:
            each.stop()
