"""Who costs much rests, and nobody else does."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.loop_clock import LoopClock

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import BodyError, CommandError, RequestRefused, TooMany
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps, costs, turns
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.costs import BURST_SECONDS, LARGE_BYTES, MAX_ADDRESSES, MOST_SECONDS, REFUSAL_NS, Costs
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.turns import READ_BYTES

from .test_turns import BEGIN, FullSocket

SERVED, DEAR, LONG, TOO_MANY, REFUSED, MALFORMED, NO_BODY, FULL, HELD_UP = 1, 2, 3, 4, 5, 6, 7, 8, 9
PART = 0.02
#: Whose clock a test moves.
ON_ASYNCIO = pytest.mark.asyncio(loop_factories=["asyncio"])
ALL_AT_ONCE = int(BURST_SECONDS * 1e9)


def test_an_address_may_cost_some_time_at_once() -> None:
    charged = Costs(PART)
    charged.charge("a", ALL_AT_ONCE, 100.0)
    assert charged.rest_of("a", 100.0) == 0
    charged.charge("a", 1_000_000, 100.0)
    assert charged.rest_of("a", 100.0) == pytest.approx(0.001 / PART)
    assert charged.rest_of("b", 100.0) == 0


def test_what_was_earned_may_be_spent_again() -> None:
    charged = Costs(PART)
    charged.charge("a", ALL_AT_ONCE, 100.0)
    charged.charge("a", ALL_AT_ONCE // 2, 100.0 + BURST_SECONDS / PART / 2)
    assert charged.rest_of("a", 100.0 + BURST_SECONDS / PART / 2) == pytest.approx(0)


def test_a_rest_is_bounded_however_much_it_was() -> None:
    charged = Costs(PART)
    charged.charge("a", 3600 * 10**9, 100.0)
    assert charged.rest_of("a", 100.0) == pytest.approx(MOST_SECONDS)


def test_a_hundred_percent_is_no_bound() -> None:
    charged = Costs(1.0)
    charged.charge("a", 3600 * 10**9, 100.0)
    assert charged.rest_of("a", 100.0) == 0


def test_addresses_are_not_remembered_without_end() -> None:
    charged = Costs(PART)
    for number in range(MAX_ADDRESSES + 5):
        charged.charge(str(number), 1, 100.0)
    assert len(charged._earned) == MAX_ADDRESSES


class Server:
    """Requests that are served, cost more than may be spent at once, are long, or are refused for two reasons."""

    def __init__(self) -> None:
        self.table = ProcessorTable()
        self.table.add(SERVED, lambda _connection, request: request.reply(remark="served"))
        self.table.add(DEAR, self._dear)
        self.table.add_long(LONG, self._long)
        self.table.add_long(HELD_UP, self._held_up)
        self.table.add(TOO_MANY, self._too_many)
        self.table.add(REFUSED, self._refused)
        self.table.add(FULL, self._full)
        self.table.add((MALFORMED, NO_BODY), self._malformed)
        self.registry = ConnectionRegistry(Limits(costly_part=PART, read_share_seconds=3600.0))

    def connect(self, address: int = 1) -> tuple[Connection, FullSocket]:
        connection, socket = Connection(self.table, self.registry), FullSocket(address)
        connection.connection_made(socket)
        return connection, socket

    def _dear(self, connection: Connection, request: Command) -> Reply:
        connection.cost_ns += ALL_AT_ONCE + int(PART * 1e9)  # a second to rest
        return request.reply(remark="dear")

    def _long(self, _connection: Connection, request: Command) -> Steps:
        for _ in range(5):
            yield
        return request.reply(remark="long")

    def _held_up(self, _connection: Connection, request: Command) -> Steps:
        time.sleep(0.05)  # as when others have the processor
        yield
        return request.reply(remark="held up")

    def _too_many(self, _connection: Connection, _request: Command) -> Reply:
        raise TooMany(ResponseCode.TOPIC_NOT_EXIST, "one too many")

    def _refused(self, _connection: Connection, _request: Command) -> Reply:
        raise RequestRefused(ResponseCode.NO_PERMISSION, "no")

    def _full(self, _connection: Connection, _request: Command) -> Reply:
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, "the disk is full")

    def _malformed(self, _connection: Connection, request: Command) -> Reply:
        raise CommandError("a field is missing") if request.code == MALFORMED else BodyError("no JSON")


@pytest.fixture
def server() -> Server:
    return Server()


def frame(code: int, body: bytes = b"") -> bytes:
    return encode_frame(Command(code, body=body))


def is_read(socket: FullSocket) -> bool:
    return socket.is_reading_now


async def later(clock: LoopClock, seconds: float) -> None:
    clock.advance(seconds)
    for _ in range(3):
        await asyncio.sleep(0)


@ON_ASYNCIO
async def test_who_costs_much_is_answered_and_rests(server: Server, loop_clock: LoopClock) -> None:
    dear, socket = server.connect()
    dear.data_received(frame(DEAR))
    assert (len(socket.written), socket.is_reading_now) == (1, False)
    dear.data_received(frame(SERVED))  # a loop may deliver one more read
    await later(loop_clock, 0.9)
    assert (len(socket.written), socket.is_reading_now) == (1, False)
    await later(loop_clock, 0.2)
    assert (len(socket.written), socket.is_reading_now) == (2, True)
    assert server.registry.costs.rests == 1


@ON_ASYNCIO
async def test_others_do_not_rest_of_the_same_address_neither(server: Server, loop_clock: LoopClock) -> None:
    (dear, _), (good, good_socket), (far, far_socket) = server.connect(), server.connect(), server.connect(2)
    dear.data_received(frame(DEAR))
    for connection in (good, far):
        for _ in range(100):
            connection.data_received(frame(SERVED))
    assert (len(good_socket.written), good_socket.is_reading_now) == (100, True)
    assert (len(far_socket.written), far_socket.is_reading_now) == (100, True)
    assert server.registry.costs.rests == 1


@ON_ASYNCIO
async def test_many_connections_rest_together(server: Server, loop_clock: LoopClock) -> None:
    """They earn what one of them would, and not each as much."""
    peers = [server.connect() for _ in range(5)]
    for connection, _ in peers:
        connection.data_received(frame(DEAR))
        connection.data_received(frame(DEAR))  # a loop may deliver one more read
    assert [len(socket.written) for _, socket in peers] == [1] * 5
    await later(loop_clock, MOST_SECONDS + 0.1)
    assert sorted(len(socket.written) for _, socket in peers) == [1, 1, 1, 1, 2]


@ON_ASYNCIO
async def test_a_long_request_costs_what_it_took(
    server: Server,
    loop_clock: LoopClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "SHARE_NS", 0)
    monkeypatch.setattr(costs, "BURST_SECONDS", 0.0)
    long, socket = server.connect()
    long.data_received(frame(LONG) + frame(SERVED))
    for _ in range(10):
        await asyncio.sleep(0)
    assert (len(socket.written), socket.is_reading_now) == (1, False)
    await later(loop_clock, MOST_SECONDS)
    assert (len(socket.written), socket.is_reading_now) == (2, True)


@ON_ASYNCIO
async def test_a_long_request_costs_nothing_of_what_others_took(
    server: Server, loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SHARE_NS", 0)
    held_up, socket = server.connect()
    held_up.data_received(frame(HELD_UP))
    await later(loop_clock, 0)
    assert len(socket.written) == 1
    (earned,) = server.registry.costs._earned.values()
    assert earned - asyncio.get_running_loop().time() < 0.05 / PART / 2


async def test_one_that_fits_into_a_share_costs_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SHARE_NS", 10**12)
    monkeypatch.setattr(costs, "BURST_SECONDS", 0.0)
    long, socket = server.connect()
    long.data_received(frame(LONG) + frame(LONG) + frame(SERVED))
    assert is_read(socket)
    assert server.registry.costs._earned == {}


@ON_ASYNCIO
@pytest.mark.usefixtures("loop_clock")
@pytest.mark.parametrize("code", [TOO_MANY, MALFORMED, NO_BODY])
async def test_what_passes_a_limit_or_is_no_request_has_a_price(server: Server, code: int) -> None:
    greedy, socket = server.connect()
    for _ in range(ALL_AT_ONCE // REFUSAL_NS - 1):
        greedy.data_received(frame(code))
    assert is_read(socket)
    for _ in range(2):
        greedy.data_received(frame(code))
    assert not is_read(socket)


async def test_and_what_is_no_frame(server: Server) -> None:
    for _ in range(3):
        damaged, _ = server.connect()
        damaged.data_received(bytes(100))
        damaged.connection_lost(None)
    assert server.registry.costs._earned.keys() == {"10.0.1.1"}


@ON_ASYNCIO
@pytest.mark.usefixtures("loop_clock")  # it stands still, or a slow machine would earn what it spends
async def test_a_refusal_costs_the_bytes_of_a_large_body_alone(server: Server) -> None:
    """Whoever may no longer write to a broker is told so, as often as he tries."""
    refused, socket = server.connect()
    for _ in range(2 * ALL_AT_ONCE // REFUSAL_NS):
        refused.data_received(frame(REFUSED, b"x" * 100))
    assert is_read(socket)
    assert server.registry.costs._earned == {}
    large = frame(REFUSED, bytes(8 << 20))
    for _ in range(ALL_AT_ONCE // (8 << 20) + 2):
        refused.data_received(large)
    assert not is_read(socket)


async def test_what_a_server_takes_from_nobody_costs_nothing(server: Server) -> None:
    """A producer of large messages tries again until there is room, and is read as soon as there is."""
    producer, socket = server.connect()
    large = frame(FULL, bytes(8 << 20))
    for _ in range(ALL_AT_ONCE // (8 << 20) + 2):
        producer.data_received(large)
    assert is_read(socket)
    assert server.registry.costs._earned == {}


@ON_ASYNCIO
async def test_frames_that_never_end_are_charged_when_they_go(server: Server, loop_clock: LoopClock) -> None:
    in_vain = ALL_AT_ONCE // (8 << 20) + 2
    for _ in range(in_vain):
        vain, _ = server.connect()
        vain.data_received(BEGIN + bytes(8 << 20))
        vain.connection_lost(None)
    next_one, socket = server.connect()
    next_one.data_received(frame(SERVED))
    assert is_read(socket)  # small requests are read as ever
    next_one.data_received(BEGIN + bytes(LARGE_BYTES))
    assert not is_read(socket)
    for _ in range(2 * in_vain):  # whoever waits for a turn has had it
        await asyncio.sleep(0)
    other, other_socket = server.connect(2)
    other.data_received(BEGIN + bytes(READ_BYTES - len(BEGIN)))
    assert other_socket.is_reading_now
    await later(loop_clock, MOST_SECONDS)
    assert is_read(socket)


@ON_ASYNCIO
async def test_a_server_that_stops_waits_for_nobodys_rest(server: Server, loop_clock: LoopClock) -> None:
    dear, socket = server.connect()
    dear.data_received(frame(DEAR))
    dear.data_received(frame(DEAR) + frame(SERVED))
    dear.drain()
    assert dear.is_settled
    assert len(socket.written) == 2  # the first, and both that waited


@ON_ASYNCIO
async def test_a_peer_that_leaves_while_it_rests_is_done(server: Server, loop_clock: LoopClock) -> None:
    dear, socket = server.connect()
    dear.data_received(frame(DEAR))
    dear.data_received(frame(SERVED))
    dear.connection_lost(None)
    await later(loop_clock, 2)
    assert len(socket.written) == 1
