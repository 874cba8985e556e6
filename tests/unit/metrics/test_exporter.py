from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

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


async def test_disabled_it_does_not_listen(start: Callable[..., Any]) -> None:
    exporter = await start([], metricsExporterType="DISABLE")
    assert exporter.port == 0
