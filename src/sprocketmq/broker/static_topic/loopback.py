"""Requests that this broker makes of itself: its own handlers answer them as they answer a client's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.remoting import Connection, ProcessorTable
from sprocketmq.remoting.handlers import Frame


class _Inside:
    """In the place of a connection. It is the client's in all that handlers ask, but the late answer comes here."""

    def __init__(self, connection: Connection) -> None:
        self.peer = connection.peer
        self.session = connection.session
        self.attributes = connection.attributes
        self.answer: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._connection = connection

    @property
    def on_closed(self) -> list[Callable[[Connection], None]]:
        return self._connection.on_closed

    @property
    def closed(self) -> bool:
        return self._connection.closed

    @property
    def stalled_since(self) -> float | None:
        return self._connection.stalled_since

    @property
    def on_writable(self) -> list[Callable[[], None]]:
        return self._connection.on_writable

    @property
    def unread_bytes(self) -> int:
        """Nothing is written here."""
        return 0

    def abort(self, reason: str) -> None:
        """It is this request that fails, not the connection of its client, who is told so."""
        if not self.answer.done():
            self.answer.set_exception(RequestRefused(ResponseCode.SYSTEM_ERROR, reason))

    def reply(self, reply: Command | Frame, _request: Command, *, waited: bool = False) -> None:
        if not self.answer.done():
            self.answer.set_result(_decoded(reply))


async def ask_inside(table: ProcessorTable, connection: Connection, request: Command) -> Command:
    """The answer to `request`, made on behalf of the client behind `connection`, whom it was allowed already."""
    inside = _Inside(connection)
    frame = table.handle(cast(Connection, inside), request)
    return await inside.answer if frame is None else _decoded(frame)


def _decoded(reply: Command | Frame) -> Command:
    if isinstance(reply, Command):
        return reply
    (command,) = FrameDecoder().feed(reply if isinstance(reply, bytes) else b"".join(reply))
    return command
