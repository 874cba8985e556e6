"""Jobs that a broker does again and again, on its loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.logs import Events

events = Events("sprocketmq.broker.periodic")


class Periodic:
    """Calls `job` every so many seconds; a job that fails is logged, and called again."""

    def __init__(self, name: str, seconds: Callable[[], float], job: Callable[[], object]) -> None:
        self.name = name
        self._seconds = seconds
        self._job = job
        self._pause = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._pause = self._seconds()
        self._sleep()

    @property
    def running(self) -> bool:
        return self._timer is not None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        try:
            self._job()
            self._pause = self._seconds()
        except Exception as error:  # noqa: BLE001 - the edge of this job: the next turn may work again
            events.error("job failed", error, job=self.name)
        self._sleep()

    def _sleep(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._ring)
