from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.unit.nameserver.support import topics

from sprocketmq.codes import RequestCode
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.routes import RouteTable
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import ProcessorTable, RemotingClient


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def routes(clock: FakeClock) -> RouteTable:
    return RouteTable(clock)


class Caller:
    """One client of one nameserver."""

    def __init__(self, nameserver: Nameserver, handlers: ProcessorTable | None = None) -> None:
        self.client = RemotingClient(handlers)
        self._address = f"127.0.0.1:{nameserver.port}"

    async def __call__(self, code: int, body: bytes = b"", version: int = 479, **fields: object) -> Command:
        ext = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in fields.items()}
        return await self.client.call(self._address, Command(code, ext_fields=ext, body=body, version=version), 60)

    async def register(
        self,
        name: str = "broker-a",
        broker_id: int = 0,
        wrapper: TopicConfigAndMappingSerializeWrapper | None = None,
        **extra: object,
    ) -> Command:
        body = codec.encode(RegisterBrokerBody(topic_config_serialize_wrapper=wrapper or topics("orders")))
        return await self(RequestCode.REGISTER_BROKER, body, **{**self.identity(name, broker_id), **extra})

    @staticmethod
    def identity(name: str = "broker-a", broker_id: int = 0) -> dict[str, Any]:
        return {
            "brokerName": name,
            "brokerAddr": f"127.0.0.1:{10910 + broker_id + 100 * (ord(name[-1]) - ord('a'))}",
            "clusterName": "DefaultCluster",
            "haServerAddr": f"127.0.0.1:1092{broker_id}",
            "brokerId": broker_id,
        }


@pytest_asyncio.fixture
async def nameserver(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Nameserver]:
    config = NameserverConfig(
        bind_address="127.0.0.1", listen_port=0, kv_config_path=tmp_path / "kvConfig.json",
        config_store_path=tmp_path / "namesrv.properties", metrics_prom_exporter_port=0,
    )  # fmt: skip
    nameserver = Nameserver(config, clock=clock)
    await nameserver.start()
    yield nameserver
    await nameserver.stop()


@pytest_asyncio.fixture
async def call(nameserver: Nameserver) -> AsyncIterator[Caller]:
    caller = Caller(nameserver)
    yield caller
    await caller.client.close()
