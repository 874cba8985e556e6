# cython: annotation_typing=False
"""The processor table: request code to handler, and the one place where an error becomes an answer.

A handler runs inline, in the read that brought its request. It returns
    Command            the response
    bytes, list[bytes] a response frame that is already encoded, whole or in parts
    None               no answer now: a oneway request, or the handler keeps (connection, request) and later calls
                       `connection.reply` exactly once
A slow handler is a coroutine function; it runs as a task, and there is a bound on how many run at once, and on how many
of them one address has.
A long one is a generator function: it never waits, but has much to do. It yields where others may have a turn, and
returns its answer; what its connection asks behind it is done after it (turns.py).

Every request passes here, so this is compiled; and every handler is called in one place, whatever stands around it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sprocketmq.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from sprocketmq.errors import BodyError, CommandError, RequestRefused, TooMany
from sprocketmq.logs import PEER_TEXT, Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting.answer_times import UNKNOWN, AnswerTimes
from sprocketmq.remoting.costs import BYTE_NS, LARGE_BYTES, REFUSAL_NS
from sprocketmq.remoting.limits import UseByAddress

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection

events = Events("sprocketmq.remoting.processors")

Frame: TypeAlias = bytes | list[bytes]
Reply: TypeAlias = Command | Frame | None
Handler: TypeAlias = Callable[["Connection", Command], Reply]
SlowHandler: TypeAlias = Callable[["Connection", Command], Awaitable[Reply]]
Steps: TypeAlias = Generator[None, None, Reply]
LongHandler: TypeAlias = Callable[["Connection", Command], Steps]
_ONEWAY = int(FLAG_ONEWAY)
#: Told of what is not there, which clients that start ask for all day.
_ABSENT = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.QUERY_NOT_FOUND,
        ResponseCode.SUBSCRIPTION_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        ResponseCode.CONSUMER_NOT_ONLINE,
    }
)
#: Why a server takes nothing now, whoever asks: that costs its peers nothing, for they do well to try again.
_OWN_TROUBLE = frozenset(
    {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.SERVICE_NOT_AVAILABLE,
    }
)

Checks: TypeAlias = Generator[None, None, bool]


class Authority:
    """Says who may make a request. A class, for what is asked before every request is called without looking."""

    def check(self, connection: Connection, request: Command) -> bool | Checks:
        """True when the peer may make this request, else RequestRefused; False when it is told so later.

        Where that takes long to find out: steps that do, and return the same.
        """
        raise NotImplementedError

    def look_ahead(self, connection: Connection, requests: list[Command]) -> None:
        """What one read has brought, before it is asked about one by one."""


class Processor:
    """The handler of one request code, and how long a body it may be given."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.max_body = sys.maxsize


