"""The console beside `sprocket up`: started when it can be, and one line when it cannot; servers go on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.peers.process import free_port

from sprocketmq.cli.serve import dashboard_process
from sprocketmq.cli.serve.dashboard_process import DashboardProcess, tls_options
from sprocketmq.errors import MissingExtra
from sprocketmq.testing import EmbeddedCluster


@dataclass
class FakePlan:
    entries: dict[str, str] = field(
        default_factory=lambda: {"namesrvAddr": "127.0.0.1:1", "storePathRootDir": "/data/a"}
    )


def plans() -> Sequence[FakePlan]:
    return [FakePlan()]


async def test_it_is_served_until_the_servers_stop(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedCluster() as cluster:
        port = free_port()
        plan = FakePlan({"namesrvAddr": cluster.nameserver, "storePathRootDir": "/data/a"})
        process = DashboardProcess(port, False, lambda: [plan])
        await process.start()
        said = ""
        async with asyncio.timeout(60):
            while "ready on" not in said:
                await asyncio.sleep(0.05)
                said += capsys.readouterr().out
        assert f"dashboard ready on http://127.0.0.1:{port}" in said
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        page = await reader.read()
        writer.close()
        assert page.startswith(b"HTTP/1.1 200 OK")
        assert b"broker-a" in page
        await process.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_port_that_is_taken_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = DashboardProcess(taken.getsockname()[1], False, plans)
        await process.start()
        await process.stop()
    said = capsys.readouterr().err
    assert said.startswith("no console: another program listens on port")
    assert said.count("\n") == 1


async def test_missing_packages_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingExtra("the console needs starlette: pip install 'sprocketmq[dashboard]'")

    monkeypatch.setattr(dashboard_process, "need_packages", missing)
    process = DashboardProcess(free_port(), False, plans)
    await process.start()
    await process.stop()
    assert capsys.readouterr().err == "no console: the console needs starlette: pip install 'sprocketmq[dashboard]'\n"


async def test_a_process_that_cannot_be_made_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_arguments: object, **_options: object) -> None:
        raise BlockingIOError(11, "no process is left")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused)
    process = DashboardProcess(free_port(), False, plans)
    await process.start()
    said = ""
    async with asyncio.timeout(60):
        while not said:
            await asyncio.sleep(0.01)
            said = capsys.readouterr().err
    await process.stop()
    assert said == "no console: [Errno 11] no process is left\n"


async def test_none_is_wanted() -> None:
    process = DashboardProcess(0, False, lambda: pytest.fail("not asked"))
    await process.start()
    await process.stop()


def test_it_knows_the_stores_of_all_brokers() -> None:
    argv = DashboardProcess(8080, True, plans).argv()
    assert argv[1:4] == ("-m", "sprocketmq", "dashboard")
    assert "--dashboard-write" in argv
    assert argv[-2:] == ("--store", "/data/a")


def test_the_console_calls_as_the_brokers_do() -> None:
    assert tls_options({}) == []
    assert tls_options({"tls.server.certPath": "x"}) == []
    own = {"tls.client.certPath": "c", "tls.client.keyPath": "k", "tls.client.keyPassword": "a-secret"}
    trusting = {"tls.enable": "true", "tls.server.trustCertPath": "ca", "tls.client.checkHostName": "false", **own}
    assert tls_options(trusting) == [
        "--tls", "--tls-ca", "ca", "--tls-cert", "c", "--tls-key", "k", "--tls-no-check-hostname",
    ]  # fmt: skip
    assert tls_options({"tls.enable": "true", "tls.client.authServer": "false"}) == ["--tls", "--tls-no-verify"]
