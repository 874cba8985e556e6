"""A task that may send only so many rows per second."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Rows go out in so many portions per second.
_PORTIONS = 10


class Pace:
    """Counts rows, and says when a portion is full and how long to wait for the next. None means no limit."""

    def __init__(
        self,
        per_second: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._portion = None if per_second is None else max(1, per_second // _PORTIONS)
        self._seconds = 0.0 if per_second is None or self._portion is None else self._portion / per_second
        self._clock, self._sleep = clock, sleep
        self._rows, self._next = 0, clock()

    def due(self) -> bool:
        """Whether the row that is about to go out must wait."""
        if self._portion is None:
            return False
        self._rows += 1
        return self._rows > self._portion

    def wait(self) -> None:
        self._rows = 1
        self._next += self._seconds
        if (left := self._next - self._clock()) > 0:
            self._sleep(left)
