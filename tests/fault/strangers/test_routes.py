"""Whoever reaches a nameserver could name himself as a broker, or take a real one off the routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.fault.strangers.stranger import FRIEND, STRANGER, Stranger, nameserver_among_strangers, strangers
from tests.unit.nameserver.support import topics

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.bodies.route import QueueData, TopicRouteData
from sprocketmq.protocol.command import Command

REAL, FALSE = "10.0.0.1:10911", "203.0.113.66:10911"


async def register(peer: Stranger, address: str = REAL, state: int = 0, *names: str, **changes: Any) -> Command:
    wrapper = topics("orders", *names, state=state)
    body = codec.encode(RegisterBrokerBody(topic_config_serialize_wrapper=wrapper))
    return await peer(RequestCode.REGISTER_BROKER, body, **{**broker_at(address), **changes})


def broker_at(address: str) -> dict[str, Any]:
    return {
        "brokerName": "broker-a", "brokerAddr": address, "clusterName": "DefaultCluster", "haServerAddr": "",
        "brokerId": 0,
    }  # fmt: skip


async def addresses(peer: Stranger, topic: str = "orders") -> list[str]:
    answer = await peer(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=topic)
    if answer.code != 0:
        return []
    brokers: list[dict[str, Any]] = orjson.loads(answer.body)["brokerDatas"]
    return [address for broker in brokers for address in broker["brokerAddrs"].values()]


async def test_a_false_broker_takes_over_no_route(tmp_path: Path) -> None:
    async with (
        nameserver_among_strangers(tmp_path) as nameserver,
        strangers(nameserver.port, FRIEND, STRANGER) as (friend, stranger),
    ):
        assert (await register(friend)).code == 0
        refused = await register(stranger, FALSE, 1 << 40)
        assert refused.code == ResponseCode.NO_PERMISSION
        assert "brokerAllowFrom" in (refused.remark or "")
        assert await addresses(stranger) == [REAL], "a client from anywhere reads the route, and it is the true one"
        assert (await register(friend)).code == 0, "nor does the real one count as outdated"
        assert await addresses(friend) == [REAL]


async def test_a_real_broker_is_unregistered_by_nobody_else(tmp_path: Path) -> None:
    both = f"{FRIEND}, 127.0.0.3"
    async with (
        nameserver_among_strangers(tmp_path, brokerAllowFrom=both) as nameserver,
        strangers(nameserver.port, FRIEND, STRANGER, "127.0.0.3") as (friend, stranger, neighbour),
    ):
        await register(friend)
        gone = broker_at(REAL)
        assert (await stranger(RequestCode.UNREGISTER_BROKER, **gone)).code == ResponseCode.NO_PERMISSION
        for named in (gone, {**gone, "clusterName": "another"}):
            assert (await neighbour(RequestCode.UNREGISTER_BROKER, **named)).code == ResponseCode.NO_PERMISSION
        assert await addresses(stranger) == [REAL]
        assert (await friend(RequestCode.UNREGISTER_BROKER, **gone)).code == 0
        assert await addresses(stranger) == []


async def test_nor_by_another_broker_that_claims_its_address(tmp_path: Path) -> None:
    """Under another name or id the record that was there would go."""
    both = f"{FRIEND}, 127.0.0.3"
    async with (
        nameserver_among_strangers(tmp_path, brokerAllowFrom=both) as nameserver,
        strangers(nameserver.port, FRIEND, "127.0.0.3") as (friend, neighbour),
    ):
        await register(friend)
        for claim in ({"brokerName": "broker-b"}, {"brokerId": 5}, {"brokerName": "broker-b", "clusterName": "C"}):
            assert (await register(neighbour, REAL, 1 << 40, **claim)).code == ResponseCode.NO_PERMISSION, claim
            assert await addresses(friend) == [REAL]
        assert (await register(friend, REAL, brokerId=1)).code == 0, "its own id may change: that is a failover"
        (live,) = nameserver.routes.at(REAL)
        assert live.broker_id == 1


async def test_a_failover_takes_the_place_and_a_fenced_master_does_not(tmp_path: Path) -> None:
    """Whoever may register may take over a name and id: so does a new master while its predecessor hangs."""
    both = f"{FRIEND}, 127.0.0.3"
    new = "10.0.0.2:10911"
    async with (
        nameserver_among_strangers(tmp_path, brokerAllowFrom=both) as nameserver,
        strangers(nameserver.port, FRIEND, "127.0.0.3") as (old_master, new_master),
    ):
        await register(old_master, REAL, 1)
        await register(new_master, new, 2)
        assert await addresses(old_master) == [new]
        for cluster in ("DefaultCluster", "another"):
            await register(old_master, REAL, 1, clusterName=cluster)
            assert await addresses(old_master) == [new], cluster


async def test_nothing_that_makes_a_route_is_taken_from_a_stranger(tmp_path: Path) -> None:
    queue = QueueData(broker_name="broker-a", read_queue_nums=1, write_queue_nums=1, perm=6, topic_sys_flag=0)
    route = codec.encode(TopicRouteData(queue_datas=(queue,), broker_datas=()))
    async with (
        nameserver_among_strangers(tmp_path) as nameserver,
        strangers(nameserver.port, FRIEND, STRANGER) as (friend, stranger),
    ):
        await register(friend)
        real = broker_at(REAL)
        for code, body, fields in (
            (RequestCode.REGISTER_TOPIC_IN_NAMESRV, route, {"topic": "planted"}),
            (RequestCode.BROKER_HEARTBEAT, b"", real),
            (RequestCode.QUERY_DATA_VERSION, b"{}", real),
            (RequestCode.GET_BROKER_MEMBER_GROUP, b"", {"clusterName": "DefaultCluster", "brokerName": "broker-a"}),
        ):
            assert (await stranger(code, body, **fields)).code == ResponseCode.NO_PERMISSION, code
        assert await addresses(friend, "planted") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brokerName", "x" * 256),
        ("brokerName", "a b"),
        ("clusterName", "../../etc"),
        ("clusterName", "a\nb"),
        ("brokerAddr", "nowhere"),
        ("brokerAddr", f"{'h' * 300}:1"),
        ("haServerAddr", "10.0.0.1:99999999"),
        ("brokerId", "-1"),
        ("heartbeatTimeoutMillis", "0"),
        ("heartbeatTimeoutMillis", "-1"),
    ],
)
async def test_what_cannot_be_true_is_refused(tmp_path: Path, field: str, value: str) -> None:
    async with nameserver_among_strangers(tmp_path) as nameserver, strangers(nameserver.port, FRIEND) as (friend,):
        assert (await register(friend, REAL, 0, **{field: value})).code == ResponseCode.SYSTEM_ERROR
        assert list(nameserver.routes.groups()) == []


async def test_no_broker_outlives_its_silence_by_long(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path) as nameserver, strangers(nameserver.port, FRIEND) as (friend,):
        await register(friend, heartbeatTimeoutMillis=1 << 60)
        (live,) = nameserver.routes.at(REAL)
        assert live.expiry_ms == 600_000


async def test_topics_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path) as nameserver, strangers(nameserver.port, FRIEND) as (friend,):
        await register(friend, REAL, 0, "../../evil", "x" * 300, "a b", "host.example", "%RETRY%g")
        known = {"orders", "host.example", "%RETRY%g", "TBW102", "SELF_TEST_TOPIC"}
        assert nameserver.routes.topics.names() == known
