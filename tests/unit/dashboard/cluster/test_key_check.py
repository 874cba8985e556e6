"""Keys: what the first broker says that answers, whatever the others do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sprocketmq.client.admin import core
from sprocketmq.client.errors import NoBroker, Unreachable
from sprocketmq.client.options import ClientOptions
from sprocketmq.dashboard.cluster.key_check import wants_keys
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console
from sprocketmq.protocol.bodies.route import BrokerData
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture
def hanging() -> Iterator[str]:
    """A broker that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


async def test_a_broker_that_hangs_is_not_waited_for(
    console_cluster: EmbeddedCluster, hanging: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the first by name, and no deadline would end the wait."""
    monkeypatch.setattr(core, "TIMEOUT_S", 3600.0)
    view = ClusterView(ClientOptions.of(console_cluster.nameserver))
    await view.start()
    try:
        found = await view.cluster()
        away = BrokerData(cluster="DefaultCluster", broker_name="a-broker", broker_addrs={0: hanging})
        both = replace(found, broker_addr_table={"a-broker": away, **found.broker_addr_table})
        monkeypatch.setattr(ClusterView, "cluster", lambda _view: asyncio.sleep(0, both))
        async with asyncio.timeout(60):
            assert await wants_keys(view) is False
    finally:
        await view.stop()


async def test_silence_opens_no_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that wanted keys and is gone is not taken for one without accounts."""
    console = Console(ConsoleConfig(ClientOptions.of("127.0.0.1:1")))
    answers: list[bool | Exception] = [
        NoBroker("any broker"),
        True,
        NoBroker("any broker"),
        Unreachable("1", ""),
        False,
    ]

    async def asked(_view: ClusterView) -> bool:
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return answer

    monkeypatch.setattr("sprocketmq.dashboard.console.wants_keys", asked)
    monkeypatch.setattr("sprocketmq.dashboard.console._ACCESS_S", -1.0)
    assert [await console.has_access_control() for _ in range(5)] == [False, True, True, True, False]
