from __future__ import annotations

import asyncio
from typing import cast

import pytest

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import ConnectionLost, RequestTimeout
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Connection, Limits, ProcessorTable, RemotingClient, RemotingServer, Reply

from .conftest import StartServer
from .wire import BarePeer, turn, until

ECHO, PARK, RAW, PARTS, BIG = 1, 2, 3, 4, 5


class Service:
    """Handlers of every kind; parked requests wait in `parked`."""

    def __init__(self) -> None:
        self.parked: list[tuple[Connection, Command]] = []
        self.did_park = asyncio.Event()
        self.handled = 0
        self.table = ProcessorTable()
        self.table.add(ECHO, self.echo)
        self.table.add(PARK, self.park)
        self.table.add(RAW, lambda _, request: encode_frame(request.reply(0, body=b"raw")))
        self.table.add(PARTS, lambda _, request: [encode_frame(request.reply(0, body=b"abc"))[:-3], b"a", b"bc"])
        self.table.add(BIG, self.big)

    def echo(self, _connection: Connection, request: Command) -> Reply:
        self.handled += 1
        return request.reply(0, ext_fields=request.ext_fields, body=request.body)

    def park(self, connection: Connection, request: Command) -> Reply:
        self.parked.append((connection, request))
        self.did_park.set()
        return None

    def big(self, _connection: Connection, request: Command) -> Reply:
        self.handled += 1
        return request.reply(0, body=bytes(100_000))


def only(server: RemotingServer) -> Connection:
    (connection,) = server.connections
    return connection


async def test_the_answers_of_one_read_come_in_order(start_server: StartServer) -> None:
    peer = await BarePeer.connect((await start_server(Service().table)).port)
    await peer.write(*(Command(code, opaque=opaque) for opaque, code in enumerate((ECHO, RAW, PARTS, ECHO))))
    answers = [await peer.read() for _ in range(4)]
    assert [(a.opaque, a.body) for a in answers if a] == [(0, b""), (1, b"raw"), (2, b"abc"), (3, b"")]
    peer.close()


async def test_a_bad_frame_does_not_take_the_good_ones_before_it_along(start_server: StartServer) -> None:
    service = Service()
    peer = await BarePeer.connect((await start_server(service.table)).port)
    good = encode_frame(Command(ECHO, opaque=1, body=b"good"))
    await peer.write_bytes(good + good + b"\xff" * 8 + good)
    answers = [await peer.read() for _ in range(2)]
    assert [answer.body for answer in answers if answer] == [b"good", b"good"]
    assert await peer.is_dropped()
    assert service.handled == 2
    peer.close()


async def test_frames_that_arrive_byte_by_byte(start_server: StartServer) -> None:
    peer = await BarePeer.connect((await start_server(Service().table)).port)
    for byte in encode_frame(Command(ECHO, opaque=9, body=b"slow")):
        await peer.write_bytes(bytes([byte]))
    answer = await peer.read()
    assert answer is not None
    assert (answer.opaque, answer.body) == (9, b"slow")
    peer.close()


async def test_a_parked_request_is_answered_later_and_out_of_order(start_server: StartServer) -> None:
    service = Service()
    server = await start_server(service.table)
    peer = await BarePeer.connect(server.port)
    await peer.write(Command(PARK, opaque=1), Command(ECHO, opaque=2))
    first = await peer.read()
    assert only(server).in_flight == 1
    connection, request = service.parked.pop()
    connection.reply(request.reply(0, "woken"), request)
    second = await peer.read()
    assert first is not None
    assert second is not None
    assert (first.opaque, second.opaque, second.remark) == (2, 1, "woken")
    assert only(server).in_flight == 0
    peer.close()


class NoFigure:
    """Nothing can be counted by it."""

    def __bool__(self) -> bool:
        raise MemoryError

    def __hash__(self) -> int:
        raise MemoryError


async def test_figures_that_fail_keep_no_answer_back(start_server: StartServer) -> None:
    service = Service()
    server = await start_server(service.table)
    peer = await BarePeer.connect(server.port)
    await peer.write(Command(PARK, opaque=1))
    await until(lambda: service.parked)
    connection, request = service.parked.pop()
    with pytest.raises(MemoryError):
        connection.reply(request.reply(0, "woken"), request, waited=cast(bool, NoFigure()))
    answer = await peer.read()
    assert answer is not None
    assert (answer.opaque, answer.remark) == (1, "woken")
    peer.close()


