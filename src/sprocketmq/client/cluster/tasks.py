"""Background tasks with an owner: every one is known, none outlives its owner, none dies unseen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sprocketmq.client.errors import Closed

log = logging.getLogger("sprocketmq.client.cluster.tasks")


class BackgroundTasks:
    """A set of running tasks. `stop` cancels them and waits until the last one has ended.

    Where they run functions of users, which may go on all the same, it waits `within` so many seconds.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._guard(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # a task that was cancelled before it ran never began its work
        return task

    async def stop(self, within: float | None = None) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=within)
            for task in left:
                log.warning("%s goes on although it was cancelled, it is left behind", task.get_name())

    async def wait(self) -> None:
        """Until all of them have ended by themselves."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _guard(self, work: Coroutine[Any, Any, object], name: str) -> None:
        try:
            await work
        except Closed:
            log.debug("%s ended: the client was stopped", name)
        except Exception:
            log.exception("%s failed", name)


class Ticker:
    """Calls `action` every `interval` seconds, and at once when it is woken; one call at a time.

    An error in `action` is logged and the next tick tries again.
    """

    def __init__(self, name: str, interval: float, action: Callable[[], Awaitable[object]]) -> None:
        self._name, self._interval, self._action = name, interval, action
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._interval):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()
            try:
                await self._action()
            except Closed:
                return
            except Exception:
                log.warning("%s failed, next try in %g s", self._name, self._interval, exc_info=True)
