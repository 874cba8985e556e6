"""What a turn of the loop reads of large frames and does of long requests, counted."""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Any

import pytest

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps, turns
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.turns import READ_BYTES, TURN_BYTES

PEERS = 40
HEADER = b'{"code":310,"flag":0,"opaque":1}'
#: The beginning of a frame that never ends within this test.
BEGIN = struct.pack(">II", 4 + len(HEADER) + 15 * 1024 * 1024, len(HEADER)) + HEADER


class FullSocket(asyncio.Transport):
    """There is always more to read."""

    def __init__(self, number: int) -> None:
        super().__init__({"sockname": ("10.0.0.1", 10911), "peername": (f"10.0.1.{number}", 4000)})
        self.is_reading_now = True
        self.is_gone = False
        self.reads = 0
        self.written: list[bytes] = []

    def pause_reading(self) -> None:
        self.is_reading_now = False

    def resume_reading(self) -> None:
        self.is_reading_now = True

    def is_closing(self) -> bool:
        return self.is_gone

    def close(self) -> None:
        self.is_gone = True

    abort = close

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


class Turns:
    """Peers in the middle of a large frame, all of them readable at once, as a loop goes over them."""

    def __init__(self, number: int) -> None:
        self.registry = ConnectionRegistry(Limits(max_unfinished_bytes=1 << 40))
        self.sockets = [FullSocket(each) for each in range(number)]
        self.connections = [Connection(ProcessorTable(), self.registry) for _ in self.sockets]
        for connection, socket in zip(self.connections, self.sockets, strict=True):
            connection.connection_made(socket)
            connection.data_received(BEGIN)

    async def turn(self) -> int:
        """How much it has read."""
        await asyncio.sleep(0)
        read = 0
        for connection, socket in zip(self.connections, self.sockets, strict=True):
            if socket.is_reading_now and not socket.is_gone:
                connection.data_received(bytes(READ_BYTES))
                socket.reads += 1
                read += READ_BYTES
        return read


async def test_a_turn_reads_little_of_large_frames() -> None:
    peers = Turns(PEERS)
    for _ in range(2):  # who comes first finds nobody before it, and reads once more
        await peers.turn()
    for _ in range(50):
        assert await peers.turn() <= TURN_BYTES


