"""A bound on messages per second: a bucket that fills with time and is emptied by messages."""

from __future__ import annotations

import asyncio


class RateLimit:
    """At most `rate` messages per second on average, and no more than a second's worth at once. 0 is no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free_at = 0.0

    async def take(self, count: int) -> None:
        if self._rate <= 0:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        start = max(self._free_at, now - 1.0)
        self._free_at = start + count / self._rate
        if self._free_at > now:
            await asyncio.sleep(self._free_at - now)
