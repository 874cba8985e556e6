"""When the broker refuses sends because it cannot keep up.

A request waits in the socket while the loop is busy with others. A ticker on the loop measures that wait: a tick that
comes late tells how long requests have waited. One late tick is a hiccup; when they stay late, what is handled is
answered "busy" and producers go elsewhere, until a tick is in time again. Memory is looked at as well: below a small
reserve the broker takes no more messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sprocketmq.broker.settings import Settings
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused

TICK_SECONDS = 0.05
#: Memory is asked for every so many ticks.
_MEMORY_TICKS = 20
#: So many late ticks in a row are pressure, and then the next one comes soon: what has waited is handled by then.
LATE_TICKS = 3
_TURN_SECONDS = 0.005
#: Memory, in bytes, that must stay available on the machine.
RESERVE_BYTES = 32 << 20


class Pressure:
    """`remark` says why sends are refused; None while they are welcome."""

    def __init__(self, settings: Settings, available_bytes: Callable[[], int | None] | None = None) -> None:
        self.remark: str | None = None
        self.on_change: list[Callable[[], object]] = []
        self.lag_ms = 0.0
        self.worst_lag_ms = 0.0
        self._settings = settings
        self._available_bytes = available_bytes or available_memory
        self._ticks = 0
        self._late_ticks = 0
        self._low_memory = False
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + TICK_SECONDS
        self._timer = loop.call_at(self._due, self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def refuse(self) -> None:
        """Raise the refusal that `remark` stands for."""
        if self.remark is not None:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, self.remark)

    def tick(self, lag_ms: float) -> None:
        """A tick came so late."""
        config = self._settings.current
        self.lag_ms = lag_ms
        self.worst_lag_ms = max(self.worst_lag_ms, lag_ms)
        if self._ticks % _MEMORY_TICKS == 0:
            available = self._available_bytes()
            self._low_memory = available is not None and available < RESERVE_BYTES
        self._ticks += 1
        limit = config.wait_time_mills_in_send_queue
        self._late_ticks = self._late_ticks + 1 if lag_ms > limit else 0
        remark = None
        if self._low_memory:
            remark = "[OVERLOAD]memory runs low"
        elif config.broker_fast_failure_enable and self._late_ticks >= LATE_TICKS:
            remark = f"[TIMEOUT_CLEAN_QUEUE]waited {lag_ms:.0f} ms, more than {limit} ms"
        if remark != self.remark:
            self.remark = remark
            for hook in self.on_change:
                hook()

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self.tick((now - self._due) * 1000)
        self._due = now + (TICK_SECONDS if self.remark is None else _TURN_SECONDS)
        self._timer = loop.call_at(self._due, self._ring)


def available_memory() -> int | None:
    """What the kernel could still give; None where it does not say."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
