"""When a table goes to its file.

A change is saved at once, unless the table was saved a moment ago: then what changes in the meantime is saved together.
A table that takes long to save is saved less often, so that ten thousand new topics do not cost ten thousand large
files. `save_now` is for a change that must be safe before anyone is told of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.logs import Events

events = Events("sprocketmq.broker.tables")

#: Seconds between two saves, at least; and saving may take one part in so many of the time.
SHORTEST_REST = 0.02
SHARE = 20


class Saver:
    """`write` saves the table, on the loop."""

    def __init__(self, name: str, write: Callable[[], object]) -> None:
        self.name = name
        self._write = write
        self._timer: asyncio.TimerHandle | None = None
        self._rest_until = 0.0
        self.dirty = False

    def soon(self) -> None:
        self.dirty = True
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._rest_until:
            self._ring()
        else:
            self._timer = loop.call_at(self._rest_until, self._ring)

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
        failed = False
        try:
            self.save_now()
        except OSError as error:
            events.error("table not saved", error, table=self.name)
            failed = True
        ended = loop.time()
        self._rest_until = ended + max(SHORTEST_REST, (ended - began) * SHARE)
        if failed:
            self.soon()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
