"""A nameserver, and brokers of one name that find each other through it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tests.unit.broker.replication.support import HandSlave
from tests.unit.broker.support import FakeClock, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.replication import slave_tables
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.store.files.files import Files

StartMember = Callable[..., Awaitable[Broker]]
Hand = Callable[[Broker], Awaitable[HandSlave]]


@pytest.fixture(autouse=True)
def quick_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables come as soon as a slave can ask for them: tests wait for what they hold, and not for the next second."""
    monkeypatch.setattr(slave_tables, "_PERIOD_SECONDS", 0.05)


@pytest_asyncio.fixture
async def nameserver(tmp_path: Path) -> AsyncIterator[Nameserver]:
    config = NameserverConfig(
        bind_address="127.0.0.1", listen_port=0, kv_config_path=tmp_path / "kv.json",
        config_store_path=tmp_path / "namesrv.properties",
    )  # fmt: skip
    server = Nameserver(config)
    await server.start()
    yield server
    await server.stop()


@pytest_asyncio.fixture
async def start_member(tmp_path: Path, nameserver: Nameserver) -> AsyncIterator[StartMember]:
    """Starts brokers of the same name: id 0 is the master, others are slaves, each with a store of its own."""
    started: list[Broker] = []

    async def start(
        broker_id: int = 0, clock: FakeClock | None = None, files: Files | None = None, **entries: str
    ) -> Broker:
        role = {"brokerRole": "SLAVE", "brokerId": str(broker_id)} if broker_id else {}
        address = f"127.0.0.1:{nameserver.port}"
        store = entries.pop("store", f"store-{broker_id}")
        broker = make_broker(
            tmp_path / store, clock, files, **{"namesrvAddr": address, "slaveReadEnable": "true"} | role | entries
        )
        await broker.start()
        started.append(broker)
        return broker

    yield start
    for broker in reversed(started):
        await broker.stop()


@pytest_asyncio.fixture
async def hand() -> AsyncIterator[Hand]:
    """Slaves that a test plays itself."""
    slaves: list[HandSlave] = []

    async def connect(master: Broker) -> HandSlave:
        slaves.append(await HandSlave.connect(master))
        return slaves[-1]

    yield connect
    for slave in slaves:
        slave.close()
        with contextlib.suppress(OSError):
            await slave.writer.wait_closed()
