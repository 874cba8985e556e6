"""A broker stays registered, whatever comes of one try."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker

from sprocketmq.broker.cluster import registration as module
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.remoting.config import MetricsExporter


async def test_a_try_that_fails_as_nobody_expected_is_not_the_last(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    nameserver = Nameserver(
        NameserverConfig(
            bind_address="127.0.0.1", listen_port=0, kv_config_path=tmp_path / "kv.json",
            config_store_path=tmp_path / "namesrv.properties", metrics_exporter_type=MetricsExporter.DISABLE,
        )
    )  # fmt: skip
    await nameserver.start()
    broker = await start_broker(namesrvAddr=f"127.0.0.1:{nameserver.port}")
    register, tries = broker.registration._register, 0
    registered = asyncio.Event()

    async def fail_once(name: str, topics: dict[str, TopicConfig]) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ValueError("an answer that nobody expected")
        await register(name, topics)
        registered.set()

    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(broker.registration, "_register", fail_once)
    broker.registration.soon()
    await asyncio.wait_for(registered.wait(), 60)
    assert "registration failed" in caplog.text
    await broker.stop()
    await nameserver.stop()
