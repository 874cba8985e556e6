"""The nameserver over real connections: what a broker, a client and an administrator see."""

from __future__ import annotations

import asyncio
from typing import Any
from zlib import crc32

import orjson
import pytest
from tests.unit.nameserver.support import topics

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.compressed_registration import encode_compressed
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.bodies.route import QueueData, TopicRouteData
from sprocketmq.remoting import ProcessorTable

from .conftest import Caller, FakeClock

ROUTE_OLD = (
    b'{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10910"},"brokerName":"broker-a","cluster":"DefaultCluster",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
    b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)


async def test_routes_have_the_form_that_each_client_reads(call: Caller) -> None:
    await call.register()
    go = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, version=317, topic="orders")
    assert (go.code, go.body) == (0, ROUTE_OLD)
    old_but_strict = await call(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, version=317, topic="orders", acceptStandardJsonOnly=True
    )
    java = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, version=401, topic="orders")
    assert java.body == old_but_strict.body == ROUTE_OLD.replace(b"{0:", b'{"0":')


async def test_an_unknown_topic(call: Caller) -> None:
    answer = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="nosuch")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert "nosuch" in (answer.remark or "")
    assert (await call(RequestCode.GET_ROUTEINFO_BY_TOPIC)).code == ResponseCode.SYSTEM_ERROR


async def test_a_route_follows_every_change(call: Caller) -> None:
    async def perms() -> list[int]:
        answer = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
        return [queue["perm"] for queue in orjson.loads(answer.body)["queueDatas"]] if answer.code == 0 else []

    await call.register()
    assert await perms() == [6]
    wiped = await call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-a")
    assert wiped.ext_fields == {"wipeTopicCount": "3"}
    assert await perms() == [4]
    added = await call(RequestCode.ADD_WRITE_PERM_OF_BROKER, brokerName="broker-a")
    assert added.ext_fields == {"addTopicCount": "3"}
    assert await perms() == [6]
    await call(RequestCode.DELETE_TOPIC_IN_NAMESRV, topic="orders")
    assert await perms() == []


async def test_a_slave_is_told_its_master(call: Caller) -> None:
    assert (await call.register()).ext_fields in (None, {})
    slave = await call.register(broker_id=1)
    assert slave.ext_fields == {"haServerAddr": "127.0.0.1:10920", "masterAddr": "127.0.0.1:10910"}


async def test_the_checksum_of_a_registration(call: Caller) -> None:
    body = codec.encode(RegisterBrokerBody(topic_config_serialize_wrapper=topics()))
    good = crc32(body) & 0x7FFFFFFF
    assert (await call(RequestCode.REGISTER_BROKER, body, **call.identity(), bodyCrc32=good)).code == 0
    bad = await call(RequestCode.REGISTER_BROKER, body, **call.identity(), bodyCrc32=good ^ 1)
    assert bad.code == ResponseCode.SYSTEM_ERROR


