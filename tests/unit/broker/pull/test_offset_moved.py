from __future__ import annotations

import json

from tests.unit.broker.support import Caller, bodies, records

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.record.properties import decode_properties

TOPIC = "OFFSET_MOVED_EVENT"


async def test_a_pull_from_an_offset_that_is_not_there_leaves_a_message(caller: Caller) -> None:
    await caller.send()
    assert (await caller.pull(offset=7)).code == ResponseCode.PULL_OFFSET_MOVED
    (event,) = records(await caller.pull(TOPIC))
    assert json.loads(event.body) == {
        "consumerGroup": "G",
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
        "offsetNew": 1,
        "offsetRequest": 7,
    }
    assert decode_properties(event.properties) == {"KEYS": "G", "TAGS": "G"}


async def test_tools_and_resets_leave_none(broker: Broker, caller: Caller) -> None:
    await caller.send()
    assert (await caller.pull(offset=7, group="TOOLS_CONSUMER")).code == ResponseCode.PULL_OFFSET_MOVED
    broker.offsets.reset("G", "T", 0, 0)
    assert (await caller.pull(offset=1)).code == ResponseCode.PULL_OFFSET_MOVED
    assert bodies(await caller.pull(TOPIC)) == []
