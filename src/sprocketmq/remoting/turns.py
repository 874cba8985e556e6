"""Whoever wants much takes turns, so that whoever wants little does not wait for all of it.

A loop serves every connection that has something to read before it begins anew, so what one read may cost is what all
others wait for. Three things may cost much, and all wait in one line, in the order in which they came; a turn of the
loop lets the first of them go on:

    many requests   of one read. It has a share of time; what is left of it when that is over waits. A request that
                    takes long by itself is the last of its turn, and the next one of its connection waits for one
    large frames    forty peers in the middle of one, a quarter of a megabyte each, would make ten megabytes. A turn
                    takes TURN_BYTES of unfinished frames; the connections beyond are read in the turns that follow
    long requests   a lock of a thousand queues. Its handler does it in steps, so many in a turn as fit into a SHARE

A connection that waits for its turn has nothing else done meanwhile: what comes behind keeps its place.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, TypeVar

from sprocketmq.remoting.costs import Costs
from sprocketmq.remoting.handlers import Reply, Steps, refusal

if TYPE_CHECKING:
    from sprocketmq.protocol.command import Command
    from sprocketmq.remoting.connection import Connection

#: What one read brings at most: asyncio's buffer, and about uvloop's.
READ_BYTES = 256 * 1024
#: One read: less cannot be told beforehand, and it takes far more time than the turn around it.
TURN_BYTES = READ_BYTES
#: Nanoseconds of a long request in one turn: several times what the turn itself costs, and no more than a small request
#: takes altogether.
SHARE_NS = 75_000
#: Items between two looks at the clock.
_PIECE = 8

T = TypeVar("T")


def each(items: Iterable[T], do: Callable[[T], object]) -> Generator[None, None, None]:
    """`do` this with each of many items, in steps; with a few, in one."""
    for number, item in enumerate(items, 1):
        do(item)
        if number % _PIECE == 0:
            yield


class Turns:
    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._read = 0
        self._is_due = False
        self._waiting: deque[Callable[[], object]] = deque()

    def took(self, connection: Connection, size: int) -> None:
        """`connection` has read `size` bytes of a frame that is not whole."""
        self._read += size
        loop = asyncio.get_running_loop()
        if (rest := self._costs.rest_of(connection.peer.host, loop.time())) > 0:
            connection.stop_reading()
            loop.call_later(rest, connection.go_on_reading)
        elif self._read > TURN_BYTES or self._waiting:
            connection.stop_reading()
            self._waiting.append(connection.go_on_reading)
        self._await_turn()

    def wait(self, go_on: Callable[[], object]) -> None:
        """Call `go_on` when it is its turn."""
        self._waiting.append(go_on)
        self._await_turn()

    def _await_turn(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._read = 0
        self._is_due = False
        if self._waiting:
            go_on = self._waiting.popleft()
            if self._waiting:
                self._await_turn()
            go_on()


class LongRequest:
    """The steps of one request, on behalf of its connection."""

    def __init__(self, connection: Connection, request: Command, steps: Steps) -> None:
        self._connection = connection
        self._request = request
        self._steps = steps

    def begin(self) -> Reply:
        """The reply, when it takes no more than a share; else None, and the connection waits for its turns."""
        try:
            self._do_share()
        except StopIteration as done:
            reply: Reply = done.value
            return reply
        self._connection.await_turn(self._go_on)
        return None

    def _do_share(self) -> None:
        """Raises StopIteration, with the reply, at the end."""
        began, until = time.thread_time_ns(), time.perf_counter_ns() + SHARE_NS
        next(self._steps)
        while time.perf_counter_ns() < until:
            next(self._steps)
        self._connection.cost_ns += time.thread_time_ns() - began

    def _go_on(self) -> None:
        if self._connection.closed:
            self._steps.close()
            return
        self._connection.awaits_turn = False
        try:
            self._do_share()
        except StopIteration as done:
            self._end(done.value)
        except Exception as error:  # noqa: BLE001 - the edge: what went wrong becomes the answer
            self._end(refusal(self._request, error, self._connection))
        else:
            self._connection.await_turn(self._go_on)

    def _end(self, reply: Reply) -> None:
        try:
            if reply is not None and not self._request.is_oneway:
                self._connection.reply(reply, self._request)
        finally:  # an answer that cannot be encoded is told to the loop, and the requests behind it go on
            if not self._connection.awaits_turn:  # else its last step was to begin another long one
                self._connection.take_turn()
