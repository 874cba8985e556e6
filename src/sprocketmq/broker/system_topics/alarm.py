"""An alarm that rings at a time of its clock: the time of day, or with `Steady` the time that passes.

What waits for a time sleeps until then; one that is not set costs nothing. The time of day may be set while we sleep,
so no sleep is longer than `MAX_SLEEP_SECONDS`. A timer is due at a time of day. A delay, and everything else that only
takes so long, is due when so much time has passed, whatever the clock on the wall says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from sprocketmq.logs import Events
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.system_topics")

MAX_SLEEP_SECONDS = 1.0
_AFTER_FAILURE_MS = 1000


class Time(Protocol):
    def now_ms(self) -> int: ...


class Steady:
    """The time that passes: nobody sets it."""

    def __init__(self, clock: Clock) -> None:
        self.now_ms = clock.monotonic_ms


class Alarm:
    """`ring` is called once for the earliest time that was set, and sets the next one itself."""

    def __init__(self, name: str, clock: Time, ring: Callable[[], object]) -> None:
        self.name = name
        self.at_ms: int | None = None
        self._clock = clock
        self._ring = ring
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sleep()

    def stop(self) -> None:
        self._loop = None
        self._cancel()

    def set(self, at_ms: int) -> None:
        """Ring at this time, unless it rings earlier anyway."""
        if self.at_ms is None or at_ms < self.at_ms:
            self.at_ms = at_ms
        elif self._timer is not None:
            return
        self._sleep()  # also when an earlier time was set, and then something went wrong

    def ring(self) -> None:
        """Ring now, whatever the time; what fails is logged and tried again."""
        self.at_ms = None
        self._cancel()
        try:
            self._ring()
        except Exception as error:  # noqa: BLE001 - the edge of this job: the next turn may work again
            events.error("job failed", error, job=self.name)
            self.set(self._clock.now_ms() + _AFTER_FAILURE_MS)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sleep(self) -> None:
        if self._loop is None or self.at_ms is None:
            return
        seconds = max(0, self.at_ms - self._clock.now_ms()) / 1000
        self._cancel()
        self._timer = self._loop.call_later(min(seconds, MAX_SLEEP_SECONDS), self._wake)

    def _wake(self) -> None:
        self._timer = None
        try:
            if self.at_ms is not None and self.at_ms <= self._clock.now_ms():
                self.ring()
            else:
                self._sleep()
        except Exception as error:  # noqa: BLE001 - the edge of the loop: what waits for this alarm is not forgotten
            events.error("alarm did not ring", error, job=self.name)
            if self._loop is not None and self._timer is None:
                self._timer = self._loop.call_later(MAX_SLEEP_SECONDS, self._wake)
