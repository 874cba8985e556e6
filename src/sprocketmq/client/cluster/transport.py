"""Requests to brokers and nameservers over `remoting`, whose errors become the client's own here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from sprocketmq.client.cluster.requests import check, request
from sprocketmq.client.errors import ClientError, Closed, Offline, TimedOut, Unreachable
from sprocketmq.client.options import ClientOptions
from sprocketmq.errors import ConnectFailed, ConnectionLost, RemotingError, RequestTimeout
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.send_frame import Sign
from sprocketmq.remoting.client import RemotingClient
from sprocketmq.remoting.connection import IDLE, Connection
from sprocketmq.remoting.handlers import ProcessorTable

log = logging.getLogger("sprocketmq.client.cluster.transport")

_ONEWAY_S = 3.0
_WATCHED = "watched by the transport"


class Transport(Protocol):
    """What the client needs of the network; tests put one that lives in memory in its place."""

    async def call(self, address: str, command: Command, timeout: float) -> Command:
        """The answer, whatever its code. Raises TimedOut, Unreachable or Closed."""
        ...

    async def oneway(self, address: str, command: Command) -> None: ...

    def connected(self, address: str) -> Connection | None:
        """The open connection to `address`, for a caller that encodes its requests; None while there is none."""
        ...

    def all_connected(self) -> dict[str, Connection]:
        """Every open connection, by its address."""
        ...

    async def connect(self, address: str, timeout: float) -> Connection:
        """As `connected`, made when there is none. Raises TimedOut, Unreachable or Closed."""
        ...

    @property
    def sign(self) -> Sign | None:
        """Signs requests that callers encode; None where no signature is wanted."""
        ...

    def failure(self, address: str, error: RemotingError, timeout: float) -> ClientError:
        """What `call` would have raised for that."""
        ...

    async def close(self) -> None: ...


class RemotingTransport:
    """One connection per address, signed when there are credentials."""

    def __init__(
        self, options: ClientOptions, handlers: ProcessorTable, on_connected: Callable[[str], None] | None = None
    ) -> None:
        self._remoting = RemotingClient(handlers, ssl=options.ssl, connect_timeout=options.connect_timeout)
        self.sign = None if options.credentials is None else options.credentials.sign
        self._on_connected = on_connected
        self._closed = False
        self._lost: set[str] = set()

    async def call(self, address: str, command: Command, timeout: float) -> Command:
        self._sign(command)
        connection = self._remoting.connected(address)
        if connection is None:
            loop = asyncio.get_running_loop()
            deadline = loop.time() + timeout
            connection = await self.connect(address, timeout)
            timeout = max(deadline - loop.time(), 0.001)
        try:
            return await connection.request(command, timeout)
        except (RequestTimeout, ConnectionLost) as error:
            raise self.failure(address, error, timeout) from None

    async def oneway(self, address: str, command: Command) -> None:
        self._sign(command)
        (self._remoting.connected(address) or await self.connect(address, _ONEWAY_S)).send(command)

    def connected(self, address: str) -> Connection | None:
        return self._remoting.connected(address)

    def all_connected(self) -> dict[str, Connection]:
        return self._remoting.all_connected()

    async def connect(self, address: str, timeout: float) -> Connection:
        try:
            async with asyncio.timeout(timeout):
                connection = await self._remoting.connect(address)
        except TimeoutError:
            raise TimedOut(f"no connection to {address} within {timeout:.3g} s") from None
        except (ConnectFailed, ConnectionLost) as error:
            raise self.failure(address, error, timeout) from None
        self._watch(address, connection)
        if self._on_connected is not None:
            self._on_connected(address)
        return connection

    def failure(self, address: str, error: RemotingError, timeout: float) -> ClientError:
        if isinstance(error, RequestTimeout):
            return TimedOut(f"no answer from {address} within {timeout:.3g} s")
        if self._closed:
            return Closed("the client was stopped")
        is_lasting = isinstance(error, ConnectFailed) and error.is_lasting
        return Unreachable(address, str(error).removeprefix(f"{address}: "), is_lasting=is_lasting)

    async def close(self) -> None:
        self._closed = True
        await self._remoting.close()

    def _watch(self, address: str, connection: Connection) -> None:
        """That a connection is lost and made again is news: what happens meanwhile can be told by it."""
        if _WATCHED in connection.attributes:
            return
        connection.attributes[_WATCHED] = True
        connection.on_closed.append(lambda gone: self._on_lost(address, gone))
        if address in self._lost:
            self._lost.discard(address)
            log.warning("connection regained address=%s", address)

    def _on_lost(self, address: str, gone: Connection) -> None:
        if not self._closed and gone.end_reason != IDLE:
            self._lost.add(address)
            log.warning("connection lost address=%s reason=%s", address, gone.end_reason)

    def _sign(self, command: Command) -> None:
        if self.sign is not None:
            command.ext_fields = self.sign(command.ext_fields or {}, command.body, command.code)


class NameServers:
    """Several nameservers, of which one is in use until it fails."""

    def __init__(self, addresses: tuple[str, ...], transport: Transport) -> None:
        self.addresses = addresses
        self._transport = transport
        self._current = 0

    async def call(self, code: int, header: object | None = None, *, timeout: float, body: bytes = b"") -> Command:
        """The answer of the first nameserver that gives one, the current one first."""
        reason, is_lasting = "", True
        for _ in self.addresses:
            address = self.addresses[self._current]
            try:
                return await self._transport.call(address, request(code, header, body), timeout)
            except (TimedOut, Unreachable) as error:
                reason = getattr(error, "reason", str(error))
                is_lasting = is_lasting and getattr(error, "is_lasting", False)
                self._current = (self._current + 1) % len(self.addresses)
        raise Offline(list(self.addresses), reason, is_lasting=is_lasting)

    async def call_all(self, code: int, header: object, *, timeout: float) -> None:
        """For changes: nameservers do not talk to one another, so each is told."""
        for address in self.addresses:
            check(await self._transport.call(address, request(code, header), timeout), address)
