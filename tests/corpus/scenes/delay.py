"""Messages for later: delay levels, timers of any length, and their recall."""

from __future__ import annotations

from typing import Any

from tests.corpus.model import START_MS, Request, Scene, Step, Wait, both
from tests.corpus.scenes.common import KEY, ask, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import properties

_SERVERS = {"broker-a": {"timerWheelEnable": "true", "recallMessageEnable": "true"}}


def _later(name: str, topic: str = "T", **entries: str) -> tuple[Request, ...]:
    return both(send(name, name.encode(), topic=topic, properties=properties(UNIQ_KEY=KEY, TAGS="A", **entries)))


def _recall(name: str, handle: Any, **options: Any) -> Request:
    return ask(name, Code.RECALL_MESSAGE, {"producerGroup": "PG", "topic": "T", "recallHandle": handle}, **options)


_RECALLED = KEY[:-2] + "EE"
_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    *_later("one second by level", DELAY="1"),
    *_later("five seconds by level", DELAY="2"),
    *_later("the highest level and more", DELAY="99"),
    *_later("level nought", DELAY="0"),
    *_later("a level below nought", DELAY="-1"),
    *_later("a level that is no number", DELAY="soon"),
    *both(send_v1("one second by level, long names", properties=properties(UNIQ_KEY=KEY, DELAY="1"))),
    *both(send("by level without a unique key", properties=properties(DELAY="1"))),
    *_later("timer in seconds", TIMER_DELAY_SEC="3"),
    *_later("timer in milliseconds", TIMER_DELAY_MS="3000"),
    *_later("timer by its moment", TIMER_DELIVER_MS=str(START_MS + 5_000)),
    *_later("timer in the past", TIMER_DELIVER_MS=str(START_MS - 5_000)),
    *_later("timer too far away", TIMER_DELAY_SEC="999999999"),
    *_later("timer that is no number", TIMER_DELAY_SEC="soon"),
    *_later("timer and level", TIMER_DELAY_SEC="2", DELAY="2"),
    *_later("timer to a new topic", "New", TIMER_DELAY_SEC="2"),
    *both(send("timer to any queue", queue_id=-1, properties=properties(UNIQ_KEY=KEY, TIMER_DELAY_SEC="2"))),
    send("timer to recall", properties=properties(UNIQ_KEY=_RECALLED, TIMER_DELAY_SEC="6")),
    _recall("recall, json", lambda answers: answers["timer to recall"].fields["recallHandle"]),
    _recall("recall, binary", lambda answers: answers["timer to recall"].fields["recallHandle"], binary=True),
    *both(_recall("recall of no handle", "nonsense")),
    _recall("recall of an empty handle", ""),
    pull("nothing yet"),
    *both(ask("delay offsets", Code.GET_ALL_DELAY_OFFSET, {})),
    *both(ask("timer check point", Code.GET_TIMER_CHECK_POINT, {})),
    *both(ask("timer metrics", Code.GET_TIMER_METRICS, {})),
    Wait("one second", 1.5),
    *both(pull("after one second", count=100)),
    Wait("three seconds more", 3),
    pull("after four seconds", 2, count=100),
    Wait("ten seconds more", 10),
    pull("after all but the longest", 2, count=100),
    pull("the new topic", topic="New"),
    *both(ask("timer metrics afterwards", Code.GET_TIMER_METRICS, {})),
    ask("recall switched off", Code.UPDATE_BROKER_CONFIG, {}, b"recallMessageEnable=false\n"),
    *both(_recall("recall that is refused", "nonsense")),
]
SCENE = Scene("delay", tuple(_STEPS), _SERVERS)
WITHOUT = Scene(
    "delay_without_timer",
    (
        create_topic("the topic", "T"),
        *_later("timer in seconds", TIMER_DELAY_SEC="3"),
        *both(ask("timer check point", Code.GET_TIMER_CHECK_POINT, {})),
        *both(ask("timer metrics", Code.GET_TIMER_METRICS, {})),
        pull("what is there"),
    ),
)
