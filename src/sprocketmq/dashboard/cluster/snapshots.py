"""Answers of the cluster, kept for a moment, so that many who look cost as much as one.

An answer is asked for when somebody wants it and the kept one is too old. Those who come while it is asked for wait for
the same answer. What nobody wants is never asked for, and forgotten when there are too many.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")

_MOST = 4096
#: At most this part of a broker's time, one in so many.
_PART = 50


@dataclass(slots=True)
class _Kept:
    task: asyncio.Task[Any]
    since: float


def fresh_after(took: float, least: float) -> float:
    """How long an answer counts that took so many seconds: what costs brokers much is asked for the less often."""
    return max(least, _PART * took)


class Snapshots:
    def __init__(self, most: int = _MOST) -> None:
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._most = most

    async def get(self, key: Hashable, fresh: float, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` answered at most `fresh` seconds ago. A failure is for those who waited for it, and not kept."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(key)
        if kept is None or (kept.task.done() and (loop.time() - kept.since > fresh or _failed(kept.task))):
            kept = self._kept[key] = _Kept(asyncio.ensure_future(_ask(ask)), loop.time())
            kept.task.add_done_callback(lambda _task: self._answered(kept, loop.time()))
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return cast(T, await asyncio.shield(kept.task))

    def forget(self) -> None:
        """After a change: what is kept may be wrong now."""
        self._kept.clear()

    @staticmethod
    def _answered(kept: _Kept, now: float) -> None:
        kept.since = now
        if not kept.task.cancelled():
            kept.task.exception()  # seen: those who waited have it too


async def _ask(ask: Callable[[], Awaitable[T]]) -> T:
    return await ask()


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.cancelled() or task.exception() is not None
