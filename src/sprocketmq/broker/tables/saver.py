"""When a table goes to its file, and on which thread.

A table says when it has changed. It is then saved on a thread of its own kind, never on the loop: `take` is called on
the loop, costs next to nothing, and gives the job that encodes and writes. A change is saved at once, unless the table
was saved a moment ago: then what changes in the meantime is saved together, and a table that takes long is saved less
often. `at_once` and `saved` are for a change that must be safe before anyone is told of it, `close` for a stop.

A table counts as saved only when its file is written. One that could not be written is tried again, and once more by
a stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from math import inf

from sprocketmq.logs import Events

events = Events("sprocketmq.broker.tables")

#: Seconds between two saves, at least; and saving may take one part in so many of the time.
SHORTEST_REST = 0.02
SHARE = 20
#: Seconds before the next try.
AFTER_FAILURE = 1.0

#: One table that waits for a slow disk does not keep another waiting.
threads = ThreadPoolExecutor(4, "save-tables")

Job = Callable[[], object]


class Saver:
    """`longest_rest` is for a table that others read after a kill: it may not be long behind."""

    def __init__(self, name: str, take: Callable[[], Job], longest_rest: float = inf) -> None:
        self.name = name
        #: Called on the loop when more of the changes are on disk.
        self.on_saved: list[Callable[[], object]] = []
        self._take = take
        self._changes = self._saved = self._urgent = 0
        self._job: Future[object] | None = None
        self._job_changes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rest_until = 0.0
        self._longest_rest = longest_rest
        self._wanted = self._failing = False

    @property
    def changes(self) -> int:
        """Counts the changes since the start."""
        return self._changes

    @property
    def saved_changes(self) -> int:
        """How many of them are on disk."""
        return self._saved

    @property
    def dirty(self) -> bool:
        return self._changes != self._saved

    @property
    def busy(self) -> bool:
        """Whether it is being saved."""
        return self._job is not None

    def changed(self) -> None:
        """To be saved with the next `begin`."""
        self._changes += 1

    def soon(self) -> None:
        """It has changed: save it as soon as it may be."""
        self._changes += 1
        self._wanted = True
        self._schedule()

    def at_once(self) -> None:
        """It has changed, and somebody waits for it: save it without a rest."""
        self.soon()
        self._urgent = self._changes
        if self._job is None and not self._failing:
            self._forget_timer()
            self._ring()

    def begin(self) -> None:
        """Save now what is not saved yet, without waiting for it."""
        if not self.dirty or self._job is not None:
            return
        self._forget_timer()
        self._wanted = False
        loop = asyncio.get_running_loop()
        self._job_changes, began = self._changes, loop.time()
        job = threads.submit(self._take())

        def done(_job: Future[object]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody is there to go on
                loop.call_soon_threadsafe(self._done, job, began)

        job.add_done_callback(done)
        self._job = job  # last: one that nobody is told of would be waited for for ever

    async def saved(self) -> None:
        """Save what is not saved yet; raises what the file system says."""
        upto = self._changes
        while self._saved < upto:
            self.begin()
            assert self._job is not None
            try:
                await asyncio.wrap_future(self._job)
            except OSError:
                if self._saved < upto:  # nobody else has saved it meanwhile
                    raise

    def save_now(self) -> None:
        """On this thread; raises what the file system says."""
        self._forget_timer()
        self._wait()
        changes = self._changes
        self._take()()
        self._note_saved(changes)

    def close(self) -> None:
        """Save what is not saved yet."""
        self._forget_timer()
        self._wait()
        if self.dirty:
            self.save_now()

    def _wait(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            wait([job])
            error = job.exception()
            if error is None:
                self._note_saved(self._job_changes)
            else:  # whoever waits saves it again, and that may go well
                events.error("table not saved", error, table=self.name)

    def _note_saved(self, changes: int) -> None:
        self._saved = changes
        for hook in self.on_saved:
            try:
                hook()
            except Exception as error:  # noqa: BLE001 - the table is saved, and goes on being
                events.error("nobody was told that a table is saved", error, table=self.name)

    def _done(self, job: Future[object], began: float) -> None:
        if job is not self._job:  # somebody waited for it already
            return
        self._job = None
        try:
            self._settle(job, began)
        except Exception as error:  # noqa: BLE001 - the edge of the loop: what is not known to be saved is saved again
            self._try_later(error)

    def _settle(self, job: Future[object], began: float) -> None:
        now, error = asyncio.get_running_loop().time(), job.exception()
        if error is None:
            self._failing = False
            rest = min(max(SHORTEST_REST, (now - began) * SHARE), self._longest_rest)
            self._rest_until = now if self._urgent > self._job_changes else now + rest
            self._note_saved(self._job_changes)
        else:
            if not self._failing:
                events.error("table not saved", error, table=self.name)
            self._wanted = self._failing = True
            self._rest_until = now + AFTER_FAILURE
        if self._wanted:
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None or self._job is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._rest_until:
            self._ring()
        else:
            self._timer = loop.call_at(self._rest_until, self._ring)

    def _ring(self) -> None:
        self._timer = None
        try:
            self.begin()
        except Exception as error:  # noqa: BLE001 - the edge of the loop: it is as unsaved as before
            self._try_later(error)

    def _try_later(self, error: Exception) -> None:
        events.error("table not saved", error, table=self.name)
        self._wanted = True
        self._rest_until = asyncio.get_running_loop().time() + AFTER_FAILURE
        self._schedule()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def save_all(saves: Iterable[Callable[[], object]]) -> bool:
    """For a stop: try each, whatever becomes of the others; whether all are saved."""
    saved = True
    for save in saves:
        try:
            save()
        except OSError as error:
            events.error("table not saved by the stop", error)
            saved = False
    return saved
