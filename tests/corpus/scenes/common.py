"""Requests that many scenes make."""

from __future__ import annotations

import json
from typing import Any

from tests.corpus.model import START_MS, Request, Value
from tests.corpus.servers import Code
from tests.corpus.wire import properties as encoded

KEY = "7F0000010000000000000000000000AB"
KEYED = encoded(UNIQ_KEY=KEY)

_LONG = (
    "producerGroup",
    "topic",
    "defaultTopic",
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
)
_SHORT = "abcdefgh"


def send(
    name: str, body: Any = b"body", *, topic: str = "T", queue_id: object = 0, properties: str | None = KEYED,
    sys_flag: int = 0, message_flag: int = 0, model: str = "TBW102", group: str = "PG", batch: bool = False,
    code: int = 0, reconsumed: int = 0, more: dict[str, Value] | None = None, **options: Any,
) -> Request:  # fmt: skip
    """SEND_MESSAGE_V2, as Java's client sends it."""
    values = (group, topic, model, 4, queue_id, sys_flag, START_MS, message_flag)
    fields: dict[str, Value] = dict(zip(_SHORT, values, strict=True))
    if properties is not None:
        fields["i"] = properties
    fields |= {"j": reconsumed, "k": False, "m": batch, "n": "broker-a"} | (more or {})
    code = code or (Code.SEND_BATCH_MESSAGE if batch else Code.SEND_MESSAGE_V2)
    return Request(name, code, fields, body, **options)


def send_v1(
    name: str, body: Any = b"body", *, topic: str = "T", queue_id: object = 0, properties: str | None = KEYED,
    sys_flag: int = 0, message_flag: int = 0, model: str = "TBW102", group: str = "PG", batch: bool = False,
    code: int = Code.SEND_MESSAGE, more: dict[str, Value] | None = None, **options: Any,
) -> Request:  # fmt: skip
    """SEND_MESSAGE, with the long names."""
    values = (group, topic, model, 4, queue_id, sys_flag, START_MS, message_flag)
    fields: dict[str, Value] = dict(zip(_LONG, values, strict=True))
    if properties is not None:
        fields["properties"] = properties
    fields |= {"reconsumeTimes": 0, "unitMode": False, "batch": batch} | (more or {})
    return Request(name, code, fields, body, **options)


def pull(
    name: str, offset: Value = 0, *, topic: str = "T", group: str = "G", queue_id: object = 0, count: int = 32,
    sys_flag: int = 4, expression: str = "*", kind: str = "TAG", suspend_ms: object = 3000, commit: Value = 0,
    sub_version: int = 0, code: int = Code.PULL_MESSAGE, more: dict[str, Value] | None = None, **options: Any,
) -> Request:  # fmt: skip
    """`sys_flag`: 1 commits an offset, 2 may be parked, 4 brings its subscription, 16 is a lite pull."""
    fields: dict[str, Value] = {
        "consumerGroup": group, "topic": topic, "queueId": queue_id, "queueOffset": offset, "maxMsgNums": count,
        "sysFlag": sys_flag, "commitOffset": commit, "suspendTimeoutMillis": suspend_ms, "subVersion": sub_version,
        "subscription": expression, "expressionType": kind, **(more or {}),
    }  # fmt: skip
    return Request(name, code, fields, **options)


def ask(name: str, code: int, fields: dict[str, Value] | None = None, body: Any = b"", **options: Any) -> Request:
    """Any other request; a body that is no bytes is sent as JSON."""
    return Request(name, code, fields, body if callable(body) else as_body(body), **options)


def as_body(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def subscription(topic: str = "T", text: str = "*", *, kind: str = "TAG", version: int = 1) -> dict[str, Any]:
    return {
        "classFilterMode": False, "codeSet": [], "expressionType": kind, "subString": text, "subVersion": version,
        "tagsSet": [], "topic": topic,
    }  # fmt: skip


def heartbeat(
    name: str, client: str = "client-1", *, group: str = "", subscriptions: tuple[dict[str, Any], ...] = (),
    model: str = "CLUSTERING", producers: tuple[str, ...] = (), kind: str = "CONSUME_PASSIVELY", **options: Any,
) -> Request:  # fmt: skip
    consumer = {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": kind, "groupName": group,
        "messageModel": model, "subscriptionDataSet": list(subscriptions), "unitMode": False,
    }  # fmt: skip
    body = {
        "clientID": client, "consumerDataSet": [consumer] if group else [], "heartbeatFingerprint": 0,
        "producerDataSet": [{"groupName": each} for each in producers], "withoutSub": False,
    }  # fmt: skip
    return Request(name, Code.HEART_BEAT, {}, as_body(body), **options)


def create_topic(
    name: str, topic: str, *, read: int = 4, write: int = 4, perm: int = 6, attributes: str = "",
    code: int = Code.UPDATE_AND_CREATE_TOPIC, more: dict[str, Value] | None = None, body: Any = b"", **options: Any,
) -> Request:  # fmt: skip
    fields: dict[str, Value] = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": read, "writeQueueNums": write, "perm": perm,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False, "attributes": attributes, **(more or {}),
    }  # fmt: skip
    return Request(name, code, fields, as_body(body), **options)
