"""What TLS costs a server is charged to whoever had nothing to ask, and nobody waits for all of it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable

import pytest
from tests.certificates import Certificates
from tests.loop_clock import LoopClock

from sprocketmq.config import from_properties
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Connection, ProcessorTable, costs
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.costs import MOST_SECONDS
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.tls import TlsConfig, TlsService
from sprocketmq.remoting.tls import layer as tls_layer
from sprocketmq.remoting.tls.first_byte import Opening

from ..test_turns import FullSocket

ON_ASYNCIO = pytest.mark.asyncio(loop_factories=["asyncio"])
REQUEST = encode_frame(Command(1, body=b"asked"))
FIRST, OTHER = 1, 2
ADDRESS = f"10.0.1.{FIRST}"


class Socket(FullSocket):
    """What the loop would do with it: bytes go to whoever has the transport now."""

    def __init__(self, number: int, opening: asyncio.Protocol) -> None:
        super().__init__(number)
        self.protocol: asyncio.BaseProtocol = opening

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol


class Client:
    """Python's own TLS at the other end, as far as it is let."""

    def __init__(self, context: ssl.SSLContext, socket: Socket) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self.socket = socket

    def shake_hands(self) -> None:
        """One step of it."""
        self._hear()
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self._say(self._outgoing.read())

    def ask(self, request: bytes = REQUEST) -> None:
        self.tls.write(request)
        self._say(self._outgoing.read())

    def is_answered(self) -> bool:
        self._hear()
        answer = b""
        with contextlib.suppress(ssl.SSLError):
            while True:
                answer += self.tls.read(1 << 16)
        return answer.endswith(b"asked")

    def leave(self) -> None:
        self.socket.close()
        protocol = self.socket.protocol
        assert isinstance(protocol, asyncio.Protocol)
        protocol.connection_lost(None)

    def _hear(self) -> None:
        self._incoming.write(b"".join(self.socket.written))
        self.socket.written.clear()

    def _say(self, data: bytes) -> None:
        protocol = self.socket.protocol
        assert isinstance(protocol, asyncio.Protocol)
        if data:
            protocol.data_received(data)


class Server:
    def __init__(self, certificates: Certificates) -> None:
        self.table = ProcessorTable()
        self.table.add(1, lambda _connection, request: request.reply(body=request.body))
        self.registry = ConnectionRegistry(Limits(read_share_seconds=3600.0))
        tls = TlsService.of(from_properties(TlsConfig, certificates.server_keys())).server
        assert tls is not None
        self._tls = tls
        self._caller = certificates.caller()

    def connect(self, address: int = FIRST) -> Client:
        opening = Opening(Connection(self.table, self.registry), self._tls)
        socket = Socket(address, opening)
        opening.connection_made(socket)
        return Client(self._caller, socket)

    def connections(self) -> list[Connection]:
        return list(self.registry)

    async def open(self, address: int = FIRST) -> Client:
        client = self.connect(address)
        for _ in range(3):
            client.shake_hands()
            await turns()
        return client

    def owes(self, address: str = ADDRESS) -> bool:
        return address in self.registry.costs._earned


@pytest.fixture
def server(certificates: Certificates) -> Server:
    return Server(certificates)


async def turns(number: int = 3) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@ON_ASYNCIO
async def test_whoever_asks_something_pays_nothing(server: Server, loop_clock: LoopClock) -> None:
    client = await server.open()
    client.ask()
    assert client.is_answered()
    client.leave()
    assert not server.owes()


def hello(client: Client) -> None:
    client.shake_hands()


def hello_and_nonsense(client: Client) -> None:
    client.shake_hands()
    client._say(b"\x16\x03\x03\x00\x05hello")


@ON_ASYNCIO
@pytest.mark.parametrize("act", [hello, hello_and_nonsense])
async def test_half_a_handshake_is_charged(
    server: Server, loop_clock: LoopClock, act: Callable[[Client], None]
) -> None:
    client = server.connect()
    act(client)
    await turns()
    client.leave()
    assert server.owes()


@ON_ASYNCIO
async def test_and_a_whole_one_without_a_request(server: Server, loop_clock: LoopClock) -> None:
    (await server.open()).leave()
    assert server.owes()


@ON_ASYNCIO
async def test_an_address_that_owes_waits_with_its_handshakes(server: Server, loop_clock: LoopClock) -> None:
    there = await server.open()
    server.registry.costs.charge(ADDRESS, 3600 * 10**9, loop_clock.now)
    late, other = server.connect(), server.connect(OTHER)
    late.shake_hands()
    other.shake_hands()
    await turns()
    assert (late.socket.written, late.socket.is_reading_now) == ([], False)
    assert other.socket.written
    there.ask()
    assert there.is_answered()
    assert server.registry.costs.rests == 1
    loop_clock.advance(MOST_SECONDS + 0.1)
    await turns()
    assert late.socket.written
    assert late.socket.is_reading_now


@ON_ASYNCIO
async def test_whoever_leaves_meanwhile_is_forgotten(
    server: Server, loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.registry.costs.charge(ADDRESS, 3600 * 10**9, loop_clock.now)
    client = server.connect()
    client.shake_hands()
    await turns()
    client.leave()
    monkeypatch.setattr(server.registry.costs, "rest_of", None)  # nobody asks for it again
    loop_clock.advance(MOST_SECONDS + 0.1)
    await turns()
    assert client.socket.written == []


@ON_ASYNCIO
async def test_many_handshakes_take_turns(server: Server, loop_clock: LoopClock) -> None:
    clients = [server.connect(number) for number in range(5)]
    for client in clients:
        client.shake_hands()
    answered = []
    for _ in range(5):
        await turns(1)
        answered.append(sum(bool(client.socket.written) for client in clients))
    assert answered == [1, 2, 3, 4, 5]


@ON_ASYNCIO
async def test_records_that_bring_no_frame_cost_their_sender(
    server: Server, loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New keys as often as one likes, in real life. Here a record that is not whole yet, on a very slow machine."""
    monkeypatch.setattr(costs, "BURST_SECONDS", 0.0)
    monkeypatch.setattr(tls_layer, "SHARE_NS", 0)
    client = await server.open()
    client.ask(encode_frame(Command(1, body=bytes(20_000) + b"asked")))
    assert server.owes()
    assert not client.socket.is_reading_now
    assert not client.is_answered()
    for _ in range(10):  # the rest comes in small pieces
        loop_clock.advance(MOST_SECONDS + 0.1)
        await turns()
    assert client.is_answered(), "nothing was lost"
    assert client.socket.is_reading_now


@ON_ASYNCIO
async def test_and_frames_do_not(server: Server, loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_layer, "SHARE_NS", 0)
    client = await server.open()
    client.ask()
    assert client.is_answered()
    assert not server.owes()
