"""Whoever guesses keys is slowed down: after ten wrong ones in a minute an address waits a second for each refusal.

Right requests from the same address do not wait: others may share it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.costs import BYTE_NS

events = Events("sprocketmq.auth.access")

FREE, WINDOW_SECONDS, DELAY_SECONDS = 10, 60.0, 1.0
#: More addresses than this are not told apart: the oldest is forgotten.
MAX_ADDRESSES = 10_000


class WrongKeys:
    """`count` is all of them, for the metrics; `clock` is the loop's."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.count = 0
        self._clock = clock
        self._since: dict[str, tuple[float, int]] = {}

    def hold_back(self, connection: Any, request: Command, refused: RequestRefused) -> bool:
        """Note a wrong key; True when its refusal is answered later."""
        self.count += 1
        count = self._noted(connection.peer.host)
        if count <= FREE:  # so many lines a minute, and one more
            return False
        if count == FREE + 1:
            events.warning("wrong keys are slowed down", peer=connection.peer)
        connection.rest(DELAY_SECONDS)  # what it asks behind is not even looked at meanwhile
        connection.cost_ns += len(request.body) * BYTE_NS
        if not request.is_oneway:
            reply = request.reply(refused.code, refused.remark)
            request.body, request.ext_fields = b"", None  # while it waits, nothing is kept that a stranger sent
            asyncio.get_running_loop().call_later(DELAY_SECONDS, self._reply, connection, request, reply)
        return True

    def _noted(self, host: str) -> int:
        """How many have come from `host` in its minute."""
        now = (self._clock or asyncio.get_running_loop().time)()
        since, count = self._since.pop(host, (now, 0))
        if now - since >= WINDOW_SECONDS:
            since, count = now, 0
        self._since[host] = since, count + 1
        if len(self._since) > MAX_ADDRESSES:
            del self._since[next(iter(self._since))]
        return count + 1

    def _reply(self, connection: Any, request: Command, reply: Command) -> None:
        if not connection.closed:
            connection.reply(reply, request)
