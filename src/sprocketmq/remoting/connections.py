"""All connections of one server or client: their number is bounded, and one scan finds those that wait too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sprocketmq.remoting.limits import Limits

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection


class ConnectionRegistry:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.capacity = limits.max_connections
        self.refused = 0
        self._connections: set[Connection] = set()
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._connections))

    def add(self, connection: Connection) -> bool:
        """False when there are as many as there may be."""
        if len(self._connections) >= self.capacity:
            self.refused += 1
            return False
        self._connections.add(connection)
        return True

    def discard(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.notice()

    def notice(self) -> None:
        """Something that `close` may wait for has happened."""
        self._changed.set()

    def fit_to_descriptors(self) -> None:
        """Leave a quarter of the files that the process may open to others: a failing accept helps nobody.

        For servers, which need a Unix; clients do without the module.
        """
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            self.capacity = min(self.limits.max_connections, soft * 3 // 4)

    def start(self) -> None:
        """Begin to scan."""
        loop = asyncio.get_running_loop()
        self.scan(loop.time())
        self._timer = loop.call_later(self.limits.scan_seconds, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def scan(self, now: float) -> None:
        for connection in tuple(self._connections):
            connection.expire(now)

    async def close(self, grace: float) -> None:
        """Answer what is in flight, then close every connection; what is not done after `grace` seconds is dropped."""
        deadline = asyncio.get_running_loop().time() + grace
        for connection in self:
            connection.drain()
        await self._until(deadline, lambda: all(connection.is_settled for connection in self._connections))
        for connection in self:
            connection.close()
        await self._until(deadline, lambda: not self._connections)
        for connection in self:
            connection.abort("shutdown")
        await self._until(deadline + 1, lambda: not self._connections)

    async def _until(self, deadline: float, is_done: Callable[[], bool]) -> None:
        while not is_done():
            self._changed.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._changed.wait()
            except TimeoutError:
                return
