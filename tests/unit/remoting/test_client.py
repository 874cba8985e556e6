from __future__ import annotations

import asyncio
import gc
import socket

import pytest
from tests.loop_clock import LoopClock
from tests.peers.process import free_port

from sprocketmq.errors import CommandError, ConnectFailed, RequestTimeout
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, RemotingServer

from .conftest import StartServer
from .wire import until


def echo_table() -> ProcessorTable:
    table = ProcessorTable()
    table.add(1, lambda _connection, request: request.reply(0, ext_fields=request.ext_fields, body=request.body))
    return table


async def test_callers_share_one_connection(start_server: StartServer, client: RemotingClient) -> None:
    server = await start_server(echo_table())
    bodies = [str(number).encode() for number in range(50)]
    answers = await asyncio.gather(*(client.call(server.address, Command(1, body=body), 60) for body in bodies))
    assert [answer.body for answer in answers] == bodies
    assert len(server.connections) == len(client.connections) == 1
    assert client.connected(server.address) is await client.connect(server.address)


async def test_a_request_that_cannot_be_written_leaves_nothing_behind(
    start_server: StartServer, client: RemotingClient
) -> None:
    server = await start_server(echo_table())
    connection = await client.connect(server.address)
    with pytest.raises(CommandError, match="cannot be written"):
        connection.request(Command(1, ext_fields={"topic": "\udcff"}), 60)
    assert (await client.call(server.address, Command(1, body=b"x"), 60)).body == b"x"


async def test_hooks_see_the_request_before_it_leaves(start_server: StartServer, client: RemotingClient) -> None:
    def sign(address: str, command: Command) -> None:
        command.ext_fields = {**(command.ext_fields or {}), "Signature": address}

    server = await start_server(echo_table())
    client.hooks.append(sign)
    answer = await client.call(server.address, Command(1, ext_fields={"a": "b"}), 60)
    assert answer.ext_fields == {"a": "b", "Signature": server.address}


async def test_a_lost_connection_is_made_again_on_demand(start_server: StartServer, client: RemotingClient) -> None:
    server = await start_server(echo_table())
    first = await client.connect(server.address)
    first.abort("test")
    await until(lambda: first.closed)
    assert client.connected(server.address) is None
    assert (await client.call(server.address, Command(1), 60)).code == 0


