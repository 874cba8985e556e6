"""Strangers at the console's port, who know how to hold a server up: each is dropped, and others are served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send
from tests.loop_clock import LoopClock
from tests.unit.remoting.wire import until
from uvicorn import Config
from uvicorn.server import ServerState

from sprocketmq.dashboard.web import bounded_http
from sprocketmq.dashboard.web.bounded_http import BoundedHttp

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
PAGE = 32 << 20


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads all of a form; at /page there is a long one."""
    request = Request(scope, receive)
    body = await request.body()
    text = "x" * PAGE if request.url.path == "/page" else str(len(body))
    answer: Response = PlainTextResponse(text)
    await answer(scope, receive, send)


class Port:
    def __init__(self) -> None:
        self.number = self.made = self.accepted = 0
        self.state = ServerState()
        self.writers: list[asyncio.StreamWriter] = []

    def make(self, config: Config) -> BoundedHttp:
        self.made += 1
        return BoundedHttp(config, self.state, {})

    @property
    def connections(self) -> list[BoundedHttp]:
        return [cast(BoundedHttp, each) for each in self.state.connections]

    async def connect(self, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        self.writers.append(writer)
        accepted = self.accepted
        self.accepted += 1
        await until(lambda: self.made > accepted)
        writer.write(data)
        return reader, writer


@pytest_asyncio.fixture
async def port() -> AsyncIterator[Port]:
    port = Port()
    config = Config(app, log_config=None, lifespan="off", access_log=False)
    config.load()
    server = await asyncio.get_running_loop().create_server(lambda: port.make(config), "127.0.0.1", 0)
    port.number = server.sockets[0].getsockname()[1]
    yield port
    for writer in port.writers:
        writer.close()
    for each in port.connections:
        each.transport.abort()
    await asyncio.gather(*port.state.tasks, return_exceptions=True)
    server.close()
    await server.wait_closed()


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    try:
        while piece := await reader.read(1 << 20):
            data += piece
    except ConnectionError:
        pass
    return bytes(data)


async def is_served(port: Port) -> bool:
    reader, writer = await port.connect(GET)
    line = await reader.readline()
    writer.close()
    return b"200" in line


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: ", POST, POST + b"5\r\nab"])
async def test_a_request_that_never_ends_is_ended(port: Port, loop_clock: LoopClock, begun: bytes) -> None:
    reader, writer = await port.connect(begun)
    loop_clock.advance(bounded_http.REQUEST_SECONDS / 2)
    writer.write(b"a")  # that it goes on slowly helps nobody
    loop_clock.advance(bounded_http.REQUEST_SECONDS / 2 + 1)
    assert await rest_of(reader) == b""
    assert await is_served(port)
    writer.close()


async def test_a_connection_that_is_used_again_has_as_long_again(port: Port, loop_clock: LoopClock) -> None:
    reader, writer = await port.connect()
    (connection,) = port.connections
    for _ in range(3):
        writer.write(GET[:-2])
        await until(lambda: connection.held)
        loop_clock.advance(bounded_http.REQUEST_SECONDS - 1)
        writer.write(GET[-2:])
        assert b"200" in await reader.readuntil(b"\r\n\r\n0")
        assert connection.held == 0
    writer.close()


async def test_a_request_has_an_end(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MAX_REQUEST_BYTES", 1 << 20)
    reader, writer = await port.connect(POST)
    chunk = b"8000\r\n" + bytes(0x8000) + b"\r\n"
    with pytest.raises(ConnectionError):  # noqa: PT012 - whichever of the writes it is
        while True:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
    assert await rest_of(reader) == b""
    assert await is_served(port)


async def test_all_that_are_not_whole_have_one_budget(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MAX_HELD_BYTES", 100_000)
    largest, _kept = await port.connect(POST + b"F000\r\n" + bytes(50_000))
    await until(lambda: sum(each.held for each in port.connections) > 50_000)
    _, second = await port.connect(POST + b"F000\r\n" + bytes(40_000))
    await until(lambda: sum(each.held for each in port.connections) > 90_000)
    _, third = await port.connect(POST + b"F000\r\n" + bytes(30_000))
    assert await rest_of(largest) == b""
    await until(lambda: sum(each.held for each in port.connections) > 70_000)
    assert await is_served(port)
    for writer in (second, third):
        writer.close()


async def test_one_connection_too_many(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MAX_CONNECTIONS", 2)
    first, second = await port.connect(), await port.connect()
    third, _writer = await port.connect()
    assert await rest_of(third) == b""
    first[1].close()
    await until(lambda: len(port.connections) == 1)
    assert await is_served(port)
    second[1].close()


async def test_an_answer_that_is_not_read_is_ended(port: Port, loop_clock: LoopClock) -> None:
    reader, writer = await port.connect()
    transport = cast(asyncio.Transport, writer.transport)
    transport.pause_reading()
    writer.write(GET.replace(b"/ ", b"/page "))
    await until(lambda: port.connections[0]._answer_timer is not None)
    loop_clock.advance(bounded_http.ANSWER_SECONDS + 1)
    await until(lambda: not port.connections)
    transport.resume_reading()
    assert len(await rest_of(reader)) < PAGE
    writer.close()
