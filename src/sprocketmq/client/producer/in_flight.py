# cython: annotation_typing=False
"""How many sends of a producer may be on their way at once. Who finds no place waits in line."""

from __future__ import annotations

import asyncio
from collections import deque


class InFlight:
    """`free` places are left; while somebody waits there are none, for a place that is given back goes to the first."""

    __slots__ = ("_line", "free")

    def __init__(self, count: int) -> None:
        self.free = count
        self._line: deque[asyncio.Future[None]] = deque()

    def take_free(self) -> bool:
        """Take a place if one is free."""
        if self.free <= 0:
            return False
        self.free -= 1
        return True

    async def take(self) -> None:
        if self.take_free():
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # it was given in the moment when its taker gave up
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._line:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.free += 1
