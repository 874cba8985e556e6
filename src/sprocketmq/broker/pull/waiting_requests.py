"""All requests of a broker that wait for a message, pulls and POPs alike: counted, and ended with their connection.

What waits costs little: it keeps no body and no header fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection

_ATTRIBUTE = "waiting requests"

#: Told of a request whose connection has closed.
Drop = Callable[[Any], object]


def strip(request: Command) -> None:
    """Of a request that waits only what its answer needs is kept."""
    request.body = b""
    request.ext_fields = None


class WaitingRequests:
    def __init__(self) -> None:
        self.count = 0

    def add(self, connection: Connection, waiter: object, drop: Drop) -> None:
        """The connection is open; `drop` is given the waiter when it closes."""
        waiting = connection.attributes.get(_ATTRIBUTE)
        if waiting is None:
            waiting = connection.attributes[_ATTRIBUTE] = {}
            connection.on_closed.append(self._closed)
        waiting[waiter] = drop
        self.count += 1

    def discard(self, connection: Connection, waiter: object) -> None:
        waiting = connection.attributes.get(_ATTRIBUTE)
        if waiting is not None and waiting.pop(waiter, None) is not None:
            self.count -= 1

    def _closed(self, connection: Connection) -> None:
        waiting: dict[object, Drop] = connection.attributes.pop(_ATTRIBUTE)
        self.count -= len(waiting)
        for waiter, drop in waiting.items():
            drop(waiter)
