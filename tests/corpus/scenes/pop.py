"""POP: taking, acknowledging, hiding longer, what comes back, in order, parked, and the questions around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.corpus.model import Answers, Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import as_body, ask, create_topic, heartbeat, send, subscription
from tests.corpus.servers import Code

_SERVERS = {"broker-a": {"timerWheelEnable": "true", "reviveQueueNum": "1"}}


def _pop(name: str, *, more: dict[str, Value] | None = None, **options: Any) -> Request:
    fields: dict[str, Value] = {
        "consumerGroup": "G", "topic": "T", "queueId": 0, "maxMsgNums": 4, "invisibleTime": 10_000, "pollTime": 0,
        "bornTime": 0, "initMode": 0, "expType": "TAG", "exp": "*", "order": False, **(more or {}),
    }  # fmt: skip
    return ask(name, Code.POP_MESSAGE, fields, **options)


def _info(name: str, number: int) -> Callable[[Answers], str]:
    """The extra info of one message of an earlier pop."""

    def made(answers: Answers) -> str:
        found = answers[name].fields
        flag, queue_id, start = found["startOffsetInfo"].split(";")[0].split(" ")
        offset = _offset(name, number)(answers)
        head = f"{start} {found['popTime']} {found['invisibleTime']} {found['reviveQid']}"
        return f"{head} {flag} broker-a {queue_id} {offset}"

    return made


def _offset(name: str, number: int) -> Callable[[Answers], str]:
    return lambda answers: answers[name].fields["msgOffsetInfo"].split(";")[0].split(" ")[2].split(",")[number]


def _one(name: str, code: int, popped: str, number: int, more: dict[str, Value] | None = None) -> Request:
    fields: dict[str, Value] = {
        "consumerGroup": "G", "topic": "T", "queueId": 0, "offset": _offset(popped, number),
        "extraInfo": _info(popped, number), **(more or {}),
    }  # fmt: skip
    return ask(name, code, fields)


def _batch_ack(answers: Answers) -> bytes:
    found = answers["second pop, json"].fields
    start = int(found["startOffsetInfo"].split(" ")[2])
    one = {
        "c": "G", "t": "T", "r": "0", "so": start, "q": 0, "rq": int(found["reviveQid"]), "pt": int(found["popTime"]),
        "it": int(found["invisibleTime"]), "b": "AQ==",
    }  # fmt: skip
    return as_body({"brokerName": "broker-a", "acks": [one]})


_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    create_topic("topic in order", "Fifo", attributes="+message.type=FIFO"),
    *(send(f"message {number}", str(number).encode()) for number in range(12)),
    *(send(f"message {number} in order", str(number).encode(), topic="Fifo") for number in range(4)),
    *both(ask("peek", Code.PEEK_MESSAGE, {"consumerGroup": "G", "topic": "T", "queueId": 0, "maxMsgNums": 2})),
    *both(ask("polling info", Code.POLLING_INFO, {"consumerGroup": "G", "topic": "T", "queueId": 0})),
    *both(ask("notification when there is something", Code.NOTIFICATION,
              {"consumerGroup": "G", "topic": "T", "queueId": 0, "pollTime": 0, "bornTime": 0})),
    *both(_pop("first pop")),
    *both(_pop("another pop")),
    *both(_pop("second pop", more={"maxMsgNums": 1})),
    _one("ack", Code.ACK_MESSAGE, "first pop, json", 0),
    _one("ack again", Code.ACK_MESSAGE, "first pop, json", 0),
    _one("ack of another", Code.ACK_MESSAGE, "another pop, json", 3),
    _one("hidden longer", Code.CHANGE_MESSAGE_INVISIBLETIME, "first pop, json", 1, {"invisibleTime": 30_000}),
    _one("hidden again", Code.CHANGE_MESSAGE_INVISIBLETIME, "another pop, json", 0, {"invisibleTime": 5_000}),
    ask("batch of acks", Code.BATCH_ACK_MESSAGE, {}, _batch_ack),
    ask("batch of acks that is none", Code.BATCH_ACK_MESSAGE, {}, b"{"),
    _one("ack of a queue that is not there", Code.ACK_MESSAGE, "first pop, json", 0, {"queueId": 9}),
    _one("ack of an unknown topic", Code.ACK_MESSAGE, "first pop, json", 0, {"topic": "Nothing"}),
    _one("ack with a bad info", Code.ACK_MESSAGE, "first pop, json", 0, {"extraInfo": "1 2 3"}),
    _one("ack beyond the end", Code.ACK_MESSAGE, "first pop, json", 0, {"offset": 99}),
    _one("hidden longer with a bad info", Code.CHANGE_MESSAGE_INVISIBLETIME, "first pop, json", 0,
         {"extraInfo": "", "invisibleTime": 1}),
    *both(_pop("rest", more={"maxMsgNums": 32})),
    *both(_pop("nothing left")),
    *both(_pop("all queues", more={"queueId": -1, "maxMsgNums": 32})),
    _pop("parked", more={"pollTime": 5_000, "bornTime": 1_700_000_000_500}, on="p1"),
    _pop("parked to expire", more={"queueId": 3, "pollTime": 2_000, "bornTime": 1_700_000_000_500}, on="p2"),
    ask("notification that waits", Code.NOTIFICATION, {
        "consumerGroup": "H", "topic": "T", "queueId": 2, "pollTime": 5_000, "bornTime": 1_700_000_000_500}, on="p3"),
    ask("polling info while some wait", Code.POLLING_INFO, {"consumerGroup": "G", "topic": "T", "queueId": 3}),
    send("message for the one that waits", b"wakes"),
    send("message for the notification", b"wakes", queue_id=2),
    Wait("until the other has expired", 3),
    Wait("until what was not acknowledged comes back", 15),
    *both(_pop("what came back", more={"maxMsgNums": 32})),
    Wait("until what was hidden longer comes back", 30),
    *both(_pop("what was hidden longer", more={"maxMsgNums": 32})),
    *both(_pop("of a new group from the end", more={"consumerGroup": "Late", "initMode": 1})),
    *both(_pop("by a tag", more={"consumerGroup": "Tag", "exp": "A"})),
    *both(_pop("by SQL", more={"consumerGroup": "Sql", "expType": "SQL92", "exp": "a = 1"})),
    *both(_pop("by bad SQL", more={"consumerGroup": "Sql", "expType": "SQL92", "exp": "a ="})),
    *both(_pop("of an unknown topic", more={"topic": "Nothing"})),
    *both(_pop("of a queue that is not there", more={"queueId": 9})),
    *both(_pop("too many", more={"maxMsgNums": 33})),
    *both(_pop("too late", more={"bornTime": 1, "pollTime": 1})),
    *both(_pop("with a number that is none", more={"invisibleTime": "long"})),
    _pop("in order", more={"topic": "Fifo", "order": True, "attemptId": "a1", "maxMsgNums": 2}),
    _pop("in order, the same attempt", more={"topic": "Fifo", "order": True, "attemptId": "a1", "maxMsgNums": 2}),
    _pop("in order, blocked", more={"topic": "Fifo", "order": True, "attemptId": "a2", "maxMsgNums": 2}),
    _one("ack in order, of the first attempt", Code.ACK_MESSAGE, "in order", 0, {"topic": "Fifo"}),
    _one("ack in order", Code.ACK_MESSAGE, "in order, the same attempt", 0, {"topic": "Fifo"}),
    _one("hidden longer in order", Code.CHANGE_MESSAGE_INVISIBLETIME, "in order, the same attempt", 1,
         {"topic": "Fifo", "invisibleTime": 2_000}),
    _one("ack in order of the other", Code.ACK_MESSAGE, "in order, the same attempt", 1, {"topic": "Fifo"}),
    Wait("until it is free", 3),
    _pop("in order, the next", more={"topic": "Fifo", "order": True, "attemptId": "a3", "maxMsgNums": 2}),
    *both(ask("roll back", Code.POP_ROLLBACK, {})),
    heartbeat("member 1", "client-1", group="A", subscriptions=(subscription(),), on="m1"),
    heartbeat("member 2", "client-2", group="A", subscriptions=(subscription(),), on="m2"),
    *(ask(f"assignment by {strategy} of {client}", Code.QUERY_ASSIGNMENT, {}, {
        "clientId": client, "consumerGroup": "A", "messageModel": model, "strategyName": strategy, "topic": "T"})
      for client, strategy, model in (
        ("client-1", "AVG", "CLUSTERING"), ("client-2", "AVG_BY_CIRCLE", "CLUSTERING"),
        ("client-2", "AVG", "BROADCASTING"), ("client-1", "NONE", "CLUSTERING"))),
    *both(ask("request mode", Code.SET_MESSAGE_REQUEST_MODE, {},
              {"consumerGroup": "A", "mode": "POP", "popShareQueueNum": 0, "topic": "T"})),
    ask("request mode of a retry topic", Code.SET_MESSAGE_REQUEST_MODE, {},
        {"consumerGroup": "A", "mode": "POP", "popShareQueueNum": 0, "topic": "%RETRY%A"}),
    ask("assignment of a group that pops", Code.QUERY_ASSIGNMENT, {}, {
        "clientId": "client-1", "consumerGroup": "A", "messageModel": "CLUSTERING", "strategyName": "AVG",
        "topic": "T"}),
    ask("assignment that is none", Code.QUERY_ASSIGNMENT, {}, b"[]"),
]  # fmt: skip
SCENE = Scene("pop", tuple(_STEPS), _SERVERS)