async def test_too_many_waiting_requests_are_answered_busy(start_server: StartServer) -> None:
    service = Service()
    peer = await BarePeer.connect((await start_server(service.table, Limits(max_in_flight=2))).port)
    await peer.write(*(Command(PARK, opaque=opaque) for opaque in (1, 2, 3)))
    answer = await peer.read()
    assert answer is not None
    assert (answer.code, answer.opaque) == (ResponseCode.SYSTEM_BUSY, 3)
    connection, request = service.parked[0]
    connection.reply(request.reply(0), request)
    assert await peer.read() is not None
    await peer.write(Command(PARK, opaque=4), Command(ECHO, opaque=5))
    refused = await peer.read()
    assert refused is not None
    assert (refused.code, refused.opaque) == (ResponseCode.SYSTEM_BUSY, 5), "a waiting request took the free place"
    peer.close()


async def test_the_server_calls_its_client(start_server: StartServer) -> None:
    service = Service()
    server = await start_server(service.table)
    client = RemotingClient(service.table)
    await client.call(server.address, Command(ECHO), 60)
    answer = await only(server).call(Command(ECHO, body=b"are you there"), 60)
    assert answer.body == b"are you there"
    only(server).send(Command(PARK))
    await asyncio.wait_for(service.did_park.wait(), 60)
    assert service.parked[0][1].is_oneway
    await client.close()


async def test_no_answer_in_time(start_server: StartServer, client: RemotingClient) -> None:
    server = await start_server(Service().table)
    await client.connect(server.address)
    with pytest.raises(RequestTimeout, match=r"no answer from 127\.0\.0\.1"):
        await client.call(server.address, Command(PARK), 0.02)
    assert (await client.call(server.address, Command(ECHO), 60)).code == 0


async def test_an_earlier_deadline_is_kept_while_a_later_one_waits(
    start_server: StartServer, client: RemotingClient
) -> None:
    service = Service()
    server = await start_server(service.table)
    connection = await client.connect(server.address)
    long = connection.request(Command(PARK), 60)
    await service.did_park.wait()
    with pytest.raises(RequestTimeout):
        await connection.call(Command(PARK), 0.02)
    server_side, request = service.parked[0]
    server_side.reply(request.reply(0, "in time"), request)
    assert (await long).remark == "in time"


async def test_a_lost_connection_fails_what_waits_and_tells_its_owner(
    start_server: StartServer, client: RemotingClient
) -> None:
    service = Service()
    server = await start_server(service.table)
    connection = await client.connect(server.address)
    closed: list[Connection] = []
    waiting = connection.request(Command(PARK), 30)
    await service.did_park.wait()
    only(server).on_closed.append(closed.append)
    connection.on_closed.append(closed.append)
    service.parked[0][0].abort("test")
    with pytest.raises(ConnectionLost) as caught:
        await waiting
    assert caught.value.retriable
    assert len(closed) == 2
    assert connection.closed
    with pytest.raises(ConnectionLost):
        connection.request(Command(ECHO), 1)
    connection.send(Command(ECHO))  # as on a broken wire: nothing happens
    service.parked[0][0].reply(b"", Command(PARK))


async def test_one_faulty_callback_does_not_silence_the_others(
    start_server: StartServer, client: RemotingClient, caplog: pytest.LogCaptureFixture
) -> None:
    def faulty(_connection: Connection) -> None:
        raise KeyError("bug")

    connection = await client.connect((await start_server(Service().table)).address)
    told = asyncio.Event()
    connection.on_closed += [faulty, lambda _: told.set()]
    connection.close()
    await asyncio.wait_for(told.wait(), 60)
    assert "callback failed" in caplog.text


async def test_bytes_that_are_not_the_protocol_end_only_their_connection(
    start_server: StartServer, client: RemotingClient
) -> None:
    server = await start_server(Service().table, Limits(max_frame_bytes=1000))
    for wrong in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\4\x05\0\0\0", encode_frame(Command(ECHO, body=bytes(2000)))):
        peer = await BarePeer.connect(server.port)
        await peer.write_bytes(wrong)
        assert await peer.is_dropped()
        peer.close()
    assert (await client.call(server.address, Command(ECHO), 60)).code == 0


async def test_a_peer_that_does_not_read_is_not_read_either(start_server: StartServer) -> None:
    service = Service()
    limits = Limits(write_pause_bytes=200_000, write_max_bytes=10_000_000, write_stall_seconds=3600)
    server = await start_server(service.table, limits)
    peer = await BarePeer.connect(server.port, receive_buffer=4096)
    requests = 1000  # their answers are 100 MB
    await peer.write(*(Command(BIG, opaque=opaque) for opaque in range(requests)))
    await until(lambda: service.handled > 2 and only(server).stalled_since is not None)
    await turn(300)
    assert service.handled < 200, "answers stopped when the kernel and our bound were full, not when all were made"
    connection = only(server)
    assert not connection.is_settled
    answers = [await peer.read() for _ in range(requests)]
    assert [answer.opaque for answer in answers if answer] == list(range(requests)), "none lost, none out of order"
    await peer.write(Command(ECHO, opaque=5000))
    assert await peer.read() is not None
    peer.close()


