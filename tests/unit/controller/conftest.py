from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from sprocketmq.codes import RequestCode
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.server import Controller
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import ProcessorTable, RemotingClient, RemotingServer


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Caller:
    """A broker or an administrator of one controller."""

    def __init__(self, controller: Controller) -> None:
        self.client = RemotingClient()
        self.address = f"127.0.0.1:{controller.port}"

    async def send(self, command: Command) -> Command:
        return await self.client.call(self.address, command, 60)

    async def send_recorded(self, request: Command) -> Command:
        """A recorded one-way request, as one that is answered."""
        return await self.send(Command(request.code, ext_fields=request.ext_fields, body=request.body))

    async def __call__(self, code: int, body: bytes = b"", **fields: object) -> Command:
        ext = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in fields.items()}
        return await self.send(Command(code, ext_fields=ext, body=body))

    async def heartbeat(
        self, broker_id: int, *, name: str = "a", cluster: str = "c", address: str = "127.0.0.1:1", **more: Any
    ) -> Command:
        identity: dict[str, Any] = {
            "clusterName": cluster,
            "brokerName": name,
            "brokerId": broker_id,
            "brokerAddr": address,
        }
        return await self(RequestCode.BROKER_HEARTBEAT, **identity, **more)

    async def join(self, broker_id: int, *, name: str = "a", address: str | None = None, **more: Any) -> Command:
        """Take the id, register, be heard of; and the first one reigns."""
        address = address or f"127.0.0.1:{broker_id}"
        who: dict[str, Any] = {"clusterName": "c", "brokerName": name}
        code = f"{address};1"
        applied = await self(1013, appliedBrokerId=broker_id, registerCheckCode=code, **who)
        assert applied.code == 0, applied.remark
        await self.heartbeat(broker_id, name=name, address=address, **more)
        return await self(1003, brokerId=broker_id, brokerAddress=address, **who)

    async def elect(self, broker_id: int, *, name: str = "a", designate: bool = False) -> Command:
        return await self(1002, clusterName="c", brokerName=name, brokerId=broker_id, designateElect=designate)

    async def state(self, name: str = "a") -> dict[str, str]:
        return (await self(1004, brokerName=name)).ext_fields or {}


class Listener:
    """The port of a broker, which takes notices."""

    def __init__(self) -> None:
        self.notices: asyncio.Queue[Command] = asyncio.Queue()
        table = ProcessorTable()
        table.add(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, lambda _, request: self.notices.put_nowait(request))
        self._server = RemotingServer(table, "127.0.0.1", 0)

    @property
    def address(self) -> str:
        return self._server.address

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def config(tmp_path: Path) -> ControllerConfig:
    return ControllerConfig(
        bind_address="127.0.0.1", listen_port=0, metrics_prom_exporter_port=0, controller_store_path=tmp_path,
        config_store_path=tmp_path / "controller.properties",
    )  # fmt: skip


@pytest_asyncio.fixture
async def controller(config: ControllerConfig, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Controller]:
    controller = Controller(config, FileEngine(tmp_path / "controller.json"), clock=clock)
    await controller.start()
    yield controller
    await controller.stop()


@pytest_asyncio.fixture
async def call(controller: Controller) -> AsyncIterator[Caller]:
    caller = Caller(controller)
    yield caller
    await caller.client.close()


@pytest_asyncio.fixture
async def listener() -> AsyncIterator[Listener]:
    listener = Listener()
    await listener.start()
    yield listener
    await listener.stop()
