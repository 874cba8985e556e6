"""When reading ends: after so many messages, or when nothing came for so long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

#: How long to wait before looking again whether anybody still reads what is written.
LOOK_S = 0.5
#: How long a cluster may take to start when no timeout says so; as long as `sprocket send` waits by default, for both
#: may be typed behind `sprocket up &`.
START_S = 10.0


@dataclass(frozen=True, slots=True)
class ConsumeLimits:
    count: int | None = None
    timeout: float | None = None

    @property
    def start_patience(self) -> float:
        """Seconds to wait for a cluster that is still starting."""
        return START_S if self.timeout is None else self.timeout

    def begin(self, clock: Callable[[], float] = time.monotonic) -> SendPace:
        return SendPace(self, clock)


class SendPace:
    """How far one reading is within its limits."""

    def __init__(self, limits: ConsumeLimits, clock: Callable[[], float]) -> None:
        self.seen = 0
        self._limits, self._clock = limits, clock
        self._last = clock()

    def count(self) -> None:
        self.seen += 1
        self._last = self._clock()

    def is_over(self) -> bool:
        limits = self._limits
        late = limits.timeout is not None and self._clock() - self._last >= limits.timeout
        return late or (limits.count is not None and self.seen >= limits.count)

    @property
    def patience(self) -> float:
        """Seconds to wait for the next message before asking again."""
        if self._limits.timeout is None:
            return LOOK_S
        return min(max(self._last + self._limits.timeout - self._clock(), 0.0), LOOK_S)
