"""Messages that a consumer gives back, dead letters, and replies to requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.corpus.model import Answers, Request, Scene, Step, Value, Wait, both
from tests.corpus.scenes.common import KEY, ask, create_topic, heartbeat, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, RESPONSE, properties

_REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"
_REPLY = properties(UNIQ_KEY=KEY, CORRELATION_ID="c", REPLY_TO_CLIENT="asker", MSG_TYPE="reply")


def _place(name: str) -> Callable[[Answers], int]:
    return lambda answers: int(answers[name].fields["msgId"][16:], 16)


def _back(name: str, message: str, level: int, *, more: dict[str, Value] | None = None, **options: Any) -> Request:
    fields: dict[str, Value] = {
        "offset": _place(message), "group": "G", "delayLevel": level, "originMsgId": KEY, "originTopic": "T",
        "unitMode": False, "maxReconsumeTimes": 16, **(more or {}),
    }  # fmt: skip
    return ask(name, Code.CONSUMER_SEND_MSG_BACK, fields, **options)


_BACK: list[Step] = [
    create_topic("the topic", "T"),
    ask("group", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, {"groupName": "G", "retryMaxTimes": 2}),
    ask("group without retries", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {},
        {"groupName": "None", "retryQueueNums": 0}),
    *(send(f"message {number}", str(number).encode(), properties=properties(UNIQ_KEY=KEY, TAGS="A", KEYS="k"))
      for number in range(6)),
    *both(_back("back with the level of the broker", "message 0", 0)),
    *both(_back("back with a level", "message 1", 1)),
    *both(_back("back for good", "message 2", -1)),
    _back("back oneway", "message 3", 1, flag=ONEWAY),
    _back("back of the last try", "message 4", 0, more={"maxReconsumeTimes": 0}),
    _back("back without the optional fields", "message 5", 0, more={"originTopic": "", "originMsgId": ""}),
    _back("back of an unknown group", "message 0", 0, more={"group": "Unknown"}),
    _back("back of a group without retries", "message 0", 0, more={"group": "None"}),
    _back("back of nothing", "message 0", 0, more={"offset": 3}),
    _back("back beyond the end", "message 0", 0, more={"offset": 999_999}),
    _back("back with a level that is none", "message 0", 0, more={"delayLevel": "x"}),
    Wait("until the short ones come", 2),
    *both(pull("the retry topic", topic="%RETRY%G")),
    Wait("until the others come", 15),
    pull("the retry topic again", topic="%RETRY%G"),
    pull("the dead letters", topic="%DLQ%G"),
    *both(send("to the retry topic", b"again", topic="%RETRY%G", group="CLIENT_INNER_PRODUCER", reconsumed=1,
               properties=properties(UNIQ_KEY=KEY, RETRY_TOPIC="T", ORIGIN_MESSAGE_ID=KEY, DELAY="1"))),
    *both(send("to the retry topic once too often", b"dead", topic="%RETRY%G", group="CLIENT_INNER_PRODUCER",
               reconsumed=3, more={"l": 2},
               properties=properties(UNIQ_KEY=KEY, RETRY_TOPIC="T", ORIGIN_MESSAGE_ID=KEY))),
    *both(send("to the retry topic of an unknown group", b"again", topic="%RETRY%Unknown", reconsumed=1)),
    pull("the dead letters again", topic="%DLQ%G"),
]  # fmt: skip
_REPLIES: list[Step] = [
    heartbeat("asker", "asker", producers=("PG",), on="asker"),
    send("reply, json", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2, properties=_REPLY),
    ask("answer of the asker", 0, {}, flag=RESPONSE, answers_server=True, on="asker"),
    send("reply, binary", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2, properties=_REPLY,
         binary=True),
    ask("answer of the asker, binary", 0, {}, flag=RESPONSE, answers_server=True, on="asker", binary=True),
    send_v1("reply with the long names", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE,
            properties=_REPLY),
    ask("refusal of the asker", 1, {}, flag=RESPONSE, answers_server=True, on="asker", remark="no"),
    send("reply that the asker does not answer", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2,
         properties=_REPLY, seconds=12),
    *both(send("reply to nobody", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2,
               properties=_REPLY.replace("asker", "gone"))),
    send("reply to no client", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2),
    send("reply to any queue", b"answer", topic=_REPLY_TOPIC, code=Code.SEND_REPLY_MESSAGE_V2,
         properties=_REPLY.replace("asker", "gone"), queue_id=-1),
    pull("replies that are kept", topic=_REPLY_TOPIC),
]  # fmt: skip
SCENE = Scene("retry", tuple(_BACK + _REPLIES))
