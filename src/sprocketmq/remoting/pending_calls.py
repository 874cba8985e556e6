# cython: annotation_typing=False
"""Requests of ours that wait for their responses, by opaque.

One timer serves them all. It is set to the earliest deadline; when it rings, what is overdue fails and the timer
moves on. So a call that is answered in time costs no timer of its own. `on_overdue` hears of each before its caller
does: when it was made, and how long it was given. So its owner can tell a slow peer from a dead connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.errors import RemotingError, RequestTimeout
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.peer import UNKNOWN_PEER

_OPAQUE_MASK = 0x7FFFFFFF


class PendingCalls:
    __slots__ = ("_calls", "_loop", "_opaque", "_rings_at", "_timer", "on_overdue", "peer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.peer = UNKNOWN_PEER
        self.on_overdue: Callable[[float, float], None] | None = None
        self._loop = loop
        self._opaque = 0
        #: Tuples, for a call is made and forgotten with each request: one costs less than an object of a class.
        self._calls: dict[int, tuple[asyncio.Future[Command], float, float, bool]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0

    def __len__(self) -> int:
        return len(self._calls)

    def next_opaque(self) -> int:
        self._opaque = (self._opaque + 1) & _OPAQUE_MASK
        return self._opaque

    def add(self, timeout: float, is_prompt: bool = False) -> tuple[int, asyncio.Future[Command]]:
        """The answer to a prompt call is due at once, whatever its timeout is; that to a long poll is not."""
        future: asyncio.Future[Command] = self._loop.create_future()
        opaque = self.next_opaque()
        now = self._loop.time()
        deadline = now + timeout
        self._calls[opaque] = (future, deadline, now, is_prompt)
        if self._timer is None or deadline < self._rings_at:
            self._ring_at(deadline)
        return opaque, future

    def prompt_since(self) -> float | None:
        """When the oldest prompt call was made that still waits."""
        waiting = (started for future, _, started, is_prompt in self._calls.values() if is_prompt and not future.done())
        return next(waiting, None)

    def settle(self, response: Command) -> None:
        """Hand a response to its caller; one that nobody waits for any more is dropped."""
        call = self._calls.pop(response.opaque, None)
        if call is not None and not call[0].done():
            call[0].set_result(response)

    def fail(self, error: RemotingError) -> None:
        """No answer will come any more."""
        calls, self._calls, self.on_overdue = self._calls, {}, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for future, _, _, _ in calls.values():
            if not future.done():
                future.set_exception(error)

    def _ring_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = deadline
        self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        overdue = []
        for opaque, (future, deadline, started, _) in list(self._calls.items()):
            if future.done():  # cancelled by its caller
                del self._calls[opaque]
            elif deadline <= now:
                del self._calls[opaque]
                overdue.append((future, started, deadline - started))
        for future, started, timeout in overdue:
            if self.on_overdue is not None:
                self.on_overdue(started, timeout)
            future.set_exception(RequestTimeout(f"no answer from {self.peer} in time"))
        if self._calls:
            self._ring_at(min(deadline for _, deadline, _, _ in self._calls.values()))
