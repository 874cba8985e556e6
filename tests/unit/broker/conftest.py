from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tests.unit.broker.support import Caller, FakeClock, make_broker

from sprocketmq.broker.broker import Broker

StartBroker = Callable[..., Awaitable[Broker]]
Connect = Callable[[], Caller]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest_asyncio.fixture
async def start_broker(tmp_path: Path, clock: FakeClock) -> AsyncIterator[StartBroker]:
    """Starts brokers on free ports, all in the same directory, and stops those that still run."""
    started: list[Broker] = []

    async def start(**entries: str) -> Broker:
        broker = make_broker(tmp_path / "store", clock, None, **entries)
        await broker.start()
        started.append(broker)
        return broker

    yield start
    for broker in started:
        await broker.stop()


@pytest_asyncio.fixture
async def broker(start_broker: StartBroker) -> Broker:
    return await start_broker()


@pytest_asyncio.fixture
async def connect(broker: Broker) -> AsyncIterator[Connect]:
    """Clients of `broker`, each with a connection of its own."""
    callers: list[Caller] = []

    def connect() -> Caller:
        callers.append(Caller(broker))
        return callers[-1]

    yield connect
    for caller in callers:
        await caller.client.close(grace=0.2)


@pytest_asyncio.fixture
async def caller(connect: Connect) -> Caller:
    return connect()
