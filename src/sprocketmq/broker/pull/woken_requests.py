"""Requests that waited and are now to be answered: a few in each turn of the loop, so that others are served between.

One message may wake every request that waits on its queue, each with a copy of it as the answer. What that costs at
once is bounded:

    a turn          so many answers, or so many bytes of them
    a connection    nobody gets the next answer while it has too many unread: its requests come again when it has read
    all together    nothing is built while the answers that peers have not read take more than the budget; who reads
                    next to nothing of them for a while meanwhile is dropped, or the slowest would hold up everybody
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

from sprocketmq.logs import Events
from sprocketmq.remoting import Connection

events = Events("sprocketmq.broker.pull")

#: Of one turn of the loop.
SLICE_COUNT = 16
SLICE_BYTES = 1 << 20
#: Unread answers of all connections that were woken.
UNREAD_BYTES = 64 << 20
#: Above that, how long until the next look ...
_LOOK_SECONDS = 0.005
#: ... and in which time a peer must have read so much, or half of what it has, to be kept.
_IDLE_SECONDS = 1.0
_READ_BYTES = 256 << 10

#: Answers the request, when nobody else has; the size of the answer.
Serve = Callable[[], int]


class WokenRequests:
    def __init__(self) -> None:
        self._line: deque[tuple[Connection, Serve]] = deque()
        self._next: asyncio.Handle | None = None
        self._answered: list[Connection] = []
        #: Peers with unread answers: how many bytes, and since when they have not become much less.
        self._unread: dict[Connection, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self._line)

    def add(self, connection: Connection, serve: Serve) -> None:
        self._line.append((connection, serve))
        if self._next is None:  # at the end of this turn: messages that came together leave together
            self._next = asyncio.get_running_loop().call_soon(self._serve)

    def stop(self) -> None:
        self._line.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _serve(self) -> None:
        self._next, rest = None, 0.0
        try:
            if self._is_full(asyncio.get_running_loop().time()):
                rest = _LOOK_SECONDS
            else:
                self._serve_slice()
        finally:  # one that fails holds up nobody
            if self._line:
                loop = asyncio.get_running_loop()
                self._next = loop.call_later(rest, self._serve) if rest else loop.call_soon(self._serve)

    def _serve_slice(self) -> None:
        line, size = self._line, 0
        for _number in range(min(SLICE_COUNT, len(line))):
            connection, serve = line.popleft()
            if connection.stalled_since is not None and not connection.closed:
                connection.on_writable.append(partial(self.add, connection, serve))
                continue
            try:
                size += serve()
            except Exception as error:  # noqa: BLE001 - the edge of one request: the others are answered
                events.error("request not answered", error, peer=connection.peer)
                # its client does not wait in vain: it connects again, and asks again
                connection.abort("a request of it could not be answered")
            self._answered.append(connection)
            if size >= SLICE_BYTES:
                break

    # -- what is not read ----------------------------------------------------------------------------------------------

    def _is_full(self, now: float) -> bool:
        """The answers of the last turn have been written meanwhile: what is left of them is in the connections."""
        for connection in self._answered:
            if connection.unread_bytes and connection not in self._unread:
                self._unread[connection] = (connection.unread_bytes, now)
        self._answered.clear()
        if not self._unread or self._total(now) <= UNREAD_BYTES:
            return False
        for connection, (_size, since) in list(self._unread.items()):
            if now - since > _IDLE_SECONDS:
                connection.abort("the peer does not read its answers, and others wait for theirs")
        return True

    def _total(self, now: float) -> int:
        total = 0
        for connection, (before, since) in list(self._unread.items()):
            size = 0 if connection.closed else connection.unread_bytes
            if not size:
                del self._unread[connection]
                continue
            if size > before or size <= before - min(_READ_BYTES, before // 2):
                self._unread[connection] = (size, since if size > before else now)
            total += size
        return total
