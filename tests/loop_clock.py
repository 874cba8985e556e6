"""A clock of the event loop that the test moves: timeouts and pauses end when a test says so, however long it takes.

    async def test_it(loop_clock):
        ...                         # nothing times out meanwhile
        loop_clock.advance(31)      # now everything does that was due within 31 s

Sockets, threads and callbacks go on as ever; a test that hangs ends by pytest's own timeout.  For asyncio's own loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio


class LoopClock:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time()
        loop.time = lambda: self.now  # type: ignore[method-assign]

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def release(self) -> None:
        """Let time pass by itself again."""
        del self._loop.time


@pytest_asyncio.fixture
async def loop_clock() -> AsyncIterator[LoopClock]:
    clock = LoopClock(asyncio.get_running_loop())
    yield clock
    clock.release()
