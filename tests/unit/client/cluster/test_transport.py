from __future__ import annotations

import asyncio

import pytest
from tests.signatures import is_signed
from tests.unit.client.fakes import FakeTransport

from sprocketmq.client.cluster.requests import check
from sprocketmq.client.cluster.transport import NameServers, RemotingTransport
from sprocketmq.client.errors import Closed, Refused, TimedOut, Unreachable
from sprocketmq.client.options import ClientOptions, Credentials
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.headers.nameserver import GetRouteInfoRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, RemotingServer

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC


async def test_requests_are_signed() -> None:
    seen: list[Command] = []

    def answer(_connection: Connection, request: Command) -> Command:
        seen.append(request)
        return request.reply()

    table = ProcessorTable()
    table.add(ROUTE, answer)
    server = RemotingServer(table, "127.0.0.1", 0)
    await server.start()
    options = ClientOptions(("ns:1",), credentials=Credentials("RocketMQ", "12345678", "token"))
    transport = RemotingTransport(options, ProcessorTable())
    await transport.call(f"127.0.0.1:{server.port}", Command(ROUTE, ext_fields={"topic": "T"}, body=b"body"), 60)
    await transport.close()
    await server.stop()
    ext = seen[0].ext_fields or {}
    assert (ext["AccessKey"], ext["SecurityToken"]) == ("RocketMQ", "token")
    assert is_signed(ext, b"body", "12345678")
    assert not is_signed(ext, b"other", "12345678")


async def test_errors_are_the_clients_own() -> None:
    def silent(_connection: Connection, _request: Command) -> None:
        return None

    table = ProcessorTable()
    table.add(ROUTE, silent)
    server = RemotingServer(table, "127.0.0.1", 0)
    await server.start()
    transport = RemotingTransport(ClientOptions(("ns:1",)), ProcessorTable())
    with pytest.raises(TimedOut):
        await transport.call(f"127.0.0.1:{server.port}", Command(ROUTE), 0.05)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1 cannot be reached"):
        await transport.call("127.0.0.1:1", Command(ROUTE), 60)
    await transport.close()
    with pytest.raises(Closed):
        await transport.call(f"127.0.0.1:{server.port}", Command(ROUTE), 60)
    await server.stop(grace=0.05)  # for the request that has no answer


async def test_changes_reach_every_nameserver() -> None:
    transport = FakeTransport()
    servers = NameServers(("a:1", "b:1"), transport)
    await servers.call_all(ROUTE, GetRouteInfoRequestHeader(topic="T"), timeout=60)
    assert transport.addresses(ROUTE) == ["a:1", "b:1"]


def test_refusal_names_code_and_remark() -> None:
    with pytest.raises(Refused, match=r"refused by b:1 with SYSTEM_BUSY \(2\): later") as caught:
        check(Command(ResponseCode.SYSTEM_BUSY, remark="later"), "b:1")
    assert caught.value.retriable
    with pytest.raises(Refused, match=r"code \(9999\): no remark"):
        check(Command(9999))


async def test_a_lost_and_regained_connection_is_told(caplog: pytest.LogCaptureFixture) -> None:
    table = ProcessorTable()
    table.add(ROUTE, lambda _connection, request: request.reply())
    server = RemotingServer(table, "127.0.0.1", 0)
    await server.start()
    address = f"127.0.0.1:{server.port}"
    transport = RemotingTransport(ClientOptions(("ns:1",)), ProcessorTable())
    await transport.call(address, Command(ROUTE), 60)
    for connection in server.connections:
        connection.abort("test")
    while transport.connected(address) is not None:  # noqa: ASYNC110 - what is awaited has no event of its own
        await asyncio.sleep(0)
    await transport.call(address, Command(ROUTE), 60)
    await transport.close()
    await server.stop()
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition(" reason")[0] for line in told] == [
        f"connection lost address={address}",
        f"connection regained address={address}",
    ]