async def test_promised_answers_beyond_the_bound_drop_the_peer(start_server: StartServer) -> None:
    service = Service()
    server = await start_server(service.table, Limits(write_pause_bytes=10_000, write_max_bytes=8_000_000))
    peer = await BarePeer.connect(server.port, receive_buffer=4096)
    await peer.write(*(Command(PARK, opaque=opaque) for opaque in range(200)), Command(ECHO))
    assert await peer.read() is not None
    dropped = asyncio.Event()
    only(server).on_closed.append(lambda _: dropped.set())
    for connection, request in service.parked:
        connection.reply(request.reply(0, body=bytes(100_000)), request)
    await asyncio.wait_for(dropped.wait(), 60)
    assert len(server.connections) == 0
    peer.close()


async def test_waits_that_are_over_close_the_connection(start_server: StartServer) -> None:
    limits = Limits(idle_seconds=120, frame_seconds=60, scan_seconds=3600)
    server = await start_server(Service().table, limits)
    idle, half = await BarePeer.connect(server.port), await BarePeer.connect(server.port)
    for peer in (idle, half):
        await peer.write(Command(ECHO))
        await peer.read()
    await half.write_bytes(b"\0\0\0\x20\0")
    await until(lambda: any(connection.frame_since for connection in server.connections))
    begun = max(connection.frame_since or 0 for connection in server.connections)
    server.connections.scan(begun + 59)
    assert len(server.connections) == 2
    server.connections.scan(begun + 61)
    assert await half.is_dropped()
    assert len(server.connections) == 1
    assert server.connections.refused == {"unfinished frames": 1}
    server.connections.scan(begun + 121)
    assert await idle.is_dropped()
    idle.close()
    half.close()


async def test_a_stalled_peer_is_dropped_in_the_end(start_server: StartServer) -> None:
    service = Service()
    limits = Limits(write_pause_bytes=100_000, write_stall_seconds=30, scan_seconds=3600)
    server = await start_server(service.table, limits)
    peer = await BarePeer.connect(server.port, receive_buffer=4096)
    await peer.write(*(Command(BIG) for _ in range(500)))
    await until(lambda: service.handled > 2 and only(server).stalled_since is not None)
    await turn(300)
    connection = only(server)
    assert connection.stalled_since is not None
    server.connections.scan(connection.stalled_since + 29)
    assert not connection.closed
    server.connections.scan(connection.stalled_since + 31)
    assert server.connections.refused == {"unread answers": 1}
    dropped = asyncio.Event()
    connection.on_closed.append(lambda _: dropped.set())
    await asyncio.wait_for(dropped.wait(), 60)
    peer.close()


async def test_a_caller_may_encode_by_itself(start_server: StartServer, client: RemotingClient) -> None:
    server = await start_server(Service().table)
    connection = await client.connect(f"127.0.0.1:{server.port}")
    answers = []
    for way in (connection.put, lambda frame: connection.put_now([frame[:9], bytearray(frame[9:])])):
        opaque, answer = connection.expect(60)
        way(encode_frame(Command(ECHO, opaque=opaque, body=b"%d" % opaque)))
        answers.append((b"%d" % opaque, answer))
    for body, answer in answers:
        assert (await answer).body == body


async def test_how_long_a_peer_is_silent_while_its_answer_is_due(start_server: StartServer) -> None:
    """A call that waits long by its nature, as a long poll does, says nothing of the peer."""
    service = Service()
    server = await start_server(service.table)
    client = RemotingClient()
    connection = await client.connect(f"127.0.0.1:{server.port}")
    poll = asyncio.ensure_future(connection.request(Command(PARK), 60))
    await service.did_park.wait()
    assert connection.silent_for() == 0
    opaque, answer = connection.expect(60)
    connection.put(encode_frame(Command(PARK, opaque=opaque)))
    await until(lambda: connection.silent_for() > 0.01)
    silence = connection.silent_for()
    assert (await connection.request(Command(ECHO), 60)).code == ResponseCode.SUCCESS
    assert connection.silent_for() < silence, "it was heard of"
    connection.give_up("another is the master now")
    assert client.connected(f"127.0.0.1:{server.port}") is None
    for waiting in (poll, answer):
        with pytest.raises(ConnectionLost):
            await waiting
    assert connection.silent_for() == 0
    await client.close()