class ProcessorTable:
    def __init__(self, *, max_slow: int = 256) -> None:
        self.times = AnswerTimes()
        self._response = 0  # the code of the last answer
        self.authority: Authority | None = None
        self.refused: Counter[str] = Counter()
        self._processors: dict[int, Processor] = {}
        self._max_slow = max_slow
        self._slow: set[asyncio.Task[None]] = set()
        self._use = UseByAddress()

    def add(self, code: int | Iterable[int], handler: Handler) -> None:
        for each in (code,) if isinstance(code, int) else code:
            self._processors[int(each)] = Processor(handler)

    def add_slow(self, code: int | Iterable[int], handler: SlowHandler) -> None:
        self.add(code, partial(self._start, handler))

    def add_long(self, code: int | Iterable[int], handler: LongHandler) -> None:
        self.add(code, lambda connection, request: connection.do_in_turns(request, handler(connection, request)))

    def guard(self, codes: Iterable[int], guard: Callable[[Handler], Handler]) -> None:
        """Put `guard` around the handlers of these codes, as far as they are there."""
        for code in codes:
            if (processor := self._processors.get(int(code))) is not None:
                processor.handler = guard(processor.handler)

    def limit_body(self, code: int, most: int) -> None:
        self._processors[code].max_body = most

    def codes(self) -> frozenset[int]:
        return frozenset(self._processors)

    def process(self, connection: Connection, request: Command) -> Frame | None:
        """The encoded answer to `request`; never raises: one bad request costs its sender one answer and no more."""
        frame = self._answer(connection, request, self.authority)
        if frame is not None:
            # A code that was served is known. One that was refused may be a peer's invention, and would be a label.
            code = request.code if self._response == 0 else self._known(request)
            self.times.note(code, self._response, request.flag & _ONEWAY != 0)
        return frame

    def handle(self, connection: Connection, request: Command) -> Frame | None:
        """The same for a request that the server makes of itself on behalf of a peer whom it has authorized."""
        return self._answer(connection, request, None)

    def answered_late(self, request: Command, reply: Command | Frame, seconds: float, waited: bool) -> None:
        """`reply` left so long after `request` came; `waited` when that was for a message."""
        self.times.late(self._known(request), reply.code if isinstance(reply, Command) else 0, seconds, waited)

    def _known(self, request: Command) -> int:
        return request.code if request.code in self._processors else UNKNOWN

    def _answer(self, connection: Connection, request: Command, authority: Authority | None) -> Frame | None:
        processor: Processor | None = self._processors.get(request.code)
        try:
            if processor is not None and len(request.body) > processor.max_body:
                raise self._too_long(request, processor.max_body)
            may = authority.check(connection, request) if authority is not None else True
            if may is False:
                return None
            if may is True:
                reply = self._call(processor, connection, request)
            else:
                reply = connection.do_in_turns(request, self._checked(may, processor, connection, request))
            if isinstance(reply, Command):
                self._response = reply.code
                return encode_frame(reply)
            self._response = 0  # handlers encode what went well, and nothing else
            return reply
        except Exception as error:  # noqa: BLE001 - the edge: what went wrong becomes the answer
            refused = refusal(request, error, connection)
            self._response = refused.code
            return encode_frame(refused)

    def _call(self, processor: Processor | None, connection: Connection, request: Command) -> Reply:
        if processor is None:
            remark = f"request code {request.code} is not supported"
            raise RequestRefused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        return processor.handler(connection, request)

    def _checked(self, checks: Checks, processor: Processor | None, connection: Connection, request: Command) -> Steps:
        may = yield from checks
        return self._call(processor, connection, request) if may else None

    def _too_long(self, request: Command, most: int) -> RequestRefused:
        self.refused["bodies"] += 1
        remark = f"a body of {len(request.body)} bytes, more than the {most} that this request may have"
        return RequestRefused(ResponseCode.SYSTEM_ERROR, remark)

    def _start(self, handler: SlowHandler, connection: Connection, request: Command) -> None:
        host = connection.peer.host
        if not self._use.has_room(host, self._max_slow):
            running = f"[OVERLOAD]{self._use.used} slow requests are running, {self._use.of(host)} of them yours"
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, running)
        task = asyncio.get_running_loop().create_task(self._run(handler, connection, request))
        self._slow.add(task)
        self._use.take(host)
        task.add_done_callback(partial(self._ended, host))

    def _ended(self, host: str, task: asyncio.Task[None]) -> None:
        self._slow.discard(task)
        self._use.give_back(host)

    async def _run(self, handler: SlowHandler, connection: Connection, request: Command) -> None:
        try:
            reply = await handler(connection, request)
        except Exception as error:  # noqa: BLE001 - the same edge, for the task
            reply = refusal(request, error, connection)
        if reply is not None and not request.is_oneway:
            connection.reply(reply, request)


def refusal(request: Command, error: Exception, connection: Connection) -> Command:
    """The response that tells a peer of `error`; what is our fault is logged, and its details stay here.

    The line in the log has the request's number, as its client has, to find the one by the other.
    """
    is_own_trouble = isinstance(error, RequestRefused) and error.code in _OWN_TROUBLE
    if len(request.body) > LARGE_BYTES and not is_own_trouble:
        connection.cost_ns += len(request.body) * BYTE_NS
    if isinstance(error, (TooMany, CommandError, BodyError)):
        connection.cost_ns += REFUSAL_NS
    if isinstance(error, RequestRefused):
        reply = request.reply(error.code, error.remark)
    elif isinstance(error, (CommandError, BodyError)):
        reply = request.reply(ResponseCode.SYSTEM_ERROR, str(error))
    else:
        events.error("request failed", error, code=request.code, request=request.opaque, peer=connection.peer)
        return request.reply(ResponseCode.SYSTEM_ERROR, f"internal error: {type(error).__name__}")
    _teller(request.code, reply.code)(
        "request refused", code=request.code, request=request.opaque, response=reply.code,
        reason=(reply.remark or "")[:PEER_TEXT], peer=connection.peer,
    )  # fmt: skip
    return reply


def _teller(asked: int, code: int) -> Callable[..., None]:
    if code == ResponseCode.NO_PERMISSION:
        return events.warning
    is_absent = code in _ABSENT or asked == RequestCode.GET_CONSUMER_LIST_BY_GROUP  # that has no code of its own
    return events.debug if is_absent else events.info
