"""When a table goes to its file.

A table that changed is saved a moment later, together with what else changes in that moment; a table that takes long
to save is saved less often, so that ten thousand new topics do not cost ten thousand large files. `save_now` is for a
change that must be safe before anyone is told of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.logs import Events

events = Events(__name__)

FIRST_DELAY = 0.02
#: Saving may take one part in so many of the time.
SHARE = 20


class Saver:
    """`write` saves the table, on the loop."""

    def __init__(self, name: str, write: Callable[[], object]) -> None:
        self.name = name
        self._write = write
        self._timer: asyncio.TimerHandle | None = None
        self._delay = FIRST_DELAY
        self.dirty = False

    def soon(self) -> None:
        self.dirty = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self._ring)

    def save_now(self) -> None:
        self._forget_timer()
        self.dirty = False
        self._write()

    def close(self) -> None:
        """Save what is not saved yet."""
        if self.dirty:
            self.save_now()

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            self.save_now()
        except OSError as error:
            events.error("table not saved", error, table=self.name)
            self.soon()
        self._delay = max(FIRST_DELAY, (loop.time() - began) * SHARE)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
