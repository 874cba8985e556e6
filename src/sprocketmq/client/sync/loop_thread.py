"""An event loop on a thread of its own, for code that does not run on one.

There is one per process, started when it is first needed. A forked child has no threads but its own, so it gets a new
loop; what was kept of the old one is of no use there.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from sprocketmq.remoting.loop import loop_factory

T = TypeVar("T")


class LoopThread:
    def __init__(self) -> None:
        self._loop = loop_factory()()
        self._kept: list[asyncio.Task[object]] = []  # a loop itself keeps tasks only as long as others do
        self._thread = threading.Thread(target=self._main, name="sprocketmq", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def submit_soon(self, make: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """For signal handlers: nothing is waited for, and no lock is taken."""
        self._loop.call_soon_threadsafe(lambda: self._kept.append(self._loop.create_task(make())))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for `work`, from any thread but the loop's own; an interrupt cancels it."""
        try:
            self.check_caller()
        except RuntimeError:
            work.close()
            raise
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def check_caller(self) -> None:
        """RuntimeError on the loop's own thread, where nothing can be waited for."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("this would wait for itself: use the asyncio client inside a coroutine")

    def _main(self) -> None:
        """For the process's whole life: a coroutine that calls `sys.exit` would leave everybody waiting."""
        asyncio.set_event_loop(self._loop)
        while True:
            with suppress(SystemExit, KeyboardInterrupt):  # its task has it, and tells whoever waits for the task
                self._loop.run_forever()


_lock = threading.Lock()
_current: LoopThread | None = None


def loop_thread() -> LoopThread:
    """The process's loop, started when there is none."""
    global _current
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def _after_fork() -> None:
    global _lock, _current
    _lock = threading.Lock()
    _current = None


if hasattr(os, "register_at_fork"):  # not where there are no forks
    os.register_at_fork(after_in_child=_after_fork)
