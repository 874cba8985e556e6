"""The other doors: handshakes, headers and pages that never end, the HA port, a false master, a controller, a console.

Each server is a process with 512 MiB of address space. An attack is under way when every stranger has said all that he
has to say at least once; beside it somebody in good faith is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.certificates import Certificates
from tests.fault.strangers.attacks import HealthyClient, client_hello, hostile_frames, unfinished_frames
from tests.fault.strangers.besieged import MIB, Besieged, besieged, besieged_broker, besieged_server
from tests.fault.strangers.stranger import FRIEND, PATIENCE, STRANGER, strangers
from tests.peers.process import free_port
from tests.unit.remoting.wire import until

from sprocketmq.codes import RequestCode
from sprocketmq.remoting.proxy_protocol import SIGNATURE

MEMORY = 512 * MIB
ANSWERS = 50

Act = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


def saying(data: bytes) -> Act:
    """Says so much, and then nothing until it is told to go."""

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for at in range(0, len(data), MIB):
            writer.write(data[at : at + MIB])
            await writer.drain()

    return act


@asynccontextmanager
async def besieging(port: int, acts: Sequence[Act], number: int, source: str = STRANGER) -> AsyncIterator[None]:
    """So many strangers do these in turn, as often as they are let; each has done his first when this begins."""
    done = [0] * number

    async def again(who: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
                try:
                    with contextlib.suppress(ConnectionError):
                        await acts[(who + done[who]) % len(acts)](reader, writer)
                    done[who] += 1
                    await reader.read(1)
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.05)

    tasks = [asyncio.ensure_future(again(who)) for who in range(number)]
    try:
        async with asyncio.timeout(PATIENCE):
            while not all(done):  # noqa: ASYNC110 - a stranger has no event
                await asyncio.sleep(0.01)
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def is_at_work(broker: Besieged) -> None:
    client = HealthyClient(broker.port)
    healthy = asyncio.ensure_future(client.run())
    try:
        await client.answered(ANSWERS)
        assert client.refused == 0
    finally:
        healthy.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await healthy


def has_held(server: Besieged) -> None:
    assert server.process.returncode is None
    log = server.log.read_text() if server.log.exists() else ""
    assert "MemoryError" not in log
    assert "Too many open files" not in log
    assert "request failed" not in log


HALF_HELLO = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + bytes(16_000)


async def test_handshakes_that_never_end(tmp_path: Path, certificates: Certificates) -> None:
    acts = [
        saying(HALF_HELLO),
        saying(client_hello()),
        saying(client_hello() + b"\x17\x03\x03\x40\x00" + bytes(16_000)),
    ]
    async with besieged_broker(tmp_path, memory=MEMORY, files=None, **certificates.server_keys()) as broker:
        async with besieging(broker.port, acts, 300):
            await is_at_work(broker)
        has_held(broker)


async def test_headers_of_proxies_that_never_end(tmp_path: Path) -> None:
    long = SIGNATURE + b"\x21\x11" + struct.pack(">H", 4080) + bytes(4000)
    acts = [saying(b"PROXY TCP4 "), saying(long), saying(b"")]
    async with besieged_broker(tmp_path, memory=MEMORY, files=192, proxyProtocolFrom=STRANGER) as broker:
        async with besieging(broker.port, acts, 300):
            await is_at_work(broker)
        has_held(broker)


async def test_the_pages_of_figures(tmp_path: Path) -> None:
    port = free_port()
    page = b"GET /metrics HTTP/1.1\r\n\r\n"
    acts = [
        saying(b"GET /metrics HTTP/1.1\r\nHost: "),
        saying(b"GET /" + bytes(7000)),
        saying(bytes(MIB)),
        saying(page),
    ]
    exporter = {"metricsExporterType": "PROM", "metricsPromExporterPort": str(port)}
    async with besieged_broker(tmp_path, memory=MEMORY, files=256, **exporter) as broker:
        async with besieging(port, acts, 200):
            await is_at_work(broker)
        has_held(broker)
        assert await _status(port, "/health") == 200


async def _status(port: int, path: str) -> int:
    """Of a page; one who finds no place comes again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(FRIEND, 0))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            line = b""
            with contextlib.suppress(ConnectionError):
                line = await reader.readline()
            writer.close()
            if line:
                return int(line.split()[1])
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("source", [STRANGER, "127.0.0.3"], ids=["strangers", "brokers"])
async def test_the_ha_port(tmp_path: Path, source: str) -> None:
    """Garbage, reports of what never was, silence; by anybody, and by those who may speak as brokers."""
    port = free_port()
    acts = [
        saying(bytes(MIB)),
        saying(b"\xff" * MIB),
        saying(struct.pack(">q", 1 << 60)),
        saying(b""),
        saying(bytes(8)),
    ]
    async with besieged_broker(tmp_path, memory=MEMORY, haListenPort=str(port), brokerAllowFrom="127.0.0.3") as broker:
        async with besieging(port, acts, 100, source):
            await is_at_work(broker)
        has_held(broker)


