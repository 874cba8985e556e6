"""A master that says nothing is waited for as long as it is the master, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from tests.unit.client.fakes import FakeTransport, instance, route, routes

from sprocketmq.client.cluster import silent_masters
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies.route import BrokerData, TopicRouteData
from sprocketmq.remoting.connection import Connection

OLD, NEW = "old:10911", "new:10911"


class SilentConnection:
    def __init__(self, silence: float) -> None:
        self.silence = silence
        self.given_up = ""

    def silent_for(self) -> float:
        return 0.0 if self.given_up else self.silence

    def give_up(self, reason: str) -> None:
        self.given_up = reason


class Network(FakeTransport):
    """The topics T and U, and connections to brokers that say nothing."""

    def __init__(self, addresses: dict[int, str], **connections: float) -> None:
        self.table: dict[str, TopicRouteData] = {}
        super().__init__({RequestCode.GET_ROUTEINFO_BY_TOPIC: routes(self.table)})
        self.open = {f"{name}:10911": SilentConnection(silence) for name, silence in connections.items()}
        self.route(addresses)

    def route(self, addresses: dict[int, str]) -> None:
        brokers = (BrokerData(cluster="c", broker_name="a", broker_addrs=addresses),)
        self.table |= dict.fromkeys("TU", TopicRouteData(queue_datas=route("a").queue_datas, broker_datas=brokers))

    def all_connected(self) -> dict[str, Connection]:
        return {address: cast(Connection, each) for address, each in self.open.items() if not each.given_up}

    @property
    def questions(self) -> int:
        return len(self.commands(RequestCode.GET_ROUTEINFO_BY_TOPIC))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_masters, "_PAUSE_S", 0.001)


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - what is looked at has no event of its own
            await asyncio.sleep(0.001)


async def test_who_waits_at_a_master_that_was_replaced_is_let_go() -> None:
    network = Network({0: OLD, 1: NEW}, old=1.0, new=0.1)
    client = instance(network)
    for topic in "TU":
        await client.routes.get(topic)
    assert client.silent_masters.look()
    await until(lambda: network.questions > 4)
    assert not network.open[OLD].given_up, "it may only be slow"
    network.route({0: NEW})
    await until(lambda: bool(network.open[OLD].given_up))
    for topic in "TU":
        known = client.routes.known(topic)
        assert known is not None
        assert known.master("a") == NEW, "who tries again goes there"
    assert not network.open[NEW].given_up
    await client.tasks.wait()
    await client.stop()


async def test_who_waits_at_a_broker_that_no_route_has_any_more_is_let_go() -> None:
    """Somebody else has asked for the routes meanwhile."""
    network = Network({0: NEW}, old=1.0)
    client = instance(network)
    await client.routes.get("T")
    assert client.silent_masters.look()
    await client.tasks.wait()
    assert network.open[OLD].given_up == "another is the master now"
    await client.stop()


@pytest.mark.parametrize(
    ("addresses", "silence", "waits"),
    [({0: OLD}, 9.0, True), ({0: OLD, 1: NEW}, 0.4, True), ({0: OLD, 1: NEW}, 0.0, False)],
    ids=["it has no slaves", "not for long", "nobody waits"],
)
async def test_nobody_is_asked(addresses: dict[int, str], silence: float, waits: bool) -> None:
    network = Network(addresses, old=silence)
    client = instance(network)
    await client.routes.get("T")
    assert client.silent_masters.look() == waits
    await client.tasks.wait()
    assert (network.questions, network.open[OLD].given_up) == (1, "")
    await client.stop()
