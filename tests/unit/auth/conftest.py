from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.unit.broker.conftest import StartBroker, clock, start_broker  # noqa: F401 - fixtures

from sprocketmq.broker.broker import Broker
from sprocketmq.remoting import RemotingClient


@pytest_asyncio.fixture
async def client() -> AsyncIterator[RemotingClient]:
    client = RemotingClient()
    yield client
    await client.close(grace=0.2)


@pytest_asyncio.fixture
async def broker(start_broker: StartBroker) -> Broker:  # noqa: F811
    broker = await start_broker(
        authenticationEnabled="true",
        authorizationEnabled="true",
        initAuthenticationUser='{"username":"root","password":"root-secret"}',
        innerClientAuthenticationCredentials='{"accessKey":"inner","secretKey":"inner-secret"}',
    )
    broker.access.accounts.create_user("app", "app-secret")
    broker.access.accounts.create_user("exact", "exact-secret")
    broker.access.wrong_keys._since.clear()
    return broker
