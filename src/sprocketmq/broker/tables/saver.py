"""When a table goes to its file, and on which thread.

A table says when it has changed. It is then saved on a thread of its own kind, never on the loop: `take` is called on
the loop, costs next to nothing, and gives the job that encodes and writes. A change is saved at once, unless the table
was saved a moment ago: then what changes in the meantime is saved together, and a table that takes long is saved less
often. `save_now` is for a change that must be safe before anyone is told of it, and for a stop.

A table counts as saved only when its file is written. One that could not be written is tried again, and once more by
a stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress

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
    def __init__(self, name: str, take: Callable[[], Job]) -> None:
        self.name = name
        self._take = take
        self._changes = self._saved = 0
        self._job: Future[object] | None = None
        self._job_changes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rest_until = 0.0
        self._wanted = self._failing = False

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

    def begin(self) -> None:
        """Save now what is not saved yet, without waiting for it."""
        if not self.dirty or self._job is not None:
            return
        self._forget_timer()
        self._wanted = False
        loop = asyncio.get_running_loop()
        self._job_changes, began = self._changes, loop.time()
        job = self._job = threads.submit(self._take())

        def done(_job: Future[object]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody is there to go on
                loop.call_soon_threadsafe(self._done, job, began)

        job.add_done_callback(done)

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
        self._saved = changes

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
            if job.exception() is None:
                self._saved = self._job_changes

    def _done(self, job: Future[object], began: float) -> None:
        if job is not self._job:  # somebody waited for it already
            return
        self._job = None
        now, error = asyncio.get_running_loop().time(), job.exception()
        if error is None:
            self._saved, self._failing = self._job_changes, False
            self._rest_until = now + max(SHORTEST_REST, (now - began) * SHARE)
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
            self.begin()
        else:
            self._timer = loop.call_at(self._rest_until, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.begin()

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
