# cython: annotation_typing=False
"""The processor table: request code to handler, and the one place where an error becomes an answer.

A handler runs inline, in the read that brought its request. It returns
    Command            the response
    bytes, list[bytes] a response frame that is already encoded, whole or in parts
    None               no answer now: a oneway request, or the handler keeps (connection, request) and later calls
                       `connection.reply` exactly once
A slow handler is a coroutine function; it runs as a task, and there is a bound on how many run at once.

Every request passes here, so this is compiled; and every handler is called in one place, whatever stands around it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import BodyError, CommandError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection

events = Events("sprocketmq.remoting.processors")

Frame: TypeAlias = bytes | list[bytes]
Reply: TypeAlias = Command | Frame | None
Handler: TypeAlias = Callable[["Connection", Command], Reply]
SlowHandler: TypeAlias = Callable[["Connection", Command], Awaitable[Reply]]
#: Raises RequestRefused when the peer may not make this request.
Authorize: TypeAlias = Callable[["Connection", Command], None]


class ProcessorTable:
    def __init__(self, *, max_slow: int = 256) -> None:
        self.authorize: Authorize | None = None
        self._handlers: dict[int, Handler] = {}
        self._max_slow = max_slow
        self._slow: set[asyncio.Task[None]] = set()

    def add(self, code: int | Iterable[int], handler: Handler) -> None:
        for each in (code,) if isinstance(code, int) else code:
            self._handlers[int(each)] = handler

    def add_slow(self, code: int | Iterable[int], handler: SlowHandler) -> None:
        self.add(code, partial(self._start, handler))

    def guard(self, codes: Iterable[int], guard: Callable[[Handler], Handler]) -> None:
        """Put `guard` around the handlers of these codes, as far as they are there."""
        for code in codes:
            if int(code) in self._handlers:
                self._handlers[int(code)] = guard(self._handlers[int(code)])

    def codes(self) -> frozenset[int]:
        return frozenset(self._handlers)

    def process(self, connection: Connection, request: Command) -> Frame | None:
        """The encoded answer to `request`; never raises: one bad request costs its sender one answer and no more."""
        return self._answer(connection, request, self.authorize)

    def handle(self, connection: Connection, request: Command) -> Frame | None:
        """The same for a request that the server makes of itself on behalf of a peer whom it has authorized."""
        return self._answer(connection, request, None)

    def _answer(self, connection: Connection, request: Command, authorize: Authorize | None) -> Frame | None:
        try:
            handler = self._handlers.get(request.code)
            if handler is None:
                remark = f"request code {request.code} is not supported"
                raise RequestRefused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
            if authorize is not None:
                authorize(connection, request)
            reply = handler(connection, request)
            return encode_frame(reply) if isinstance(reply, Command) else reply
        except Exception as error:  # noqa: BLE001 - the edge: what went wrong becomes the answer
            return encode_frame(refusal(request, error, connection))

    def _start(self, handler: SlowHandler, connection: Connection, request: Command) -> None:
        if len(self._slow) >= self._max_slow:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{self._max_slow} slow requests are running")
        task = asyncio.get_running_loop().create_task(self._run(handler, connection, request))
        self._slow.add(task)
        task.add_done_callback(self._slow.discard)

    async def _run(self, handler: SlowHandler, connection: Connection, request: Command) -> None:
        try:
            reply = await handler(connection, request)
        except Exception as error:  # noqa: BLE001 - the same edge, for the task
            reply = refusal(request, error, connection)
        if reply is not None and not request.is_oneway:
            connection.reply(reply)


def refusal(request: Command, error: Exception, connection: Connection) -> Command:
    """The response that tells a peer of `error`; what is our fault is logged, and its details stay here."""
    if isinstance(error, RequestRefused):
        return request.reply(error.code, error.remark)
    if isinstance(error, (CommandError, BodyError)):
        return request.reply(ResponseCode.SYSTEM_ERROR, str(error))
    events.error("request failed", error, code=request.code, peer=connection.peer)
    return request.reply(ResponseCode.SYSTEM_ERROR, f"internal error: {type(error).__name__}")
