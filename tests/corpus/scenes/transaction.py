"""Transactions: half messages, their end, check backs, and halves that were given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.corpus.model import Answers, Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import KEY, ask, create_topic, heartbeat, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, properties

_HALF = properties(UNIQ_KEY=KEY, TRAN_MSG="true", PGROUP="PG", TAGS="A")
_PREPARED, _COMMIT, _ROLLBACK = 4, 8, 12
_SERVERS = {"broker-a": {"transactionCheckInterval": "10000", "transactionTimeOut": "6000", "transactionCheckMax": "2"}}


def _half(name: str, **options: Any) -> Request:
    return send(name, name.encode(), properties=_HALF, sys_flag=_PREPARED, **options)


def _place(name: str) -> Callable[[Answers], int]:
    """The commit offset of a half message, out of its id."""
    return lambda answers: int(answers[name].fields["msgId"][16:], 16)


def _end(name: str, half: str, how: int, *, more: dict[str, Value] | None = None, **options: Any) -> Request:
    fields: dict[str, Value] = {
        "producerGroup": "PG", "tranStateTableOffset": lambda answers: answers[half].fields["queueOffset"],
        "commitLogOffset": _place(half), "commitOrRollback": how, "fromTransactionCheck": False,
        "msgId": KEY, "transactionId": KEY, **(more or {}),
    }  # fmt: skip
    return ask(name, Code.END_TRANSACTION, fields, **options)


def _given_up(answers: Answers) -> str:
    """The id of the first half message that was given up: the broker's address, and the place out of its record."""
    return "7F00000100002A9F" + answers["half messages that were given up"].body[28:36].hex().upper()


_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    *both(_half("half to commit")),
    *both(_half("half to roll back")),
    *both(_half("half that stays")),
    send_v1("half with the long names", properties=_HALF, sys_flag=_PREPARED),
    send("half by its property alone", properties=_HALF),
    send("half by its flag alone", sys_flag=_PREPARED),
    _half("half to any queue", queue_id=-1),
    send("half with a delay", properties=_HALF + properties(DELAY="3"), sys_flag=_PREPARED),
    _half("half to a new topic", topic="New"),
    pull("nothing before the end"),
    _end("commit, json", "half to commit, json", _COMMIT),
    _end("commit, binary", "half to commit, binary", _COMMIT, binary=True),
    _end("roll back, json", "half to roll back, json", _ROLLBACK),
    _end("roll back, binary", "half to roll back, binary", _ROLLBACK, binary=True),
    _end("unknown", "half that stays, json", 0),
    _end("commit oneway", "half with the long names", _COMMIT, flag=ONEWAY),
    _end("commit again", "half to commit, json", _COMMIT),
    _end("commit of the one with a delay", "half with a delay", _COMMIT),
    _end("commit of the new topic", "half to a new topic", _COMMIT),
    _end("of another group", "half that stays, json", _COMMIT, more={"producerGroup": "Other"}),
    _end("at a wrong place", "half that stays, json", _COMMIT, more={"commitLogOffset": 5}),
    _end("with a wrong offset", "half that stays, json", _COMMIT, more={"tranStateTableOffset": 77}),
    _end("neither commit nor roll back", "half that stays, json", 3),
    _end("with a number that is none", "half that stays, json", _COMMIT, more={"commitLogOffset": "x"}),
    *both(pull("what was committed")),
    heartbeat("producer", "client-1", producers=("PG",), on="producer"),
    Wait("until the check back", 11),
    _end("commit after the check back", "half that stays, json", _COMMIT, more={"fromTransactionCheck": True},
         on="producer"),
    _end("unknown after the check back", "half that stays, binary", 0, more={"fromTransactionCheck": True},
         on="producer"),
    Wait("until the next check back", 10),
    Wait("until it is given up", 25),
    pull("after all that"),
    ask("half messages that were given up", Code.PULL_MESSAGE, {
        "consumerGroup": "G", "topic": "TRANS_CHECK_MAX_TIME_TOPIC", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32,
        "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*",
        "expressionType": "TAG"}),
    *both(ask("resume a check", Code.RESUME_CHECK_HALF_MESSAGE, {"topic": "T", "msgId": _given_up})),
    ask("resume a check of a half that was not given up", Code.RESUME_CHECK_HALF_MESSAGE,
        {"topic": "T", "msgId": lambda answers: answers["half that stays, binary"].fields["msgId"]}),
    ask("resume a check of nothing", Code.RESUME_CHECK_HALF_MESSAGE, {"msgId": "7F00000100002A9F0000000000000005"}),
    ask("resume a check of no id", Code.RESUME_CHECK_HALF_MESSAGE, {"msgId": "nonsense"}),
    Wait("until the delay is over", 12),
    pull("with the delayed one"),
    ask("half messages refused", Code.UPDATE_BROKER_CONFIG, {}, b"rejectTransactionMessage=true\n"),
    *both(_half("half that is refused")),
]  # fmt: skip
SCENE = Scene("transaction", tuple(_STEPS), _SERVERS)
