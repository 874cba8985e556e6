"""What brokers and administrators ask of a controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.corpus.model import Close, Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import ask
from tests.corpus.servers import Code


def _replica(number: int = 1, name: str = "broker-a") -> dict[str, Value]:
    return {
        "clusterName": "DefaultCluster", "brokerName": name, "brokerId": number,
        "brokerAddress": f"10.0.0.{number}:10911", "invokeTime": 1,
    }  # fmt: skip


def _apply(name: str, number: int, check: str = "", **options: Any) -> Request:
    fields: dict[str, Value] = {
        "clusterName": "DefaultCluster", "brokerName": "broker-a", "appliedBrokerId": number,
        "registerCheckCode": check or f"10.0.0.{number}:10911;1",
    }  # fmt: skip
    return ask(name, Code.CONTROLLER_APPLY_BROKER_ID, fields, **options)


def _beat(name: str, number: int, *, epoch: int = -1, offset: int = 0, **options: Any) -> Request:
    fields: dict[str, Value] = {
        "clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": number,
        "brokerAddr": f"10.0.0.{number}:10911", "epoch": epoch, "maxOffset": offset, "confirmOffset": offset,
        "heartbeatTimeoutMills": 10_000, "electionPriority": 100,
    }  # fmt: skip
    return ask(name, Code.BROKER_HEARTBEAT, fields, on=f"broker-{number}", **options)


def _elect(name: str, number: int, *, designated: bool, broker: str = "broker-a", **options: Any) -> Request:
    fields: dict[str, Value] = {
        "clusterName": options.pop("cluster", "DefaultCluster"), "brokerName": broker, "brokerId": number,
        "designateElect": designated, "invokeTime": 1,
    }  # fmt: skip
    return ask(name, Code.CONTROLLER_ELECT_MASTER, fields, **options)


def _alter(name: str, members: tuple[int, ...], *, master: int = 1, epoch: int = 1, **options: Any) -> Request:
    fields: dict[str, Value] = {
        "brokerName": "broker-a", "masterBrokerId": master, "masterEpoch": epoch, "invokeTime": 1
    }  # fmt: skip
    body = {"syncStateSet": list(members), "syncStateSetEpoch": options.pop("set_epoch", 1)}
    return ask(name, Code.CONTROLLER_ALTER_SYNC_STATE_SET, fields, body, **options)


def _clean(name: str, *, ids: str = "", living: bool = False, broker: str = "broker-a", **options: Any) -> Request:
    fields: dict[str, Value] = {
        "clusterName": "DefaultCluster", "brokerName": broker, "isCleanLivingBroker": living, "invokeTime": 1
    }  # fmt: skip
    if ids:
        fields["brokerControllerIdsToClean"] = ids
    return ask(name, Code.CLEAN_BROKER_DATA, fields, **options)


_NAMED: dict[str, Value] = {"clusterName": "DefaultCluster", "brokerName": "broker-a"}
_IDS: list[Step] = [
    *both(ask("who leads", Code.CONTROLLER_GET_METADATA_INFO)),
    *both(ask("next id of a new set", Code.CONTROLLER_GET_NEXT_BROKER_ID, _NAMED)),
    *both(_apply("apply for the first id", 1)),
    _apply("apply for it with another check", 1, "10.0.0.9:10911;9"),
    _apply("apply for an id that is not the next", 7),
    _apply("apply for the second id", 2),
    _apply("apply for the third id", 3),
    *both(ask("next id", Code.CONTROLLER_GET_NEXT_BROKER_ID, _NAMED)),
]
_MASTER: list[Step] = [
    ask("register one that has no id", Code.CONTROLLER_REGISTER_BROKER, _replica(9)),
    ask("register in a set that is none", Code.CONTROLLER_REGISTER_BROKER, _replica(1, "broker-x")),
    *both(ask("register", Code.CONTROLLER_REGISTER_BROKER, _replica())),
    *both(ask("master of a set without one", Code.CONTROLLER_GET_REPLICA_INFO, _NAMED)),
    *both(_beat("heartbeat", 1)),
    _beat("heartbeat, oneway", 1, flag=2),
    ask("heartbeat without an id", Code.BROKER_HEARTBEAT, {"clusterName": "c", "brokerName": "broker-a",
        "brokerAddr": "10.0.0.1:10911"}),
    *both(_elect("elect", 1, designated=False)),
    _elect("elect in a set that is none", 1, designated=False, broker="broker-x"),
    _elect("elect in another cluster", 1, designated=False, cluster="other"),
    *both(ask("the master", Code.CONTROLLER_GET_REPLICA_INFO, _NAMED)),
    ask("the master of a set that is none", Code.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "broker-x"}),
    ask("register a slave", Code.CONTROLLER_REGISTER_BROKER, _replica(2)),
    ask("register another slave", Code.CONTROLLER_REGISTER_BROKER, _replica(3)),
    _beat("heartbeat of a slave", 2, epoch=1, offset=100),
    _beat("heartbeat of another slave", 3, epoch=1, offset=50),
]  # fmt: skip
_SETS: list[Step] = [
    *both(_alter("both are in sync", (1, 2))),
    _alter("with an epoch of the set that is over", (1,), set_epoch=0),
    _alter("by one that is not the master", (1, 2, 3), master=2, set_epoch=2),
    _alter("in an epoch that is over", (1, 2, 3), epoch=0, set_epoch=2),
    _alter("without the master", (2,), set_epoch=2),
    _alter("with one that is none of them", (1, 2, 9), set_epoch=2),
    ask("without the epoch of the master", Code.CONTROLLER_ALTER_SYNC_STATE_SET, {"brokerName": "broker-a"}, b"{"),
    replace(_alter("with a body that is none", (1,)), body=b"{"),
    *both(ask("who is in sync", Code.CONTROLLER_GET_SYNC_STATE_DATA, None, ["broker-a", "broker-x"])),
    ask("who is in sync, with no names", Code.CONTROLLER_GET_SYNC_STATE_DATA, None, b"x"),
    *both(_elect("elect the slave", 2, designated=True)),
    _elect("elect one that is not in sync", 3, designated=True),
    ask("the master now", Code.CONTROLLER_GET_REPLICA_INFO, _NAMED),
]
_ADMIN: list[Step] = [
    *both(ask("settings", Code.GET_CONTROLLER_CONFIG)),
    *both(ask("change a setting", Code.UPDATE_CONTROLLER_CONFIG, None, b"electMasterMaxRetryCount=5\n")),
    ask("change one that is fixed", Code.UPDATE_CONTROLLER_CONFIG, None, b"listenPort=1\n"),
    ask("change one to what it cannot be", Code.UPDATE_CONTROLLER_CONFIG, None, b"electMasterMaxRetryCount=0\n"),
    ask("change a setting from afar", Code.UPDATE_CONTROLLER_CONFIG, None, b"electMasterMaxRetryCount=6\n", on="far"),
    _elect("elect from afar", 1, designated=True, on="far"),
    _clean("clean from afar", on="far"),
    _clean("clean one that lives", ids="1"),
    *both(_clean("clean one although it lives", ids="3", living=True)),
    _clean("clean with ids that are none", ids="x"),
    _clean("clean a set that is none", broker="broker-x"),
    ask("without the fields it needs", Code.CONTROLLER_ELECT_MASTER, {"brokerName": "broker-a"}),
    ask("what a controller does not know", Code.SEND_MESSAGE, {}),
]
#: A master whose connection ends and that is not reached is missed at once; one that is silent, when its time is over.
_FAILOVER: list[Step] = [
    _beat("the first lives", 1, epoch=2, offset=100),
    _alter("the first is in sync again", (1, 2), master=2, epoch=2, set_epoch=3),
    Close("the master's connection ends", "broker-2"),
    Wait("another is elected", 1.0),
    ask("the master after that", Code.CONTROLLER_GET_REPLICA_INFO, _NAMED),
    Wait("all are silent", 30.0),
    ask("the master when all are silent", Code.CONTROLLER_GET_REPLICA_INFO, _NAMED),
    _clean("clean the whole set", living=True),
    ask("next id when it is gone", Code.CONTROLLER_GET_NEXT_BROKER_ID, _NAMED),
]


def _of_controller(step: Step) -> Step:
    return replace(step, server="controller") if isinstance(step, Request) else step


SCENE = Scene(
    "controller",
    tuple(map(_of_controller, [*_IDS, *_MASTER, *_SETS, *_ADMIN, *_FAILOVER])),
    {"controller": {}},
)
