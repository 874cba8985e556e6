from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest_asyncio
from tests.unit.broker.conftest import broker, caller, clock, connect, start_broker
from tests.unit.broker.static_topic.support import A, B
from tests.unit.broker.support import Caller, FakeClock, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver

__all__ = ["broker", "caller", "clock", "connect", "start_broker"]


@dataclass
class Two:
    nameserver: Nameserver
    broker_a: Broker
    broker_b: Broker
    a: Caller
    b: Caller


@pytest_asyncio.fixture
async def two(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Two]:
    """Two brokers that find each other through a nameserver, and a client of each."""
    async with AsyncExitStack() as running:
        nameserver = Nameserver(
            NameserverConfig(listen_port=0, bind_address="127.0.0.1", kv_config_path=tmp_path / "kv.json")
        )
        await nameserver.start()
        running.push_async_callback(nameserver.stop)
        brokers: dict[str, Broker] = {}
        callers: dict[str, Caller] = {}
        for name in (A, B):
            made = brokers[name] = make_broker(tmp_path / name, clock, brokerName=name, namesrvAddr=nameserver.address)
            await made.start()
            running.push_async_callback(made.stop)
            callers[name] = Caller(made)
            running.push_async_callback(callers[name].client.close, 0.2)
        yield Two(nameserver, brokers[A], brokers[B], callers[A], callers[B])
