"""Pulls: found, filtered, out of range, refused; parked ones that are served, expire or lose their connection."""

from __future__ import annotations

from tests.corpus.model import Close, Scene, Step, Wait, both
from tests.corpus.scenes.common import KEY, ask, create_topic, heartbeat, pull, send, subscription
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, properties

_PARK = 4 | 2
_COMMIT = 4 | 1


def _tagged(name: str, tag: str, **more: str) -> Step:
    return send(name, tag.encode(), properties=properties(UNIQ_KEY=KEY, TAGS=tag, **more))


_FILL: list[Step] = [
    create_topic("the topic", "T"),
    *(_tagged(f"message {number}", "ABC"[number % 3], number=str(number)) for number in range(9)),
    create_topic("topic that nobody reads", "WriteOnly", perm=2),
    create_topic("topic without messages", "Empty"),
    ask("group", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, {"groupName": "G", "consumeEnable": True}),
    ask("group that is switched off", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {},
        {"groupName": "Off", "consumeEnable": False}),
    ask("group that does not broadcast", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {},
        {"groupName": "NoBroadcast", "consumeBroadcastEnable": False}),
]  # fmt: skip
_FOUND: list[Step] = [
    *both(pull("all")),
    *both(pull("two", 3, count=2)),
    *both(pull("few bytes", more={"maxMsgBytes": 300})),
    *both(pull("none asked for", count=0)),
    *both(pull("by a tag", expression="B")),
    *both(pull("by two tags", expression="A || C", count=3)),
    *both(pull("by a tag that nobody has", expression="Z")),
    *both(pull("by SQL", kind="SQL92", expression="number > 5 AND TAGS = 'A'")),
    *both(pull("with a commit", 4, sys_flag=_COMMIT, commit=4)),
    *both(pull("as a lite consumer", code=Code.LITE_PULL_MESSAGE, sys_flag=4 | 16)),
    *both(pull("of a proxy", more={"requestSource": 2, "proxyFrowardClientId": "someone"})),
    pull("oneway, json", flag=ONEWAY),
    *both(ask("committed", Code.QUERY_CONSUMER_OFFSET, {"consumerGroup": "G", "topic": "T", "queueId": 0})),
]
_NOT_FOUND: list[Step] = [
    *both(pull("at the end", 9)),
    *both(pull("beyond the end", 99)),
    *both(pull("before the beginning", -1)),
    *both(pull("of an empty topic", topic="Empty")),
    *both(pull("of an empty topic, further on", 5, topic="Empty")),
]
_REFUSED: list[Step] = [
    *both(pull("of an unknown topic", topic="Nothing")),
    *both(pull("of a topic that is not readable", topic="WriteOnly")),
    *both(pull("of a queue that is not there", queue_id=4)),
    *both(pull("of a queue below zero", queue_id=-1)),
    *both(pull("of a group that is switched off", group="Off")),
    *both(pull("by bad SQL", kind="SQL92", expression="number >")),
    *both(pull("by an unknown kind of expression", kind="LUA", expression="x")),
    *both(pull("without a subscription", sys_flag=0)),
    *both(pull("with a number that is none", more={"queueOffset": "many"})),
    *both(ask("without a topic", Code.PULL_MESSAGE, {"consumerGroup": "G"})),
    *both(ask("without fields", Code.PULL_MESSAGE)),
    *both(pull("of a topic with a long name", topic="x" * 300)),
]
_SUBSCRIBED: list[Step] = [
    heartbeat("consumer", group="H", subscriptions=(subscription(text="A", version=5),), on="h1"),
    pull("with the subscription of the heartbeat", group="H", sys_flag=0, sub_version=5, on="h1"),
    pull("with an older subscription", group="H", sys_flag=0, sub_version=4, on="h1"),
    pull("with a newer subscription", group="H", sys_flag=0, sub_version=6, on="h1"),
    pull("of a topic without subscription", group="H", topic="Empty", sys_flag=0, on="h1"),
    heartbeat("consumer with SQL", "client-2", group="S", on="h2",
              subscriptions=(subscription(text="number < 3", kind="SQL92", version=5),)),
    pull("with SQL of the heartbeat", group="S", kind="SQL92", sys_flag=0, sub_version=5, on="h2"),
    heartbeat("broadcasting", "client-3", group="NoBroadcast", subscriptions=(subscription(),), model="BROADCASTING",
              on="h3"),
    pull("broadcasting where it is forbidden", group="NoBroadcast", on="h3"),
    heartbeat("broadcasting where it may", "client-4", group="B", subscriptions=(subscription(),),
              model="BROADCASTING", on="h4"),
    pull("by one that broadcasts", group="B", on="h4"),
]  # fmt: skip
_PARKED: list[Step] = [
    pull("parked, json", 9, sys_flag=_PARK, on="p1"),
    pull("parked, binary", 9, sys_flag=_PARK, on="p2", binary=True),
    pull("parked for a tag", 9, sys_flag=_PARK, expression="B", on="p3"),
    pull("parked for SQL", 9, sys_flag=_PARK, kind="SQL92", expression="number = 11", on="p4"),
    pull("parked with a commit", 9, sys_flag=_PARK | 1, commit=9, on="p5"),
    _tagged("message that wakes", "A", number="9"),
    _tagged("message that wakes for its tag", "B", number="10"),
    _tagged("message that wakes for SQL", "C", number="11"),
    pull("parked to expire, json", 12, sys_flag=_PARK, suspend_ms=2000, on="p1"),
    pull("parked to expire, binary", 12, sys_flag=_PARK, suspend_ms=2500, on="p2", binary=True),
    Wait("two seconds", 2.1),
    Wait("and one more", 1),
    pull("parked on an empty topic", topic="Empty", sys_flag=_PARK, suspend_ms=2000, on="p1"),
    send("first message of it", b"first", topic="Empty"),
    pull("parked and closed", 12, sys_flag=_PARK, suspend_ms=60_000, on="p3"),
    Close("its connection", "p3"),
    pull("parked until its topic is deleted", 1, topic="Empty", sys_flag=_PARK, suspend_ms=60_000, on="p1"),
    ask("deletion", Code.DELETE_TOPIC_IN_BROKER, {"topic": "Empty"}),
    pull("parked with a wait below zero", 12, sys_flag=_PARK, suspend_ms=-5, on="p1", seconds=0.1),
    ask("long polling off", Code.UPDATE_BROKER_CONFIG, {}, b"longPollingEnable=false\n"),
    pull("parked for a short time", 12, sys_flag=_PARK, suspend_ms=20_000, on="p1"),
    Wait("short time", 1.1),
    ask("long polling on", Code.UPDATE_BROKER_CONFIG, {}, b"longPollingEnable=true\n"),
    pull("parked until the broker stops", 12, sys_flag=_PARK, suspend_ms=60_000, on="p1"),
]  # fmt: skip
SCENE = Scene("pull", tuple(_FILL + _FOUND + _NOT_FOUND + _REFUSED + _SUBSCRIBED + _PARKED))
