"""A controller of ours, and brokers of one name under it, all in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tests.unit.broker.support import FakeClock, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.controller_mode import controller_mode
from sprocketmq.broker.controller_mode.controller_mode import ControllerMode
from sprocketmq.broker.replication import slave_tables
from sprocketmq.controller import liveness
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.server import Controller
from sprocketmq.controller.wiring import make_controller
from sprocketmq.store.files.files import Files

StartBroker = Callable[..., Awaitable[Broker]]
#: Only a hang takes as long as this.
PATIENCE_S = 60
#: A busy machine costs no broker its role, and no send its confirmation. Who looks for that says so.
_STEADY = {"controllerHeartBeatTimeoutMills": "60000", "slaveTimeout": "60000"}


@pytest.fixture(autouse=True)
def quick_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables come as soon as a slave can ask for them: tests wait for what they hold, and not for the next second."""
    monkeypatch.setattr(slave_tables, "_PERIOD_SECONDS", 0.05)


@pytest.fixture(autouse=True)
def long_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """They end when a test says so: a machine that is busy for two seconds makes nobody a master of the past."""
    monkeypatch.setattr(controller_mode, "LEASE_MS", PATIENCE_S * 1000)
    monkeypatch.setattr(controller_mode, "_HEARD_SECONDS", PATIENCE_S)
    monkeypatch.setattr(liveness, "MAX_LEASE_MS", PATIENCE_S * 1000)


@pytest_asyncio.fixture
async def controller(tmp_path: Path) -> AsyncIterator[Controller]:
    config = ControllerConfig(
        bind_address="127.0.0.1", listen_port=0, controller_store_path=tmp_path / "controller",
        config_store_path=tmp_path / "controller.properties", metrics_prom_exporter_port=0,
    )  # fmt: skip
    server = make_controller(config)
    await server.start()
    yield server
    await server.stop()


@pytest_asyncio.fixture
async def start_broker(tmp_path: Path, controller: Controller) -> AsyncIterator[StartBroker]:
    """Starts brokers under the controller, each with a store of its own name, and waits until they have a role."""
    started: list[Broker] = []

    async def start(name: str, clock: FakeClock | None = None, files: Files | None = None, **entries: str) -> Broker:
        under = {"enableControllerMode": "true", "controllerAddr": f"127.0.0.1:{controller.port}", "brokerId": "-1"}
        broker = make_broker(tmp_path / name, clock, files, **under | _STEADY | {"slaveReadEnable": "true"} | entries)
        await broker.start()
        started.append(broker)
        await until(lambda: broker.roles.current.epoch > 0)
        return broker

    yield start
    for broker in reversed(started):
        await broker.stop()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not done():  # noqa: ASYNC110 - what is looked at has no event of its own
            await asyncio.sleep(0.01)


async def until_without_lease(mode: ControllerMode, done: Callable[[], bool]) -> None:
    """Of a master that hears no more from its controller, but for an answer that was on its way."""

    def is_done() -> bool:
        mode._leased_until = asyncio.get_running_loop().time()
        return done()

    await until(is_done)
