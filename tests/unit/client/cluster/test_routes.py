from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.loop_clock import LoopClock
from tests.unit.client.fakes import NAMESERVER, FakeTransport, route, routes

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.cluster.routes import RouteCache
from sprocketmq.client.cluster.transport import NameServers
from sprocketmq.client.errors import NoRoute, Offline, Unreachable
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import ClusterInfo
from sprocketmq.protocol.bodies.route import BrokerData, TopicRouteData
from sprocketmq.protocol.command import Command

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC


def table(transport: FakeTransport, *nameservers: str) -> RouteCache:
    return RouteCache(NameServers(nameservers or (NAMESERVER,), transport))


def test_queues_are_sorted_by_broker_and_id() -> None:
    made = Route.of("T", route("b", "a", queues=2))
    assert [str(queue) for queue in made.write_queues] == ["T@a:0", "T@a:1", "T@b:0", "T@b:1"]
    assert made.read_queues == made.write_queues


def test_without_master_a_broker_is_read_but_not_written() -> None:
    slave = BrokerData(cluster="c", broker_name="a", broker_addrs={1: "slave:1"})
    made = Route.of("T", replace(route("a"), broker_datas=(slave,)))
    assert made.write_queues == ()
    assert len(made.read_queues) == 4
    assert made.address("a") == "slave:1"
    assert made.master("a") is None


@pytest.mark.parametrize(("perm", "writable", "readable"), [(6, 4, 4), (4, 0, 4), (2, 4, 0), (0, 0, 0)])
def test_permissions(perm: int, writable: int, readable: int) -> None:
    made = Route.of("T", route("a", perm=perm))
    assert (len(made.write_queues), len(made.read_queues)) == (writable, readable)


def test_ordered_topic_keeps_its_list_while_a_broker_is_away() -> None:
    made = Route.of("T", replace(route("b", queues=1), order_topic_conf="b:1;a:2"))
    assert [str(queue) for queue in made.write_queues] == ["T@b:0", "T@a:0", "T@a:1"]


async def test_callers_share_one_request() -> None:
    transport = FakeTransport({ROUTE: routes({"T": route("a")})})
    found = table(transport)
    await asyncio.gather(*(found.get("T") for _ in range(10)))
    assert len(transport.commands(ROUTE)) == 1
    await found.get("T")
    assert len(transport.commands(ROUTE)) == 1


async def test_unknown_topic_goes_where_topics_are_made() -> None:
    transport = FakeTransport({ROUTE: routes({"TBW102": route("a", queues=8)})})
    made = await table(transport).for_sending("new", 4)
    assert len(made.write_queues) == 4
    assert made.write_queues[0].topic == "new"


async def test_unknown_topic_where_none_are_made() -> None:
    with pytest.raises(NoRoute, match="new") as caught:
        await table(FakeTransport({ROUTE: routes({})})).for_sending("new", 4)
    assert caught.value.retriable


async def test_topic_that_nobody_may_write() -> None:
    with pytest.raises(NoRoute, match="no broker takes messages"):
        await table(FakeTransport({ROUTE: routes({"T": route("a", perm=4)})})).for_sending("T", 4)


async def test_the_next_nameserver_is_asked_and_kept() -> None:
    def answer(address: str, command: Command) -> Command:
        if address == "down:1":
            raise Unreachable(address, "refused")
        return routes({"T": route("a")})(address, command)

    transport = FakeTransport({ROUTE: answer})
    found = table(transport, "down:1", "up:1")
    await found.fetch("T")
    await found.fetch("T")
    assert transport.addresses(ROUTE) == ["down:1", "up:1", "up:1"]


async def test_silence_keeps_the_last_route() -> None:
    answers: dict[str, TopicRouteData] = {"T": route("a")}
    transport = FakeTransport({ROUTE: routes(answers)})
    found = table(transport)
    before = await found.get("T")

    def down(address: str, _command: Command) -> Command:
        raise Unreachable(address, "gone")

    transport.answers[ROUTE] = down
    assert await found.refresh(["T"]) == []
    assert found.known("T") is before
    with pytest.raises(Offline, match=NAMESERVER):
        await found.fetch("T")


