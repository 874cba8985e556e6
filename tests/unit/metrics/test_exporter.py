from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
import pytest_asyncio
from tests.loop_clock import LoopClock
from tests.unit.remoting.wire import until

from sprocketmq.config import from_properties
from sprocketmq.metrics.exporter import Exporter
from sprocketmq.remoting.config import ServerConfig


def configured(**entries: str) -> ServerConfig:
    return from_properties(ServerConfig, {"metricsPromExporterPort": "0", **entries})


@pytest_asyncio.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    started: list[Exporter] = []

    async def start(unready: list[str], **entries: str) -> Exporter:
        exporter = Exporter(configured(**entries), lambda: "figures\n", lambda: unready)
        await exporter.start()
        started.append(exporter)
        return exporter

    yield start
    for exporter in started:
        await exporter.stop()


async def ask(exporter: Exporter, path: str, method: str = "GET") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", exporter.port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = (await asyncio.wait_for(reader.read(), 60)).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def test_three_pages(start: Callable[..., Any]) -> None:
    exporter = await start([])
    assert await ask(exporter, "/metrics") == (200, "figures\n")
    assert await ask(exporter, "/health") == (200, '{"status": "up"}\n')
    assert await ask(exporter, "/ready?verbose=1") == (200, '{"ready": true, "why": []}\n')
    status, text = await ask(exporter, "/")
    assert (status, "/metrics, /health and /ready" in text) == (404, True)


async def test_a_server_that_cannot_work_lives_but_is_not_ready(start: Callable[..., Any]) -> None:
    unready: list[str] = ["the store takes no messages"]
    exporter = await start(unready)
    status, text = await ask(exporter, "/ready")
    assert (status, json.loads(text)) == (503, {"ready": False, "why": unready})
    assert (await ask(exporter, "/health"))[0] == 200
    unready.clear()
    assert (await ask(exporter, "/ready"))[0] == 200


async def test_head_is_answered_without_a_body(start: Callable[..., Any]) -> None:
    exporter = await start([])
    assert await ask(exporter, "/health", "HEAD") == (200, "")
    assert (await ask(exporter, "/health", "POST"))[0] == 405


async def test_a_port_that_is_taken_costs_the_pages_alone(
    start: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    first = await start([])
    second = await start([], metricsPromExporterPort=str(first.port))
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == ["no metrics page"]
    await second.stop()
    assert (await ask(first, "/health"))[0] == 200


@pytest.mark.parametrize(
    "begun", [b"", b"GET /metrics HTTP/1.1\r\nHost: ", b"GET /metrics HTTP/1.1\r\n" + bytes(20_000)]
)
async def test_a_request_that_never_ends_is_ended(
    start: Callable[..., Any], loop_clock: LoopClock, begun: bytes
) -> None:
    exporter = await start([])
    reader, writer = await asyncio.open_connection("127.0.0.1", exporter.port)
    writer.write(begun)
    await until(lambda: len(exporter._serving) == 1 or len(begun) > 8192)
    loop_clock.advance(6)
    assert await _rest_of(reader) == b""
    assert exporter._serving == set()
    writer.close()


async def test_a_page_that_nobody_reads_goes_with_its_connection(loop_clock: LoopClock) -> None:
    size = 64 << 20
    exporter = Exporter(configured(), lambda: "x" * size, list)
    await exporter.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", exporter.port)
    transport = cast(asyncio.Transport, writer.transport)
    transport.pause_reading()
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    await until(lambda: any(task for task in exporter._serving))
    for _ in range(10):  # the page is made, and as much of it is gone as goes
        await asyncio.sleep(0)
    loop_clock.advance(6)
    await until(lambda: exporter._serving == set())
    transport.resume_reading()
    assert len(await _rest_of(reader)) < size
    writer.close()
    await exporter.stop()


async def test_nobody_waits_for_a_connection_that_could_not_be_taken(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exporter = await start([])
    monkeypatch.setattr(exporter, "_max_connections", None)  # cannot be compared with
    reader, writer = await asyncio.open_connection("127.0.0.1", exporter.port)
    assert await asyncio.wait_for(_rest_of(reader), 60) == b""
    writer.close()
    assert "no metrics for one who asked" in caplog.text


async def _rest_of(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    try:
        while piece := await reader.read(1 << 20):
            data += piece
    except ConnectionError:
        pass
    return bytes(data)


async def test_disabled_it_does_not_listen(start: Callable[..., Any]) -> None:
    exporter = await start([], metricsExporterType="DISABLE")
    assert exporter.port == 0
