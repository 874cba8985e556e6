"""The calling side: one connection per address, shared by every request that goes there.

A connection is made when it is first needed, and again when it was lost. After a failed attempt the address rests for a
moment that doubles with each further failure; a request in that time fails at once, so that callers try another broker.
Where nobody listens the moment stays short: to ask there costs next to nothing, and a server that starts is found soon.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Callable
from dataclasses import dataclass

from sprocketmq.errors import ConnectFailed, RequestTimeout
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.connection import Connection
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.handlers import ProcessorTable
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.peer import parse_address
from sprocketmq.remoting.tls.outgoing import HandshakeFailed, secure

CONNECT_SECONDS = 3.0
_FIRST_REST = 0.05
_LONGEST_REST = 2.0
_LONGEST_REST_REFUSED = 0.2

#: Sees every request before it is encoded, with the address it goes to; signs it, or adds fields to it.
RequestHook = Callable[[str, Command], None]
#: The context of the next connection, for one that may change; None is a plain connection.
ContextSource = Callable[[], tls.SSLContext | None]


@dataclass(slots=True)
class _Rest:
    """Why the last attempt failed, and until when the address is left alone."""

    until: float
    length: float
    reason: str
    is_lasting: bool


class RemotingClient:
    """`handlers` answers what servers ask of this client. Used within one event loop."""

    def __init__(
        self,
        handlers: ProcessorTable | None = None,
        *,
        limits: Limits | None = None,
        ssl: tls.SSLContext | ContextSource | None = None,
        connect_timeout: float = CONNECT_SECONDS,
    ) -> None:
        self.hooks: list[RequestHook] = []
        self.connections = ConnectionRegistry(limits or Limits())
        self._handlers = handlers or ProcessorTable()
        self._ssl: ContextSource = ssl if callable(ssl) else lambda: ssl
        self._connect_timeout = connect_timeout
        self._by_address: dict[str, Connection] = {}
        self._connecting: dict[str, asyncio.Task[Connection]] = {}
        self._rests: dict[str, _Rest] = {}
        self._scanning = False
        self._closed = False

    async def call(self, address: str, command: Command, timeout: float) -> Command:
        """The response to `command` within `timeout` seconds, the time to connect included."""
        self._run_hooks(address, command)
        connection = self.connected(address)
        if connection is None:
            loop = asyncio.get_running_loop()
            deadline = loop.time() + timeout
            connection = await self._connect_by(deadline, address)
            timeout = max(0.0, deadline - loop.time())
        return await connection.request(command, timeout)

    async def oneway(self, address: str, command: Command) -> None:
        self._run_hooks(address, command)
        (self.connected(address) or await self.connect(address)).send(command)

    def connected(self, address: str) -> Connection | None:
        """The live connection to `address`, if there is one: for callers that must not wait."""
        connection = self._by_address.get(address)
        return None if connection is None or connection.closed else connection

    def all_connected(self) -> dict[str, Connection]:
        """Every live connection, by its address."""
        return {address: each for address, each in self._by_address.items() if not each.closed}

    async def connect(self, address: str) -> Connection:
        """The connection to `address`, made if need be; callers that ask together share one attempt."""
        connection = self._by_address.get(address)
        if connection is not None and not connection.closed:
            return connection
        if self._closed:
            raise ConnectFailed("the client is closed")
        self._refuse_while_resting(address)
        task = self._connecting.get(address)
        if task is None:
            task = self._connecting[address] = asyncio.ensure_future(self._open(address))
            task.add_done_callback(lambda done: self._attempted(address, done))
        connection = await asyncio.shield(task)
        if connection.closed:  # a process that was ending took it, and was gone before anybody could ask
            raise ConnectFailed(f"{address}: {connection.end_reason}")
        return connection

    async def close(self, grace: float = 1.0) -> None:
        """Close every connection; requests without an answer fail with ConnectionLost."""
        self._closed = True
        attempts = tuple(self._connecting.values())
        for task in attempts:
            task.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
        await self.connections.close(grace)
        self.connections.stop()

    def _run_hooks(self, address: str, command: Command) -> None:
        for hook in self.hooks:
            hook(address, command)

    async def _connect_by(self, deadline: float, address: str) -> Connection:
        try:
            async with asyncio.timeout_at(deadline):
                return await self.connect(address)
        except TimeoutError:
            raise RequestTimeout(f"no connection to {address} in time") from None

    def _attempted(self, address: str, attempt: asyncio.Future[Connection]) -> None:
        self._connecting.pop(address, None)
        if not attempt.cancelled():
            attempt.exception()  # those who waited may have been cancelled: then nobody else asks what became of it

    async def _open(self, address: str) -> Connection:
        if not self._scanning:
            self._scanning = True
            self.connections.start()
        loop = asyncio.get_running_loop()
        try:
            host, port = parse_address(address)
            async with asyncio.timeout(self._connect_timeout):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._handlers, self.connections, is_caller=True), host, port
                )
                if (context := self._ssl()) is not None:
                    await secure(connection, context, host)
        except TimeoutError:
            raise self._rest(address, f"no connection within {self._connect_timeout:g} s") from None
        except ConnectionRefusedError as error:
            raise self._rest(address, str(error), longest=_LONGEST_REST_REFUSED) from None
        except (HandshakeFailed, ValueError) as error:
            raise self._rest(address, str(error), is_lasting=True) from None
        except OSError as error:
            raise self._rest(address, str(error)) from None
        self._rests.pop(address, None)
        self._by_address[address] = connection
        connection.on_closed.append(lambda gone: self._forget(address, gone))
        return connection

    def _forget(self, address: str, gone: Connection) -> None:
        if self._by_address.get(address) is gone:
            del self._by_address[address]

    def _refuse_while_resting(self, address: str) -> None:
        rest = self._rests.get(address)
        if rest is not None and asyncio.get_running_loop().time() < rest.until:
            raise ConnectFailed(f"{address}: {rest.reason}", is_lasting=rest.is_lasting)

    def _rest(
        self, address: str, reason: str, *, longest: float = _LONGEST_REST, is_lasting: bool = False
    ) -> ConnectFailed:
        before = self._rests.get(address)
        length = _FIRST_REST if before is None else min(before.length * 2, longest)
        self._rests[address] = _Rest(asyncio.get_running_loop().time() + length, length, reason, is_lasting)
        return ConnectFailed(f"{address}: {reason}", is_lasting=is_lasting)
