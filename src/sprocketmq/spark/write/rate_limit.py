"""A task that may send only so many rows per second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

#: Rows go out in so many portions per second.
_PORTIONS = 10


class WriteRate:
    """Cuts the rows of a task into portions, and waits between them. None means no limit."""

    def __init__(
        self,
        per_second: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._portion = None if per_second is None else max(1, per_second // _PORTIONS)
        self._seconds = 0.0 if per_second is None or self._portion is None else self._portion / per_second
        self._clock, self._sleep = clock, sleep
        self._left, self._next = self._portion, clock()

    def portions(self, rows: int, before_waiting: Callable[[], None]) -> Iterator[tuple[int, int]]:
        """Which of so many rows may go next, waiting where a portion of the task's rows is full."""
        begin = 0
        while begin < rows:
            if self._left == 0:
                before_waiting()
                self._wait()
            end = rows if self._left is None else min(rows, begin + self._left)
            self._left = None if self._left is None else self._left - (end - begin)
            yield begin, end
            begin = end

    def _wait(self) -> None:
        self._left = self._portion
        self._next += self._seconds
        if (left := self._next - self._clock()) > 0:
            self._sleep(left)
