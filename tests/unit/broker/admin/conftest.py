from __future__ import annotations

import asyncio

import pytest_asyncio
from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode
from sprocketmq.remoting import Peer

from ..conftest import Connect, StartBroker, broker, caller, clock, connect, start_broker

__all__ = ["Connect", "StartBroker", "broker", "caller", "clock", "connect", "start_broker", "stranger"]


async def parked_at(broker: Broker) -> None:
    """Return once a pull is parked."""
    async with asyncio.timeout(60):
        while not len(broker.pulls.long_polls):  # noqa: ASYNC110 - the broker tells nobody of it
            await asyncio.sleep(0)


async def become_a_stranger(caller: Caller, broker: Broker) -> None:
    """Let the broker take the caller's connection for one from another machine."""
    await caller(RequestCode.GET_BROKER_CONFIG)
    for connection in broker.server.connections:
        connection.peer = Peer("192.0.2.9", 5, bytes(8), False)


@pytest_asyncio.fixture
async def stranger(connect: Connect, broker: Broker) -> Caller:
    caller = connect()
    await become_a_stranger(caller, broker)
    return caller
