"""What the clients of this package share: an asyncio client on the loop thread, and calls that wait for it."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakSet

from sprocketmq.client.options import ClientOptions, describe
from sprocketmq.client.sync import loop_thread

A = TypeVar("A", bound="Startable")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Startable(Protocol):
    async def start(self) -> Any: ...

    async def stop(self) -> None: ...


class Facade(Generic[A]):
    """Keeps an asyncio client on the loop thread and makes it again after a fork."""

    def __init__(self, make: Callable[[], A], options: ClientOptions, group: str = "") -> None:
        make()  # what is wrong with its arguments raises here, not when it is first used
        self._make, self._options, self._group = make, options, group
        self._wanted = False
        self._forget()
        _facades.add(self)

    def __repr__(self) -> str:
        return describe(self, self._group, self._options, is_started=self._client is not None)

    def _forget(self) -> None:
        """No client yet; in a forked child no more, for its loop stayed with the parent."""
        self._client: A | None = None
        self._stopped: A | None = None
        self._lock = threading.Lock()

    def start(self) -> Self:
        self._wanted = True
        self._started()
        return self

    def stop(self) -> None:
        self._end(lambda client: client.stop())

    def _end(self, stop: Callable[[A], Coroutine[Any, Any, None]]) -> None:
        if not self._wanted and self._client is None and self._stopped is None:
            return
        loop_thread.loop_thread().check_caller()
        with self._lock:  # a handler may call it while the start is under way
            client = self._client or self._stopped
            self._wanted, self._client, self._stopped = False, None, client
        if client is not None:
            self._run(stop(client))  # also of one that another thread stops: this one waits for it too

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _started(self) -> A:
        """The running client, made when there is none."""
        with self._lock:
            if self._client is None:
                self._client = loop_thread.loop_thread().run(self._create())
            return self._client

    async def _create(self) -> A:
        client = self._make()
        if self._wanted:
            await client.start()
        return client

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return loop_thread.loop_thread().run(work)

    def _iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        async def step() -> T | None:
            return await anext(source, None)

        while (item := self._run(step())) is not None:
            yield item


#: A child has one thread when it begins, so that all of them can forget their clients there.
_facades: WeakSet[Facade[Any]] = WeakSet()


def _after_fork() -> None:
    for facade in list(_facades):
        facade._forget()


if hasattr(os, "register_at_fork"):  # not where there are no forks
    os.register_at_fork(after_in_child=_after_fork)


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Facade[A], P], R]:
    """The same method, waiting."""

    @functools.wraps(method)
    def call(facade: Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        client = facade._started()
        return facade._run(method(client, *args, **kwargs))

    return call