class FalseMaster:
    """Gives every slave that comes the next of its frames; `gave` counts them."""

    def __init__(self, frames: Sequence[bytes]) -> None:
        self._frames = frames
        self.gave = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(8)
            data = self._frames[self.gave % len(self._frames)]
            for at in range(0, len(data), MIB):
                writer.write(data[at : at + MIB])
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        self.gave += 1
        writer.close()


async def test_a_slave_of_a_false_master(tmp_path: Path) -> None:
    """Frames of two gigabytes, frames that never end, records of two gigabytes in frames that are right."""
    head = struct.Struct(">qi").pack
    record = struct.pack(">ii", (1 << 31) - 1, -626843481) + bytes(4 * MIB - 8)
    frames = [
        head(0, (1 << 31) - 1) + bytes(8 * MIB), head(0, -1), head(0, 4 * MIB) + bytes(4 * MIB - 1),
        b"".join(head(at, 4 * MIB) + record for at in range(0, 64 * MIB, 4 * MIB)), head(1 << 62, 4 * MIB) + record,
    ]  # fmt: skip
    master = FalseMaster(frames)
    server = await asyncio.start_server(master, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    slave = {"brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": address}
    try:
        async with (
            besieged_broker(tmp_path, memory=MEMORY, files=None, **slave) as broker,
            strangers(broker.port, FRIEND) as (ask,),
        ):
            async with asyncio.timeout(PATIENCE):
                await until(lambda: master.gave >= len(frames))
            for _ in range(ANSWERS):
                assert (await ask(RequestCode.GET_BROKER_RUNTIME_INFO)).code == 0
            has_held(broker)
    finally:
        server.close()


QUESTIONS = {
    "nameserver": RequestCode.GET_BROKER_CLUSTER_INFO,
    "controller": RequestCode.CONTROLLER_GET_METADATA_INFO,
}


@pytest.mark.parametrize("attack", [hostile_frames, unfinished_frames], ids=["hostile frames", "unfinished frames"])
@pytest.mark.parametrize("role", QUESTIONS)
async def test_the_other_servers(tmp_path: Path, role: str, attack: Callable[[int], Awaitable[None]]) -> None:
    async with besieged_server(role, tmp_path, memory=MEMORY) as server:
        attacking = asyncio.ensure_future(attack(server.port))
        try:
            async with strangers(server.port, FRIEND) as (peer,):
                for _ in range(20 * ANSWERS):
                    assert (await peer(QUESTIONS[role])).code == 0
            assert not attacking.done()
        finally:
            attacking.cancel()
            await asyncio.gather(attacking, return_exceptions=True)
        has_held(server)


async def test_the_console(tmp_path: Path) -> None:
    """Heads and forms that never end; the cluster that it shows is not there."""
    head = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    chunk = b"80000\r\n" + b"a" * 0x80000 + b"\r\n"
    acts = [
        saying(b"GET / HTTP/1.1\r\nHost: "), saying(head + b"Content-Length: 15000000\r\n\r\n" + b"a" * 14_000_000),
        saying(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 60), saying(b""),
    ]  # fmt: skip
    options = ["--host", "127.0.0.1", "--port", "0", "--nameserver", f"127.0.0.1:{free_port()}"]
    async with besieged("dashboard", tmp_path, lambda _log: options, memory=MEMORY) as console:
        async with besieging(console.port, acts, 40):
            for _ in range(10):
                assert await _status(console.port, "/sign-in") == 200
        has_held(console)
