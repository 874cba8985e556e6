from __future__ import annotations

import asyncio

import pytest
from tests.loop_clock import LoopClock

from sprocketmq.client.push.rate import RateLimit


async def test_no_limit_never_waits() -> None:
    await asyncio.wait_for(RateLimit(0).take(10**9), 60)


async def test_waits_add_up(loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    limit = RateLimit(10)
    for _ in range(30):
        await limit.take(1)
    waited = [seconds for seconds in slept if seconds > 1e-6]  # a rest of a float is no wait
    assert waited == pytest.approx([i / 10 for i in range(1, 21)])  # a second's worth is free
