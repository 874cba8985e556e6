"""The threads of handlers that are plain functions.

As a ThreadPoolExecutor's, but daemons. Python waits at its end for every thread of an executor, so that one handler
that hangs would keep a worker from ending, long after its consumer has stopped and left it behind.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[], Any]]


class HandlerThreads(Executor):
    """At most `most` threads, each started when no other is free."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()  # None ends a thread
        self._free = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._is_shut = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = Future[T]()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("the consumer was stopped")
            self._jobs.put((future, functools.partial(fn, *args, **kwargs)))
            if not self._free.acquire(blocking=False) and len(self._threads) < self._most:
                self._start_one()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_shut = True
            if cancel_futures:
                self._cancel_waiting()
            for _ in self._threads:
                self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _start_one(self) -> None:
        name = f"{self._name}_{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _cancel_waiting(self) -> None:
        try:
            while True:
                if (job := self._jobs.get_nowait()) is not None:
                    job[0].cancel()
        except Empty:
            return

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            _do(*job)
            del job  # while a thread is free it keeps no message alive
            self._free.release()


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the future
        future.set_exception(error)
    else:
        future.set_result(result)
