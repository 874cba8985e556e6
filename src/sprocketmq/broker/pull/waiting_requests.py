"""All requests of a broker that wait for a message, pulls and POPs alike: counted, bounded, and ended with their
connection.

What waits costs little: it keeps no body and no header fields. So that many of them cannot cost much either, there may
be so many in all and so many of one connection, and what they brought along and still need may take so much memory. One
more is told to try again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sprocketmq.broker.settings import Settings
from sprocketmq.remoting import Connection

#: What waiting requests keep alive of what they brought along.
_KEPT_BYTES = 64 << 20
_ATTRIBUTE = "waiting requests"

#: Told of a request whose connection has closed.
Drop = Callable[[Any], object]


class WaitingRequests:
    """`kept_bytes` is counted by those who add requests: texts and filters that live as long as these."""

    def __init__(self, settings: Settings) -> None:
        self.count = 0
        self.kept_bytes = 0
        self.refused = 0
        self._settings = settings

    def is_full(self, connection: Connection) -> bool:
        """Whether one more of this connection would be too many."""
        config = self._settings.current
        of_connection = connection.attributes.get(_ATTRIBUTE)
        full = (
            self.count >= config.max_parked_requests
            or (of_connection is not None and len(of_connection) >= config.max_parked_requests_per_connection)
            or self.kept_bytes > _KEPT_BYTES
        )
        self.refused += full
        return full

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
