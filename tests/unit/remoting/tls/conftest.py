"""Servers with TLS, and peers that speak it as Python's own library does."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from sprocketmq.config import from_properties
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.remoting import ProcessorTable, RemotingServer
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.tls import TlsConfig, TlsService

Serve = Callable[..., Awaitable[RemotingServer]]


class Peer:
    """What a server is asked by whoever it does not know; streams of asyncio, none of our code."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int, context: ssl.SSLContext | None = None) -> Peer:
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=context))

    async def ask(self, body: bytes = b"") -> bytes:
        await self.write(encode_frame(Command(1, body=body)))
        decoder = FrameDecoder(1 << 30)
        while True:
            data = await self._reader.read(65536)
            if not data:
                raise ConnectionResetError("closed by the server")
            for answer in decoder.feed(data):
                return bytes(answer.body)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def is_dropped(self) -> bool:
        try:
            return await self._reader.read(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True

    def close(self) -> None:
        self._writer.transport.abort()


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a server that answers request 1 with its body, with the given settings of TLS."""
    started: list[tuple[RemotingServer, TlsService]] = []

    async def start(keys: dict[str, str], limits: Limits | None = None) -> RemotingServer:
        table = ProcessorTable()
        table.add(1, lambda _connection, request: request.reply(0, body=request.body))
        tls = TlsService.of(from_properties(TlsConfig, keys))
        server = RemotingServer(table, "127.0.0.1", 0, limits, tls.server)
        tls.start()
        await server.start()
        started.append((server, tls))
        return server

    yield start
    for server, tls in started:
        tls.stop()
        await server.stop(grace=0.2)