async def test_refresh_tells_what_changed() -> None:
    answers = {"T": route("a"), "U": route("a")}
    transport = FakeTransport({ROUTE: routes(answers)})
    found = table(transport)
    await found.get("T")
    await found.get("U")
    answers["T"] = route("a", "b")
    assert await found.refresh(["T", "U"]) == ["T"]


def cluster(*brokers: str) -> bytes:
    table = {name: BrokerData(cluster="c", broker_name=name, broker_addrs={0: f"{name}:1"}) for name in brokers}
    return codec.encode(ClusterInfo(broker_addr_table=table))


async def test_a_cluster_that_is_still_starting_is_waited_for() -> None:
    known: dict[str, TopicRouteData] = {}
    transport = FakeTransport({ROUTE: routes(known)})

    def look(_address: str, command: Command) -> Command:
        if len(transport.commands(RequestCode.GET_BROKER_CLUSTER_INFO)) == 3:
            known["TBW102"] = route("a")  # its broker registers now
        return command.reply(body=cluster())

    transport.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = look
    made = await table(transport).for_sending("new", 4, asyncio.get_running_loop().time() + 60)
    assert len(made.write_queues) == 4


async def test_a_nameserver_that_does_not_listen_yet_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """As in a script that starts a cluster and a client side by side."""
    transport, tries = FakeTransport(), []
    answer = routes({"T": route("a")})

    def ask(address: str, command: Command) -> Command:
        tries.append(address)
        if len(tries) < 4:
            raise Unreachable(address, "refused")
        return answer(address, command)

    transport.answers[ROUTE] = ask
    asked = table(transport)
    made = await asked.for_sending("T", 4, asyncio.get_running_loop().time() + 3600)
    assert made.write_queues
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert NAMESERVER in caplog.text


async def test_an_address_that_is_wrong_for_good_is_not_waited_for() -> None:
    transport = FakeTransport()

    def ask(address: str, _command: Command) -> Command:
        raise Unreachable(address, "certificate verify failed", is_lasting=True)

    transport.answers[ROUTE] = ask
    with pytest.raises(Offline, match=f"{NAMESERVER}.*certificate"):
        await table(transport).for_sending("T", 4, asyncio.get_running_loop().time() + 3600)
    assert len(transport.commands(ROUTE)) == 1


async def test_a_topic_that_nobody_has_fails_at_once_where_brokers_are() -> None:
    transport = FakeTransport({ROUTE: routes({})})
    transport.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _, command: command.reply(body=cluster("a"))
    with pytest.raises(NoRoute):
        await table(transport).for_sending("new", 4, asyncio.get_running_loop().time() + 3600)


async def test_a_cluster_that_never_starts_is_no_route_at_the_deadline(loop_clock: LoopClock) -> None:
    transport = FakeTransport({ROUTE: routes({})})
    transport.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _, command: command.reply(body=cluster())
    asking = asyncio.ensure_future(table(transport).for_sending("new", 4, loop_clock.now + 60))
    while not asking.done():
        await asyncio.sleep(0)
        loop_clock.advance(0.1)
    with pytest.raises(NoRoute):
        await asking
    assert len(transport.commands(RequestCode.GET_BROKER_CLUSTER_INFO)) > 10


async def test_between_two_masters_the_next_one_is_waited_for() -> None:
    slave = BrokerData(cluster="c", broker_name="a", broker_addrs={2: "slave:1"})
    known = {"T": replace(route("a"), broker_datas=(slave,))}
    transport = FakeTransport({ROUTE: routes(known)})
    found = table(transport)
    waiting = asyncio.ensure_future(found.for_sending("T", 4, asyncio.get_running_loop().time() + 60))
    while len(transport.commands(ROUTE)) < 4:  # noqa: ASYNC110 - the fake has no event
        await asyncio.sleep(0.01)
    assert not waiting.done()
    known["T"] = route("a")
    made = await waiting
    assert len(made.write_queues) == 4
    assert not made.replicated
