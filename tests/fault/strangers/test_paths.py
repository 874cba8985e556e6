"""Names that would be paths: whatever field they are in, nothing is made outside of the store."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path

from tests.fault.strangers.attacks import pull_fields, send_fields
from tests.fault.strangers.stranger import FRIEND, Stranger, broker_among_strangers, strangers

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from sprocketmq.protocol.record.properties import encode_properties

_STEPS = ("..", "../..", "../../..", "..\\..", "....//", "%2e%2e", ".", "~", "/", "//", "/etc", "/tmp/x", "C:")
_JOINTS = ("/", "\\", "%2f", "\0", "/./")
_ENDS = ("evil", "passwd", "commitlog", "../evil", "evil\0", " evil", "e\nvil", "")
PATHS = sorted({f"{step}{joint}{end}" for step, joint, end in product(_STEPS, _JOINTS, _ENDS)})


async def ask_with(peer: Stranger, path: str) -> list[int]:
    """Requests of every kind with `path` where a name belongs; the numbers of those that are awaited."""
    heartbeat = HeartbeatData(
        client_id="c",
        consumer_data_set=(
            ConsumerData(group_name=path, subscription_data_set=(SubscriptionData(topic=path, sub_version=1),)),
        ),
    )
    topic = {
        "topic": path, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": "false",
    }  # fmt: skip
    offset = {"topic": path, "queueId": 0, "consumerGroup": path, "commitOffset": 0, "timestamp": 0}
    back = {"offset": 0, "group": path, "delayLevel": 1, "originMsgId": "x", "originTopic": path}
    pop = {
        "consumerGroup": path, "topic": path, "queueId": 0, "maxMsgNums": 1, "invisibleTime": 1000, "pollTime": 0,
        "bornTime": 0, "initMode": 0,
    }  # fmt: skip
    named = {"INNER_MULTI_DISPATCH": f"%LMQ%{path}", "REAL_TOPIC": path, "RETRY_TOPIC": path, "KEYS": path}
    group = codec.encode(SubscriptionGroupConfig(group_name=path))
    return [
        peer.tell(RequestCode.SEND_MESSAGE_V2, send_fields(path), b"x"),
        peer.tell(RequestCode.SEND_MESSAGE_V2, send_fields(f"%RETRY%{path}"), b"x"),
        peer.tell(RequestCode.SEND_MESSAGE_V2, {**send_fields("Good"), "i": encode_properties(named)}, b"x"),
        peer.tell(RequestCode.SEND_REPLY_MESSAGE_V2, send_fields(path), b"x"),
        peer.tell(RequestCode.HEART_BEAT, None, codec.encode(heartbeat)),
        peer.tell(RequestCode.PULL_MESSAGE, {**pull_fields(path, group=path), "sysFlag": 5}),
        peer.tell(RequestCode.UPDATE_CONSUMER_OFFSET, offset),
        peer.tell(RequestCode.GET_MAX_OFFSET, offset),
        peer.tell(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, offset),
        peer.tell(RequestCode.CONSUMER_SEND_MSG_BACK, back),
        peer.tell(RequestCode.POP_MESSAGE, pop),
        peer.tell(RequestCode.UPDATE_AND_CREATE_TOPIC, topic),
        peer.tell(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, group),
        peer.tell(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": path}),
        peer.tell(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": path, "cleanOffset": "true"}),
        peer.tell(
            RequestCode.QUERY_MESSAGE, {"topic": path, "key": path, "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1}
        ),
    ]


async def test_names_that_would_be_paths(tmp_path: Path) -> None:
    assert len(PATHS) >= 500
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    async with broker_among_strangers(folder) as broker, strangers(broker.port, FRIEND) as (peer,):
        await peer(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields("Good"))
        for path in PATHS:
            for number in await ask_with(peer, path):
                await peer.answer(number)
        named = set(broker.topics.configs) | set(broker.groups.configs)
    assert not [name for name in named if set(name) & set("/\\.\0 \n~:")]
    made = await asyncio.to_thread(lambda: {path.relative_to(tmp_path) for path in tmp_path.rglob("*")})
    inside = Path("a/b/c/store")
    assert not [path for path in made if inside not in (path, *path.parents) and path not in inside.parents]
