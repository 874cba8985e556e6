"""What brokers, clients and tools ask of a nameserver."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

from tests.corpus.model import Close, Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import as_body, ask
from tests.corpus.servers import Code


def _topics(*names: str, counter: int = 1, sys_flag: int = 0) -> dict[str, Any]:
    return {
        "dataVersion": {"counter": counter, "stateVersion": 0, "timestamp": 1},
        "topicConfigTable": {
            name: {"order": False, "perm": 6, "readQueueNums": 4, "topicFilterType": "SINGLE_TAG", "topicName": name,
                   "topicSysFlag": sys_flag, "writeQueueNums": 4}
            for name in ("TBW102", "SELF_TEST_TOPIC", *names)
        },
    }  # fmt: skip


def _identity(name: str = "broker-a", number: int = 0) -> dict[str, Value]:
    """Those of broker-a are numbered; each other broker is a master, and the number is that of its machine."""
    return {
        "brokerName": name, "brokerAddr": f"10.0.0.{number + 1}:10911", "clusterName": "DefaultCluster",
        "brokerId": number if name == "broker-a" else 0,
    }  # fmt: skip


def _register(
    name: str, wrapper: Any, broker: str = "broker-a", number: int = 0, *, more: dict[str, Value] | None = None,
    body: bytes | None = None, **options: Any,
) -> Request:  # fmt: skip
    place: dict[str, Value] = {"haServerAddr": f"10.0.0.{number + 1}:10912", "compressed": False}
    fields = _identity(broker, number) | place | (more or {})
    body = as_body({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}) if body is None else body
    return ask(name, Code.REGISTER_BROKER, fields, body, **options)


_BODY = as_body({"filterServerList": [], "topicConfigSerializeWrapper": _topics("orders")})
_BROKERS: list[Step] = [
    *both(_register("register", _topics("orders"), on="a")),
    _register("register with a sum", None, body=_BODY, more={"bodyCrc32": zlib.crc32(_BODY)}, on="a"),
    _register("register with a wrong sum", None, body=_BODY, more={"bodyCrc32": 5}, on="a"),
    _register("register what is none", None, body=b"{", on="a"),
    _register("register packed nonsense", None, body=b"nonsense", more={"compressed": True}, on="a"),
    *both(_register("register a slave", _topics("orders"), number=1, on="slave")),
    _register("register another", _topics("orders", "bills", sys_flag=1), "broker-b", 5, on="b"),
    _register("register one with unit subscriptions", _topics("units", sys_flag=2), "broker-c", 6, on="c"),
    _register("register again, with more", _topics("orders", "later", counter=2), on="a"),
    _register("register without a body", None, "broker-e", 7, body=b"", on="e"),
    *both(ask("heartbeat", Code.BROKER_HEARTBEAT, _identity() | {"heartbeatTimeoutMills": 60_000}, on="a")),
    *both(ask("data version", Code.QUERY_DATA_VERSION, _identity(),
              {"counter": 2, "stateVersion": 0, "timestamp": 1}, on="a")),
    ask("data version that is newer", Code.QUERY_DATA_VERSION, _identity(),
        {"counter": 3, "stateVersion": 0, "timestamp": 1}, on="a"),
    ask("data version of an unknown broker", Code.QUERY_DATA_VERSION, _identity("broker-x", 9),
        {"counter": 2, "stateVersion": 0, "timestamp": 1}, on="a"),
    *both(ask("one more topic", Code.REGISTER_TOPIC_IN_NAMESRV, {"topic": "single"}, {
        "queueDatas": [{"brokerName": "broker-a", "perm": 6, "readQueueNums": 1, "topicSysFlag": 0,
                        "writeQueueNums": 1}]}, on="a")),
    *both(ask("members of a group", Code.GET_BROKER_MEMBER_GROUP,
              {"clusterName": "DefaultCluster", "brokerName": "broker-a"})),
    ask("members of an unknown group", Code.GET_BROKER_MEMBER_GROUP, {"clusterName": "c", "brokerName": "b"}),
]  # fmt: skip
_ROUTES: list[Step] = [
    *both(ask("route", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})),
    *both(ask("route for an old client", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"}, version=317)),
    ask("route in standard JSON", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders", "acceptStandardJsonOnly": True},
        version=317),
    *both(ask("route of an unknown topic", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "nothing"})),
    *both(ask("route of no topic", Code.GET_ROUTEINFO_BY_TOPIC, {})),
    *both(ask("cluster", Code.GET_BROKER_CLUSTER_INFO, {})),
    *both(ask("all topics", Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})),
    *both(ask("topics of a cluster", Code.GET_TOPICS_BY_CLUSTER, {"cluster": "DefaultCluster"})),
    ask("topics of an unknown cluster", Code.GET_TOPICS_BY_CLUSTER, {"cluster": "nothing"}),
    *both(ask("topics of the system", Code.GET_SYSTEM_TOPIC_LIST_FROM_NS, {})),
    *both(ask("unit topics", Code.GET_UNIT_TOPIC_LIST, {})),
    *both(ask("topics with unit subscriptions", Code.GET_HAS_UNIT_SUB_TOPIC_LIST, {})),
    *both(ask("topics with unit subscriptions and others", Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, {})),
]  # fmt: skip
_TOOLS: list[Step] = [
    *both(ask("put", Code.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})),
    ask("put from another machine", Code.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "far"}, on="far"),
    *both(ask("get", Code.GET_KV_CONFIG, {"namespace": "n", "key": "k"})),
    *both(ask("get what is not there", Code.GET_KV_CONFIG, {"namespace": "n", "key": "nothing"})),
    *both(ask("list", Code.GET_KVLIST_BY_NAMESPACE, {"namespace": "n"})),
    ask("list of nothing", Code.GET_KVLIST_BY_NAMESPACE, {"namespace": "nothing"}),
    *both(ask("delete", Code.DELETE_KV_CONFIG, {"namespace": "n", "key": "k"})),
    *both(ask("config", Code.GET_NAMESRV_CONFIG, {})),
    *both(ask("change of the config", Code.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=false\n")),
    ask("topics of a cluster, now refused", Code.GET_TOPICS_BY_CLUSTER, {"cluster": "DefaultCluster"}),
    ask("change of what may not change", Code.UPDATE_NAMESRV_CONFIG, {}, b"kvConfigPath=/tmp/x\n"),
    *both(ask("no more writes", Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})),
    ask("route without writes", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"}),
    *both(ask("writes again", Code.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})),
    *both(ask("delete a topic", Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "later"})),
    ask("delete from another machine", Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "orders"}, on="far"),
    *both(ask("unknown code", 9999, {})),
    *both(ask("code of a broker", Code.SEND_MESSAGE_V2, {})),
    *both(ask("unregister", Code.UNREGISTER_BROKER, _identity("broker-b", 5), on="b")),
    ask("route after that", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "bills"}),
    Close("connection of the slave", "slave"),
    ask("cluster without the slave", Code.GET_BROKER_CLUSTER_INFO, {}),
    Wait("until the others are silent for too long", 130),
    ask("cluster of nobody", Code.GET_BROKER_CLUSTER_INFO, {}),
]  # fmt: skip


def _to_nameserver(step: Step) -> Step:
    return replace(step, server="nameserver") if isinstance(step, Request) else step


SCENE = Scene("nameserver", tuple(map(_to_nameserver, _BROKERS + _ROUTES + _TOOLS)), {"nameserver": {}})
