"""A broker stays registered, whatever comes of one try."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.replication.support import until
from tests.unit.broker.support import Caller

from sprocketmq.broker.cluster import registration as module
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.remoting.config import MetricsExporter


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)


@pytest_asyncio.fixture
async def nameserver(tmp_path: Path) -> AsyncIterator[Nameserver]:
    config = NameserverConfig(
        bind_address="127.0.0.1", listen_port=0, kv_config_path=tmp_path / "kv.json",
        config_store_path=tmp_path / "namesrv.properties", metrics_exporter_type=MetricsExporter.DISABLE,
    )  # fmt: skip
    server = Nameserver(config)
    await server.start()
    yield server
    await server.stop()


async def test_a_try_that_fails_as_nobody_expected_is_not_the_last(
    start_broker: StartBroker, nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start_broker(namesrvAddr=nameserver.address)
    register, tries = broker.registration._register, 0
    registered = asyncio.Event()

    async def fail_once(name: str, topics: dict[str, TopicConfig]) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ValueError("an answer that nobody expected")
        await register(name, topics)
        registered.set()

    monkeypatch.setattr(broker.registration, "_register", fail_once)
    broker.registration.soon()
    await asyncio.wait_for(registered.wait(), 60)
    assert "registration failed" in caplog.text
    await broker.stop()


async def test_a_nameserver_that_has_forgotten_the_broker_is_told_everything(
    start_broker: StartBroker, nameserver: Nameserver
) -> None:
    """It refuses a new topic of a broker that it does not know."""
    broker = await start_broker(namesrvAddr=nameserver.address)
    nameserver.routes.unregister(broker.settings.current.broker_cluster_name, broker.name, broker.address)
    caller = Caller(broker)
    await caller.send("New")
    await until(lambda: nameserver.routes.group(broker.name) is not None)
    assert nameserver.routes.route("New") is not None
    assert nameserver.routes.route("TBW102") is not None
    await caller.client.close(0.1)
    await broker.stop()


async def test_a_broker_whose_start_did_not_wait_for_the_nameserver_is_registered(
    start_broker: StartBroker, nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "_PATIENCE_SECONDS", 0)
        broker = await start_broker(namesrvAddr=nameserver.address)
    await until(lambda: nameserver.routes.group(broker.name) is not None)
    await broker.stop()
