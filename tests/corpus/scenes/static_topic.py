"""Static topics: logical queue 0 of `S` lies with broker-a, then moves to queue 1 of broker-b at offset 500."""

from __future__ import annotations

from typing import Any

from tests.corpus.model import Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import KEY, ask, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import batch, properties

A, B = "broker-a", "broker-b"
_NAMESERVER = {"namesrvAddr": "127.0.0.1:9876"}
_SERVERS = {"nameserver": {}, A: _NAMESERVER, B: _NAMESERVER}


def _item(gen: int, broker: str, logic: int, queue_id: int = 0) -> dict[str, Any]:
    return {
        "bname": broker, "endOffset": -1, "gen": gen, "logicOffset": logic, "queueId": queue_id, "startOffset": 0,
        "timeOfEnd": -1, "timeOfStart": -1,
    }  # fmt: skip


_OLD, _NEW = _item(0, A, 0), _item(1, B, 500, queue_id=1)


def _mapping(name: str, broker: str, items: list[dict[str, Any]], epoch: int, **options: Any) -> Request:
    body = {"bname": broker, "dirty": False, "epoch": epoch, "hostedQueues": {"0": items}, "scope": "__global__",
            "topic": "S", "totalQueues": 1}  # fmt: skip
    on = "b" if broker == B else "c1"
    return create_topic(name, "S", read=2, write=2, code=Code.UPDATE_AND_CREATE_STATIC_TOPIC, body=body,
                        more={"force": False}, server=broker, on=options.pop("on", on), **options)  # fmt: skip


def _questions(name: str, **options: Any) -> list[Step]:
    place: dict[str, Value] = {"topic": "S", "queueId": 0}
    group: dict[str, Value] = {"consumerGroup": "G", **place}
    return [
        *both(ask(f"{name}: max", Code.GET_MAX_OFFSET, place, **options)),
        *both(ask(f"{name}: min", Code.GET_MIN_OFFSET, place, **options)),
        *both(ask(f"{name}: earliest time", Code.GET_EARLIEST_MSG_STORETIME, place, **options)),
        ask(f"{name}: by time", Code.SEARCH_OFFSET_BY_TIMESTAMP, {**place, "timestamp": 1_700_000_000_100}, **options),
        ask(f"{name}: commit", Code.UPDATE_CONSUMER_OFFSET, {**group, "commitOffset": 2}, **options),
        ask(f"{name}: committed", Code.QUERY_CONSUMER_OFFSET, group, **options),
        ask(f"{name}: max of the physical queue", Code.GET_MAX_OFFSET, {**place, "lo": False}, **options),
        ask(f"{name}: config", Code.GET_TOPIC_CONFIG, {"topic": "S", "lo": True}, **options),
        ask(f"{name}: a queue that is not mapped", Code.GET_MAX_OFFSET, {**place, "queueId": 1}, **options),
    ]  # fmt: skip


_ON_B: dict[str, Any] = {"server": B, "on": "b"}
_STEPS: list[Step] = [
    *both(_mapping("the topic with broker-a", A, [_OLD], 1)),
    *both(send("to its owner", topic="S")),
    *both(send_v1("to its owner, long names", topic="S")),
    *both(send("to its owner without a unique key", topic="S", properties=None)),
    *both(send("to any queue of its owner", topic="S", queue_id=-1)),
    *both(send("batch to its owner", batch((b"one", ""), (b"two", "")), topic="S", batch=True, properties=None)),
    *both(send("to a queue that is not mapped", topic="S", queue_id=1)),
    *both(send("to the physical queue", topic="S", queue_id=1, more={"lo": False})),
    *both(send("half message to its owner", topic="S", sys_flag=4,
               properties=properties(UNIQ_KEY=KEY, TRAN_MSG="true", PGROUP="PG"))),
    *both(pull("from its owner", topic="S")),
    *both(pull("from its owner, at the end", 99, topic="S")),
    pull("parked at its owner", 12, topic="S", sys_flag=6, on="p1"),
    send("that wakes it", topic="S"),
    *_questions("with its owner"),
    _mapping("the move, told to broker-a", A, [_OLD, _NEW], 2),
    _mapping("the move, told to broker-b", B, [_OLD, _NEW], 2),
    _mapping("an older mapping", A, [_OLD], 1),
    _mapping("a mapping from another machine", A, [_OLD, _NEW], 3, on="far"),
    ask("a mapping that is none", Code.UPDATE_AND_CREATE_STATIC_TOPIC, {"topic": "S"}, b"{"),
    *both(send("to the new owner", topic="S", **_ON_B)),
    *both(send("to the old owner", topic="S")),
    *both(pull("old messages from the new owner", topic="S", **_ON_B)),
    *both(pull("new messages from the new owner", 500, topic="S", **_ON_B)),
    *both(pull("between the two", 100, topic="S", **_ON_B)),
    *both(pull("from the old owner", topic="S")),
    pull("parked at the new owner", 502, topic="S", sys_flag=6, server=B, on="b2"),
    send("that wakes it there", topic="S", **_ON_B),
    pull("parked there to expire", 503, topic="S", sys_flag=6, suspend_ms=1000, server=B, on="b2"),
    Wait("until it has expired", 1.5),
    *_questions("with the new owner", **_ON_B),
    *_questions("with the old owner"),
    send("to a topic that the nameserver has to know first", topic="Fresh"),
    send("to it again", topic="Fresh"),
    ask("route of it", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "Fresh"}, server="nameserver", on="n"),
    ask("route of the static topic", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "S"}, server="nameserver", on="n"),
]  # fmt: skip
SCENE = Scene("static_topic", tuple(_STEPS), _SERVERS)
