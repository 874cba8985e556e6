"""News that stay true for a while: told at WARNING at once, and again once a minute, not at every try."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

INTERVAL_S = 60.0


class RepeatedWarnings:
    """Of one client. What is said is told apart by its key."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._told: dict[str, float] = {}

    def tell(self, key: str, text: str, *args: object) -> None:
        now = self._clock()
        told = self._told.get(key)
        if told is not None and now - told < INTERVAL_S:
            self._log.debug(text, *args)
            return
        self._told[key] = now
        self._log.warning(text, *args)

    def over(self, key: str) -> None:
        """It is no longer so: when it begins again, that is news."""
        self._told.pop(key, None)
