"""Every test of the transport runs on asyncio's own loop and on uvloop: their transports differ in detail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest
import pytest_asyncio
import uvloop

from sprocketmq.remoting import Limits, ProcessorTable, RemotingClient, RemotingServer

StartServer = Callable[..., Awaitable[RemotingServer]]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture
async def start_server() -> AsyncIterator[StartServer]:
    """Starts servers on free ports of the loopback interface and stops them after the test."""
    started: list[RemotingServer] = []

    async def start(table: ProcessorTable, limits: Limits | None = None) -> RemotingServer:
        server = RemotingServer(table, "127.0.0.1", 0, limits)
        await server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        await server.stop(grace=0.2)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close(grace=0.2)
