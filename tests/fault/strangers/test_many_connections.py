"""Many idle connections, and a client that floods and never reads: the server holds the first and bounds the second."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import RemotingClient

CONNECTIONS = 10_000
#: A server with nothing to do takes about 40 MiB; an idle connection must cost no more than a few KiB.
IDLE_KIB_EACH = 12


class Server:
    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port
        self.address = f"127.0.0.1:{port}"

    def resident_kib(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest_asyncio.fixture
async def server(tmp_path: Path, many_files: None) -> AsyncIterator[Server]:
    options = ["--host", "127.0.0.1", "--port", "0", "--data", str(tmp_path), "--set", f"logFile={tmp_path}/log"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sprocketmq", "nameserver", *options, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    yield Server(process, int(line.rpartition(":")[2]))
    process.terminate()
    assert await process.wait() == 0


@pytest.fixture
def many_files() -> Iterator[None]:
    wanted = CONNECTIONS + 500
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        pytest.skip(f"needs {wanted} open files in one process, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def connect(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def test_ten_thousand_idle_connections(server: Server) -> None:
    client = RemotingClient()
    ask = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert (await client.call(server.address, ask, 60)).code == 0
    before = server.resident_kib()
    idle: list[socket.socket] = []
    try:
        while len(idle) < CONNECTIONS:
            idle += await asyncio.gather(*(connect(server.port) for _ in range(500)))
        assert (await client.call(server.address, ask, 60)).code == 0
        grown = server.resident_kib() - before
        assert grown < CONNECTIONS * IDLE_KIB_EACH, f"{grown / CONNECTIONS:.1f} KiB for each connection"
        for sock in idle[:: CONNECTIONS // 100]:  # all of them are alive, not only accepted
            await asyncio.get_running_loop().sock_sendall(sock, encode_frame(ask))
            assert await asyncio.get_running_loop().sock_recv(sock, 100)
    finally:
        for sock in idle:
            sock.close()
        await client.close()


async def test_a_flood_that_is_never_read_stays_bounded(server: Server) -> None:
    client = RemotingClient()
    ask = Command(RequestCode.GET_NAMESRV_CONFIG)
    answer = await client.call(server.address, ask, 60)
    requests = encode_frame(ask) * 1000
    answers_mib = len(encode_frame(answer)) * 1000 / 2**20
    before, sent = server.resident_kib(), 0
    flooder = await connect(server.port)
    with contextlib.suppress(TimeoutError):
        while sent < 400:  # their answers would take a gigabyte or so
            async with asyncio.timeout(3):  # the wire is full: the server reads no more
                await asyncio.get_running_loop().sock_sendall(flooder, requests)
            sent += 1
    assert sent * answers_mib < 200, "the server stopped reading long before the flood was over"
    assert server.resident_kib() - before < 48 * 1024
    assert (await client.call(server.address, ask, 60)).code == 0
    flooder.close()
    await client.close()
