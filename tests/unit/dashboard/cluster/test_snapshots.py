"""Answers are asked for once for all who wait, again when they are old, and not at all when nobody wants them."""

from __future__ import annotations

import asyncio

import pytest

from sprocketmq.dashboard.cluster.snapshots import Snapshots
from sprocketmq.errors import SprocketError


class Source:
    def __init__(self) -> None:
        self.asked = 0
        self.failing = False

    async def ask(self) -> int:
        self.asked += 1
        await asyncio.sleep(0)
        if self.failing:
            raise SprocketError("away")
        return self.asked


async def test_many_who_look_cost_as_much_as_one() -> None:
    source, snapshots = Source(), Snapshots()
    assert await asyncio.gather(*(snapshots.get("key", 60, source.ask) for _ in range(10))) == [1] * 10
    assert await snapshots.get("key", 60, source.ask) == 1
    assert await snapshots.get("key", -1, source.ask) == 2, "too old"
    assert await snapshots.get("other", 60, source.ask) == 3
    snapshots.forget()
    assert await snapshots.get("key", 60, source.ask) == 4


async def test_a_failure_is_told_to_all_who_waited_and_not_kept() -> None:
    source, snapshots = Source(), Snapshots()
    source.failing = True
    found = await asyncio.gather(*(snapshots.get("key", 60, source.ask) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in found] == ["away"] * 3
    assert source.asked == 1
    source.failing = False
    assert await snapshots.get("key", 60, source.ask) == 2


async def test_one_who_leaves_does_not_take_the_answer_from_others() -> None:
    source, snapshots = Source(), Snapshots()
    leaving = asyncio.ensure_future(snapshots.get("key", 60, source.ask))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await snapshots.get("key", 60, source.ask) == 1
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_there_are_never_too_many() -> None:
    source, snapshots = Source(), Snapshots(most=2)
    for key in "abc":
        await snapshots.get(key, 60, source.ask)
    assert await snapshots.get("c", 60, source.ask) == 3
    assert await snapshots.get("a", 60, source.ask) == 4
