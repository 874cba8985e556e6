"""Whoever changes a broker is named in its log, and so is whoever may not."""

from __future__ import annotations

import logging

import pytest
from tests.unit.broker.support import Caller

from sprocketmq.codes import RequestCode, ResponseCode

_TOPIC = {
    "topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "order": False,
    "topicFilterType": "SINGLE_TAG",
}  # fmt: skip
_MODE = b'{"topic":"T","consumerGroup":"G","mode":"POP","popShareQueueNum":1}'
_RESET = {"group": "G", "topic": "T", "queueId": -1, "offset": -1, "timestamp": 0, "isForce": True}
_CLONE = {"srcGroup": "G", "destGroup": "H", "topic": "T", "offline": True}

CHANGES: list[tuple[int, dict[str, object], bytes]] = [
    (RequestCode.UPDATE_AND_CREATE_TOPIC, dict(_TOPIC), b""),
    (RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, {}, b'{"topicConfigList":[{"topicName":"L"}]}'),
    (RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}, b""),
    (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"G"}'),
    (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, b'{"groupConfigList":[{"groupName":"G"}]}'),
    (RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G"}, b""),
    (RequestCode.UPDATE_BROKER_CONFIG, {}, b"traceOn=false"),
    (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, dict(_RESET), b""),
    (RequestCode.CLONE_GROUP_OFFSET, dict(_CLONE), b""),
    (RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, {}, b""),
    (RequestCode.CLEAN_UNUSED_TOPIC, {}, b""),
    (RequestCode.DELETE_EXPIRED_COMMITLOG, {}, b""),
    (RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": "G", "topic": "T", "readable": False}, b""),
    (RequestCode.SET_MESSAGE_REQUEST_MODE, {}, _MODE),
    (RequestCode.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": 0}, b""),
]


def logged_peers(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(record.__dict__["fields"].get("peer")) for record in caplog.records if "fields" in record.__dict__]


@pytest.mark.parametrize(("code", "fields", "body"), CHANGES)
async def test_a_change_is_logged_with_its_peer(
    caller: Caller, caplog: pytest.LogCaptureFixture, code: int, fields: dict[str, object], body: bytes
) -> None:
    await caller.send("T")
    await caller.pull("T")  # makes the group
    with caplog.at_level(logging.INFO, "sprocketmq"):
        answer = await caller.call(code, fields, body)
    assert answer.code == 0, answer.remark
    assert any(peer.startswith("127.0.0.1:") for peer in logged_peers(caplog))


async def test_a_stranger_who_tries_is_logged(stranger: Caller, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sprocketmq"):
        answer = await stranger(RequestCode.CLEAN_UNUSED_TOPIC)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert "192.0.2.9:5" in logged_peers(caplog)
