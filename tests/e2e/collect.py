"""Handlers that remember what came and can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sprocketmq.client import ReceivedMessage

WAIT_S = 120.0


class Collector:
    def __init__(self, verdict: Callable[[ReceivedMessage], Any] = lambda _: None) -> None:
        self.messages: list[ReceivedMessage] = []
        self._verdict = verdict
        self._more = asyncio.Event()

    async def __call__(self, message: ReceivedMessage) -> Any:
        self.messages.append(message)
        self._more.set()
        return self._verdict(message)

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]

    async def until(self, enough: Callable[[list[bytes]], bool]) -> list[bytes]:
        async with asyncio.timeout(WAIT_S):
            while not enough(self.bodies):
                self._more.clear()
                await self._more.wait()
        return self.bodies

    async def wait(self, count: int) -> list[bytes]:
        return await self.until(lambda bodies: len(bodies) >= count)

    async def wait_for(self, *bodies: bytes) -> list[bytes]:
        try:
            return await self.until(lambda seen: set(bodies) <= set(seen))
        except TimeoutError:
            raise AssertionError(f"did not come: {sorted(set(bodies) - set(self.bodies))}") from None
