from __future__ import annotations

import asyncio
import socket

import pytest

from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, Limits, ProcessorTable, RemotingServer, Reply

from .conftest import StartServer
from .wire import BarePeer, until


def echo_table() -> ProcessorTable:
    table = ProcessorTable()
    table.add(1, lambda _connection, request: request.reply(0, body=request.body))
    return table


async def test_one_connection_more_than_allowed_is_closed(start_server: StartServer) -> None:
    server = await start_server(echo_table(), Limits(max_connections=2))
    kept = [await BarePeer.connect(server.port) for _ in range(2)]
    for peer in kept:
        await peer.write(Command(1))
        assert await peer.read() is not None
    surplus = await BarePeer.connect(server.port)
    assert await surplus.is_dropped()
    assert server.connections.refused["connections"] == 1
    kept.pop().close()
    await until(lambda: len(server.connections) < 2)
    late = await BarePeer.connect(server.port)
    await late.write(Command(1))
    assert await late.read() is not None
    for peer in (*kept, late, surplus):
        peer.close()


async def test_nagle_is_off(start_server: StartServer) -> None:
    server = await start_server(echo_table())
    peer = await BarePeer.connect(server.port)
    await peer.write(Command(1))
    await peer.read()
    (connection,) = server.connections
    raw = connection._transport.get_extra_info("socket")
    assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    peer.close()


async def test_stop_answers_what_is_in_flight() -> None:
    parked: list[tuple[Connection, Command]] = []
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(_connection: Connection, request: Command) -> Reply:
        started.set()
        await release.wait()
        return request.reply(0, "slow")

    table = echo_table()
    table.add(2, lambda connection, request: parked.append((connection, request)))
    table.add_slow(3, slow)
    server = RemotingServer(table, "127.0.0.1")
    await server.start()
    peer = await BarePeer.connect(server.port)
    await peer.write(Command(2, opaque=2), Command(3, opaque=3))
    await started.wait()
    stopping = asyncio.ensure_future(server.stop(grace=60))
    await asyncio.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        await BarePeer.connect(server.port)
    release.set()
    connection, request = parked[0]
    connection.reply(request.reply(0, "parked"), request)
    answers = [await peer.read(), await peer.read()]
    assert {answer.remark for answer in answers if answer} == {"slow", "parked"}
    assert await peer.is_dropped()
    await stopping
    peer.close()


async def test_stop_does_not_wait_longer_than_its_grace() -> None:
    parked: list[Command] = []
    table = echo_table()
    table.add(2, lambda _connection, request: parked.append(request))
    server = RemotingServer(table, "127.0.0.1")
    await server.start()
    peer = await BarePeer.connect(server.port)
    await peer.write(Command(2), Command(1))
    await peer.read()
    await asyncio.wait_for(server.stop(grace=0.05), 60)
    assert await peer.is_dropped()
    assert len(server.connections) == 0
    peer.close()
