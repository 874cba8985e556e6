"""Which brokers a task goes to; the tasks themselves are tried against real brokers, ours and Apache's."""

from __future__ import annotations

import pytest
from tests.unit.client.fakes import FakeTransport, instance

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.errors import NoBroker
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import ClusterInfo
from sprocketmq.protocol.bodies.route import BrokerData


def core(**clusters: str) -> AdminCore:
    """Brokers by name, each with its cluster; the one called `slave` has no master."""
    table = {
        name: BrokerData(cluster=cluster, broker_name=name, broker_addrs={int(name == "slave"): f"{name}:1"})
        for name, cluster in clusters.items()
    }
    answer = codec.encode(ClusterInfo(broker_addr_table=table))
    answers = {RequestCode.GET_BROKER_CLUSTER_INFO: lambda _address, command: command.reply(body=answer)}
    return AdminCore(instance(FakeTransport(answers)))  # type: ignore[arg-type]


async def test_masters_of_all_of_a_cluster_of_one_broker() -> None:
    asked = core(a="x", b="y", slave="x")
    assert await asked.masters() == {"a": "a:1", "b": "b:1"}
    assert await asked.masters(cluster="x") == {"a": "a:1"}
    assert await asked.masters(broker="b") == await asked.masters(broker="b:1") == {"b": "b:1"}
    assert await asked.master("b") == "b:1"
    assert await asked.master("elsewhere:5") == "elsewhere:5"


@pytest.mark.parametrize(
    ("wanted", "named"),
    [({}, "any broker"), ({"cluster": "z"}, "a master of cluster z"), ({"broker": "slave"}, "broker slave")],
)
async def test_who_is_not_there_is_named(wanted: dict[str, str], named: str) -> None:
    with pytest.raises(NoBroker, match=named):
        await core(slave="x").masters(**wanted)


async def test_one_that_refuses_is_left_out_unless_all_do() -> None:
    async def ask(address: str) -> str:
        if address == "b:1":
            raise NoBroker("b")
        return address

    asked = core()
    assert await asked.each_that_knows({"a": "a:1", "b": "b:1"}, ask) == {"a": "a:1"}
    with pytest.raises(NoBroker):
        await asked.each_that_knows({"b": "b:1"}, ask)
    with pytest.raises(NoBroker):
        await asked.each({"a": "a:1", "b": "b:1"}, ask)