async def test_compressed_and_old_registrations(call: Caller) -> None:
    body = RegisterBrokerBody(topic_config_serialize_wrapper=topics("packed"))
    packed = encode_compressed(body)
    answer = await call(RequestCode.REGISTER_BROKER, packed, **call.identity("broker-c", 3), compressed=True)
    assert answer.code == 0
    bare = codec.encode(topics("ancient"))
    answer = await call(RequestCode.REGISTER_BROKER, bare, version=36, **call.identity("broker-d"))
    assert answer.code == 0
    names = orjson.loads((await call(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).body)["topicList"]
    assert "ancient" in names
    assert "packed" not in names, "broker-c is a slave"
    empty = await call(RequestCode.REGISTER_BROKER, **call.identity("broker-e"))
    assert empty.code == 0


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"topicConfigSerializeWrapper":5}', b"\xff\x00"])
async def test_a_body_that_is_no_registration(call: Caller, body: bytes) -> None:
    for compressed in (True, False):
        answer = await call(RequestCode.REGISTER_BROKER, body, **call.identity(), compressed=compressed)
        assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_a_broker_is_gone_when_its_connection_is(call: Caller, nameserver: Nameserver) -> None:
    broker = Caller(nameserver)
    await broker.register()
    gone = asyncio.Event()
    (connection,) = nameserver._server.connections
    connection.on_closed.append(lambda _: gone.set())
    await broker.client.close()
    await asyncio.wait_for(gone.wait(), 60)
    assert (await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")).code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_scan_that_fails_is_not_the_last(nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("nobody expects it")

    with monkeypatch.context() as patch:
        patch.setattr(nameserver, "expire", fail)
        with pytest.raises(KeyError):
            nameserver._scan()
    assert nameserver._timer is not None
    assert nameserver._timer.when() > asyncio.get_running_loop().time()


async def test_a_silent_broker_is_dropped(call: Caller, nameserver: Nameserver, clock: FakeClock) -> None:
    broker = Caller(nameserver)
    await broker.register(heartbeatTimeoutMillis=5000)
    clock.now += 4
    await broker(RequestCode.BROKER_HEARTBEAT, **call.identity())
    clock.now += 4
    nameserver.expire()
    assert (await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")).code == 0
    clock.now += 2
    nameserver.expire()
    assert (await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")).code == ResponseCode.TOPIC_NOT_EXIST
    await broker.client.close()


async def test_unregister(call: Caller) -> None:
    await call.register()
    assert (await call(RequestCode.UNREGISTER_BROKER, **call.identity())).code == 0
    assert orjson.loads((await call(RequestCode.GET_BROKER_CLUSTER_INFO)).body)["brokerAddrTable"] == {}


async def test_cluster_info(call: Caller) -> None:
    await call.register()
    assert (await call(RequestCode.GET_BROKER_CLUSTER_INFO)).body == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"127.0.0.1:10910"},"brokerName":"broker-a",'
        b'"cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )


async def test_data_versions(call: Caller) -> None:
    asked = codec.encode(DataVersion(timestamp=1, counter=1))
    unknown = await call(RequestCode.QUERY_DATA_VERSION, asked, **call.identity())
    assert (unknown.ext_fields, unknown.body) == ({"changed": "true"}, b"")
    await call.register()
    same = await call(RequestCode.QUERY_DATA_VERSION, asked, **call.identity())
    assert same.ext_fields == {"changed": "false"}
    assert codec.decode(DataVersion, same.body) == DataVersion(timestamp=1, counter=1)
    newer = codec.encode(DataVersion(timestamp=1, counter=2))
    assert (await call(RequestCode.QUERY_DATA_VERSION, newer, **call.identity())).ext_fields == {"changed": "true"}


async def test_lists_of_topics(call: Caller) -> None:
    await call.register(wrapper=topics("orders", topic_sys_flag=2))
    await call.register("broker-u", wrapper=topics("unit", topic_sys_flag=1, counter=3))

    async def names(code: int, **fields: Any) -> set[str]:
        return set(orjson.loads((await call(code, b"", **fields)).body)["topicList"])

    assert await names(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {
        "orders",
        "unit",
        "TBW102",
        "SELF_TEST_TOPIC",
    }
    assert "unit" in await names(RequestCode.GET_TOPICS_BY_CLUSTER, cluster="DefaultCluster")
    assert await names(RequestCode.GET_TOPICS_BY_CLUSTER, cluster="nosuch") == set()
    assert await names(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS) == {"DefaultCluster", "broker-a", "broker-u"}
    system = orjson.loads((await call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)).body)
    assert system["brokerAddr"] == "127.0.0.1:10910"
    assert "orders" not in await names(RequestCode.GET_UNIT_TOPIC_LIST)
    assert "unit" in await names(RequestCode.GET_UNIT_TOPIC_LIST)
    assert "orders" in await names(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
    assert "unit" not in await names(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)


async def test_lists_can_be_switched_off(call: Caller) -> None:
    body = b"enableAllTopicList=false\nenableTopicList=false"
    assert (await call(RequestCode.UPDATE_NAMESRV_CONFIG, body)).code == 0
    for code in (RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, RequestCode.GET_UNIT_TOPIC_LIST):
        assert (await call(code)).code == ResponseCode.SYSTEM_ERROR


async def test_a_topic_announced_alone(call: Caller) -> None:
    await call.register()
    queues = QueueData(broker_name="broker-a", read_queue_nums=1, write_queue_nums=1, perm=6)
    body = codec.encode(TopicRouteData(queue_datas=(queues,)))
    await call(RequestCode.REGISTER_TOPIC_IN_NAMESRV, body, topic="single")
    assert (await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="single")).code == 0


async def test_member_group(call: Caller) -> None:
    await call.register()
    await call.register(broker_id=1)
    answer = await call(RequestCode.GET_BROKER_MEMBER_GROUP, clusterName="DefaultCluster", brokerName="broker-a")
    assert answer.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{0:"127.0.0.1:10910",1:"127.0.0.1:10911"},'
        b'"brokerName":"broker-a","cluster":"DefaultCluster"}}'
    )
    nobody = await call(RequestCode.GET_BROKER_MEMBER_GROUP, clusterName="c", brokerName="nobody")
    assert nobody.body == b'{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"nobody","cluster":"c"}}'


async def test_the_order_of_topics_comes_from_the_key_value_table(call: Caller) -> None:
    await call.register()
    await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
    put: dict[str, Any] = {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "broker-a:4"}
    assert (await call(RequestCode.PUT_KV_CONFIG, **put)).code == 0
    assert (await call.register()).body == b'{"table":{"orders":"broker-a:4"}}'
    plain = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
    assert b"orderTopicConf" not in plain.body
    await call(RequestCode.UPDATE_NAMESRV_CONFIG, b"orderMessageEnable=true\nreturnOrderTopicConfigToBroker=false")
    ordered = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
    assert orjson.loads(ordered.body)["orderTopicConf"] == "broker-a:4"
    assert (await call.register()).body == b""
    await call(RequestCode.PUT_KV_CONFIG, **{**put, "value": "broker-a:8"})
    changed = await call(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="orders")
    assert orjson.loads(changed.body)["orderTopicConf"] == "broker-a:8"


async def test_brokers_are_told_of_a_new_lowest_id(call: Caller, nameserver: Nameserver) -> None:
    told: asyncio.Queue[dict[str, str] | None] = asyncio.Queue()
    handlers = ProcessorTable()
    handlers.add(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, lambda _, request: told.put_nowait(request.ext_fields))
    slave = Caller(nameserver, handlers)
    await call(RequestCode.UPDATE_NAMESRV_CONFIG, b"notifyMinBrokerIdChanged=true")
    await call.register(enableActingMaster=True)
    await slave.register(broker_id=1, enableActingMaster=True)
    await call(RequestCode.UNREGISTER_BROKER, **call.identity())
    assert await asyncio.wait_for(told.get(), 60) == {
        "minBrokerId": "1", "brokerName": "broker-a", "minBrokerAddr": "127.0.0.1:10911",
        "offlineBrokerAddr": "127.0.0.1:10910", "haBrokerAddr": "127.0.0.1:10921",
    }  # fmt: skip
    await slave.client.close()
