from __future__ import annotations

import asyncio

import pytest

from sprocketmq.client.push.rate import RateLimit


async def test_no_limit_never_waits() -> None:
    await asyncio.wait_for(RateLimit(0).take(10**9), 1)


async def test_waits_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    limit = RateLimit(10)
    for _ in range(30):
        await limit.take(1)
    assert len(slept) == pytest.approx(20, abs=1)  # a second's worth is free
    assert slept[-1] == pytest.approx(2.0, abs=0.2)