async def test_everyone_gets_a_turn() -> None:
    peers = Turns(PEERS)
    for _ in range(2 * PEERS * READ_BYTES // TURN_BYTES + 2):
        await peers.turn()
    reads = [socket.reads for socket in peers.sockets]
    assert min(reads) >= 2
    assert max(reads) - min(reads) <= 2


async def test_one_peer_alone_is_read_on() -> None:
    peers = Turns(1)
    for _ in range(20):
        await peers.turn()
    assert peers.sockets[0].reads == 20


async def test_small_requests_are_read_meanwhile() -> None:
    peers = Turns(PEERS)
    await peers.turn()
    small = Connection(ProcessorTable(), peers.registry)
    small.connection_made(socket := FullSocket(200))
    small.data_received(encode_frame(Command(RequestCode.GET_MAX_OFFSET, opaque=9)))
    assert len(socket.written) == 1
    assert socket.is_reading_now


async def test_a_turn_does_not_wake_who_rests_for_another_reason() -> None:
    peers = Turns(PEERS)
    await peers.turn()
    stalled, draining, gone = peers.connections[-1], peers.connections[-2], peers.sockets[-3]
    stalled.pause_writing()
    draining.drain()
    gone.close()
    for _ in range(PEERS):
        await peers.turn()
    assert not any(socket.is_reading_now for socket in peers.sockets[-3:])
    stalled.resume_writing()
    assert peers.sockets[-1].is_reading_now


LONG, SHORT, TEDIOUS = 1, 2, 3
FOR_EVER = 3600.0


class Loop:
    """Peers of one server, with a request of ten steps, one that is answered at once, and one that takes a while.

    `done` tells in which order it was worked on them. A read has a `share` of time, without end where none is told.
    """

    def __init__(self, share: float = FOR_EVER) -> None:
        self.done: list[str] = []
        self.table = ProcessorTable()
        self.table.add_long(LONG, self._long)
        self.table.add(SHORT, self._short)
        self.table.add(TEDIOUS, self._tedious)
        self.registry = ConnectionRegistry(Limits(read_share_seconds=share))
        self._sockets: list[FullSocket] = []

    def connect(self) -> tuple[Connection, FullSocket]:
        connection = Connection(self.table, self.registry)
        self._sockets.append(FullSocket(len(self._sockets)))
        connection.connection_made(self._sockets[-1])
        return connection, self._sockets[-1]

    def _long(self, connection: Connection, request: Command) -> Steps:
        try:
            for step in range(10):
                if request.ext_fields == {"fails": str(step)}:
                    raise ValueError("in the middle")
                self.done.append(f"{connection.peer.host} step {step}")
                yield
            return request.reply(remark="\ud800" if request.ext_fields == {"answer": "bad"} else "long")
        finally:
            self.done.append(f"{connection.peer.host} end")

    def _short(self, connection: Connection, request: Command) -> Reply:
        self.done.append(f"{connection.peer.host} short")
        return request.reply(remark="short")

    def _tedious(self, connection: Connection, request: Command) -> Reply:
        until = time.perf_counter() + 0.002
        while time.perf_counter() < until:
            pass
        return self._short(connection, request)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    """A share is one step."""
    monkeypatch.setattr(turns, "SHARE_NS", 0)
    return Loop()


def frames(*codes: int, flag: int = 0) -> bytes:
    return b"".join(encode_frame(Command(code, opaque=number, flag=flag)) for number, code in enumerate(codes))


def answers(socket: FullSocket) -> list[tuple[int, str | None]]:
    return [(answer.opaque, answer.remark) for answer in FrameDecoder().feed(b"".join(socket.written))]


async def settled(*connections: Connection) -> int:
    """Let the loop turn until nothing is owed to these; how often it did. What is written late leaves a turn later."""
    count = 0
    while not all(connection.is_settled for connection in connections):
        await asyncio.sleep(0)
        count += 1
    await asyncio.sleep(0)
    return count


async def test_a_short_request_does_not_wait_for_a_long_one(loop: Loop) -> None:
    (greedy, greedy_socket), (modest, modest_socket) = loop.connect(), loop.connect()
    greedy.data_received(frames(LONG))
    modest.data_received(frames(SHORT))
    assert answers(modest_socket) == [(0, "short")]
    assert answers(greedy_socket) == []
    assert await settled(greedy) >= 9
    assert answers(greedy_socket) == [(0, "long")]


async def test_long_requests_take_turns(loop: Loop) -> None:
    (first, _), (second, _) = loop.connect(), loop.connect()
    first.data_received(frames(LONG))
    second.data_received(frames(LONG))
    await settled(first, second)
    assert [line.split()[0][-1] for line in loop.done] == ["0", "1"] * 11


async def test_one_long_request_at_a_time_and_in_order(loop: Loop) -> None:
    """What a peer asks behind a long request rests on it, an unlock on a lock: it is done after it."""
    greedy, socket = loop.connect()
    greedy.data_received(frames(SHORT, LONG, SHORT, LONG, SHORT))
    assert not socket.is_reading_now
    greedy.data_received(frames(SHORT))  # a loop may deliver one more read
    await settled(greedy)
    assert [remark for _, remark in answers(socket)] == ["short", "long", "short", "long", "short", "short"]
    assert [line.split(maxsplit=1)[1] for line in loop.done].count("short") == 4
    assert socket.is_reading_now


async def test_a_peer_that_leaves_in_the_middle_costs_no_more(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(frames(LONG))
    greedy.connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)
    assert loop.done == ["10.0.1.0 step 0", "10.0.1.0 end"]
    assert socket.written == []


async def test_an_error_in_a_later_step_is_answered(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(encode_frame(Command(LONG, opaque=7, ext_fields={"fails": "5"})))
    await settled(greedy)
    assert answers(socket) == [(7, "internal error: ValueError")]
    greedy.data_received(frames(SHORT))
    assert answers(socket)[1:] == [(0, "short")]


async def test_an_answer_that_cannot_be_encoded_stops_nothing(loop: Loop) -> None:
    greedy, socket = loop.connect()
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    greedy.data_received(encode_frame(Command(LONG, ext_fields={"answer": "bad"})) + frames(SHORT))
    await settled(greedy)
    assert answers(socket) == [(0, "short")]
    assert len(told) == 1


async def test_nobody_hears_of_a_long_request_that_wants_no_answer(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(frames(LONG, flag=2))
    assert not greedy.is_settled
    await settled(greedy)
    assert len(loop.done) == 11
    assert socket.written == []


async def test_what_is_damaged_does_not_end_the_requests_before_it(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(frames(LONG, SHORT) + bytes(8))
    assert not socket.is_gone
    await settled(greedy)
    assert [remark for _, remark in answers(socket)] == ["long", "short"]
    assert socket.is_gone


async def test_a_stop_waits_for_a_long_request(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(frames(LONG, SHORT))
    greedy.drain()
    await settled(greedy)
    assert [remark for _, remark in answers(socket)] == ["long", "short"]
    assert not socket.is_reading_now


async def test_a_peer_that_reads_nothing_does_not_go_on_by_its_turn(loop: Loop) -> None:
    greedy, socket = loop.connect()
    greedy.data_received(frames(LONG, SHORT))
    greedy.pause_writing()
    for _ in range(20):
        await asyncio.sleep(0)
    assert [remark for _, remark in answers(socket)] == ["long"]
    greedy.resume_writing()
    assert [remark for _, remark in answers(socket)] == ["long", "short"]
    assert socket.is_reading_now


async def test_many_requests_of_one_read_take_turns() -> None:
    loop = Loop(0.0005)
    (greedy, greedy_socket), (modest, modest_socket) = loop.connect(), loop.connect()
    greedy.data_received(frames(TEDIOUS, TEDIOUS, TEDIOUS))
    modest.data_received(frames(SHORT))
    assert answers(modest_socket) == [(0, "short")]
    assert answers(greedy_socket) == [(0, "short")]
    assert not greedy_socket.is_reading_now
    assert await settled(greedy) >= 2
    assert [number for number, _ in answers(greedy_socket)] == [0, 1, 2]
    assert greedy_socket.is_reading_now


async def test_a_request_that_takes_long_is_the_last_of_its_turn() -> None:
    greedy, socket = Loop(0.005).connect()
    greedy.data_received(frames(TEDIOUS, SHORT))
    assert answers(socket) == [(0, "short")]
    await settled(greedy)
    assert answers(socket) == [(0, "short"), (1, "short")]


async def test_who_asked_for_what_takes_long_waits_for_a_turn_the_next_time() -> None:
    """Fifty peers that each want much are not all served before the one that wants little."""
    loop = Loop(0.0)
    (greedy, greedy_socket), (modest, modest_socket) = loop.connect(), loop.connect()
    greedy.data_received(frames(SHORT))
    greedy.data_received(frames(SHORT))
    modest.data_received(frames(SHORT))
    assert (len(answers(greedy_socket)), len(answers(modest_socket))) == (1, 1)
    assert not greedy_socket.is_reading_now
    await settled(greedy)
    assert (len(answers(greedy_socket)), greedy_socket.is_reading_now) == (2, True)