async def test_a_connection_that_is_lost_before_anybody_has_it(
    start_server: StartServer, client: RemotingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed may still take it. What is asked on it would have no answer, and no error either."""
    server, make = await start_server(echo_table()), client._open

    async def lost(address: str) -> Connection:
        made = await make(address)
        made.abort("it ended")
        await until(lambda: made.closed)
        return made

    with monkeypatch.context() as patched:
        patched.setattr(client, "_open", lost)
        with pytest.raises(ConnectFailed, match="it ended"):
            await client.connect(server.address)
    assert (await client.call(server.address, Command(1), 60)).code == 0


async def test_after_a_failure_the_address_rests(client: RemotingClient) -> None:
    port, began = free_port(), asyncio.get_running_loop().time()
    address = f"127.0.0.1:{port}"
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1") as caught:
        await client.call(address, Command(1), 60)
    assert caught.value.retriable
    rest = client._rests[address]
    assert rest.until >= began + rest.length
    rest.until += 3600  # longer than this test takes
    server = RemotingServer(echo_table(), "127.0.0.1", port)
    await server.start()
    with pytest.raises(ConnectFailed):
        await client.call(address, Command(1), 60)
    rest.until = 0
    assert (await client.call(address, Command(1), 60)).code == 0
    assert address not in client._rests
    await server.stop()


async def rests(client: RemotingClient, address: str) -> list[float]:
    lengths = []
    for _ in range(8):
        with pytest.raises(ConnectFailed):
            await client.connect(address)
        lengths.append(client._rests[address].length)
        client._rests[address].until = 0
    return lengths


async def test_rests_grow_up_to_a_bound(client: RemotingClient) -> None:
    assert await rests(client, "nonsense") == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


async def test_where_nobody_listens_rests_stay_short(client: RemotingClient) -> None:
    """So that a server that is starting is found soon, by a client that waits for it."""
    assert await rests(client, f"127.0.0.1:{free_port()}") == [0.05, 0.1, *[0.2] * 6]


async def test_what_will_not_pass_by_itself_says_so(client: RemotingClient) -> None:
    for address, is_lasting in (("nonsense", True), (f"127.0.0.1:{free_port()}", False)):
        for _ in range(2):  # also of an address that rests
            with pytest.raises(ConnectFailed) as caught:
                await client.connect(address)
            assert caught.value.is_lasting is is_lasting


async def test_an_address_that_is_none(client: RemotingClient) -> None:
    with pytest.raises(ConnectFailed, match="HOST:PORT"):
        await client.call("nonsense", Command(1), 60)


async def test_the_timeout_covers_the_connecting() -> None:
    with socket.socket() as deaf:  # a full backlog: nobody accepts
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        client = RemotingClient()
        with pytest.raises(RequestTimeout, match="no connection"):
            await client.call(address, Command(1), 0.05)
        await client.close()
        for filler in fillers:
            filler.close()


async def test_a_closed_client_connects_no_more(start_server: StartServer) -> None:
    server = await start_server(echo_table())
    client = RemotingClient()
    await client.call(server.address, Command(1), 60)
    await client.close()
    with pytest.raises(ConnectFailed, match="closed"):
        await client.call(server.address, Command(1), 60)


async def test_a_failure_that_nobody_waits_for_any_more_is_no_unseen_exception(
    client: RemotingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, told = asyncio.Event(), list[dict[str, object]]()

    async def fail(address: str) -> Connection:
        await go.wait()
        raise ConnectFailed(f"{address}: refused")

    monkeypatch.setattr(client, "_open", fail)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    waiting = asyncio.create_task(client.connect("127.0.0.1:1"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (attempt,) = client._connecting.values()
    go.set()
    await asyncio.wait([attempt])
    del attempt
    gc.collect()
    assert told == []


async def test_oneway_requests_arrive(start_server: StartServer, client: RemotingClient) -> None:
    arrived = asyncio.Event()
    table = ProcessorTable()
    table.add(1, lambda _connection, request: arrived.set() if request.is_oneway else None)
    server = await start_server(table)
    await client.oneway(server.address, Command(1))
    await asyncio.wait_for(arrived.wait(), 60)


async def test_answers_are_read_while_requests_cannot_leave(client: RemotingClient) -> None:
    """A server that waits for us to read its answers before it reads on would otherwise wait for ever."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        connection = await client.connect(f"127.0.0.1:{listening.getsockname()[1]}")
        peer, _ = await loop.sock_accept(listening)
    with peer:
        opaque, answer = connection.expect(60)
        connection.put(encode_frame(Command(1, opaque=opaque)))
        while connection.stalled_since is None:
            connection.put_now([encode_frame(Command(1, body=bytes(1_000_000)))])
        await loop.sock_sendall(peer, encode_frame(Command(0, opaque=opaque, flag=1, body=b"answer")))
        assert (await answer).body == b"answer"
        assert connection.stalled_since is not None


async def test_a_connection_whose_request_has_no_answer_is_replaced(
    start_server: StartServer, client: RemotingClient
) -> None:
    table = echo_table()
    table.add(2, lambda _connection, _request: None)
    server = await start_server(table)
    first = await client.connect(server.address)
    with pytest.raises(RequestTimeout):
        await client.call(server.address, Command(2), 0.15)
    assert client.connected(server.address) is None
    assert (await client.call(server.address, Command(1), 60)).code == 0
    assert client.connected(server.address) is not first


@pytest.mark.asyncio(loop_factories=["asyncio"])  # whose clock a test moves: uvloop's would take three seconds
async def test_a_slow_answer_on_a_connection_that_lives_costs_only_its_request(
    start_server: StartServer, client: RemotingClient, loop_clock: LoopClock
) -> None:
    table = echo_table()
    table.add(2, lambda _connection, _request: None)
    server = await start_server(table)
    first = await client.connect(server.address)
    slow = asyncio.ensure_future(client.call(server.address, Command(2), 3))
    await asyncio.sleep(0)
    loop_clock.advance(2)
    await client.call(server.address, Command(1), 60)
    loop_clock.advance(2)
    with pytest.raises(RequestTimeout):
        await slow
    assert client.connected(server.address) is first


async def test_own_requests_are_no_sign_of_life(
    start_server: StartServer, client: RemotingClient, loop_clock: LoopClock
) -> None:
    arrived = asyncio.Event()
    table = ProcessorTable()
    table.add(2, lambda _connection, _request: arrived.set())
    server = await start_server(table)
    connection = await client.connect(server.address)
    before = connection.last_active
    loop_clock.advance(5)
    connection.send(Command(2))
    await arrived.wait()
    assert connection.last_active == before
