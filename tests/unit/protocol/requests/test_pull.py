from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.protocol import golden

from sprocketmq.codes import SerializeType
from sprocketmq.errors import CommandError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.requests.pull import NAMES, PullRequest, decode_pull, encode_pull_reply_head

PULLS = [entry for entry in golden.cases("frames") if entry["code"] in (11, 361) and not entry["isResponse"]]
REPLIES = [
    entry for entry in golden.cases("frames") if entry["isResponse"] and "nextBeginOffset" in (entry["extFields"] or {})
]
FIELDS = {
    "consumerGroup": "CG", "topic": "orders", "queueId": "2", "queueOffset": "1234", "maxMsgNums": "32",
    "sysFlag": "7", "commitOffset": "-1", "suspendTimeoutMillis": "15000", "subVersion": "1700000000000",
    "subscription": "TagA || 付款", "expressionType": "TAG", "maxMsgBytes": "262144", "requestSource": "0",
    "proxyFrowardClientId": "proxy", "bulk": "1",
}  # fmt: skip
#: What RocketMQ's own classes declare, without what every header inherits.
HEADERS = {
    name: {row["name"]: row["required"] for row in rows if "from" not in row}
    for name, rows in json.loads((Path(__file__).parents[3] / "data" / "codes.json").read_text())["headers"].items()
}
BOTH = pytest.mark.parametrize("serialize_type", list(SerializeType), ids=str)


def sent(ext: dict[str, str] | None, serialize_type: int = SerializeType.ROCKETMQ) -> Command:
    data = encode_frame(Command(11, opaque=9, ext_fields=ext, serialize_type=serialize_type))
    (command,) = FrameDecoder().feed(data)
    return command


def values(request: PullRequest) -> list[Any]:
    return [
        request.consumer_group, request.topic, request.queue_id, request.queue_offset, request.max_msg_nums,
        request.sys_flag, request.commit_offset, request.suspend_timeout_millis, request.sub_version,
        request.subscription, request.expression_type, request.max_msg_bytes, request.request_source,
        request.proxy_froward_client_id, request.bulk,
    ]  # fmt: skip


def expected(ext: dict[str, str]) -> list[Any]:
    texts = {"consumerGroup", "topic", "subscription", "expressionType", "proxyFrowardClientId"}
    found = [(name, ext.get(name)) for name in NAMES]
    return [value if value is None or name in texts else int(value) for name, value in found]


def test_the_fields_are_those_of_the_table_and_our_own() -> None:
    assert set(NAMES) == HEADERS["PullMessageRequestHeader"].keys() | {"bulk"}


def test_what_the_table_requires_must_be_there() -> None:
    with pytest.raises(CommandError) as caught:
        decode_pull(sent({}))
    required = {name for name, is_required in HEADERS["PullMessageRequestHeader"].items() if is_required}
    assert set(str(caught.value).partition(" lacks ")[2].split(", ")) == required


def test_the_fields_of_a_reply_are_those_of_the_table() -> None:
    (reply,) = FrameDecoder().feed(encode_pull_reply_head(sent(None), 0, None, 1, 2, 3, 4, 0, forbidden_type=5))
    added = {"offsetDelta"}  # of a static topic, by `static_topic.translate`
    assert (reply.ext_fields or {}).keys() | added == HEADERS["PullMessageResponseHeader"].keys()


@pytest.mark.parametrize("entry", PULLS, ids=[entry["file"] for entry in PULLS])
def test_golden_pulls(entry: dict[str, Any]) -> None:
    (command,) = FrameDecoder().feed(golden.content("frames", entry))
    assert values(decode_pull(command)) == expected(entry["extFields"])


@BOTH
def test_every_field(serialize_type: int) -> None:
    assert values(decode_pull(sent(FIELDS, serialize_type))) == expected(FIELDS)


@BOTH
def test_missing_fields_are_named(serialize_type: int) -> None:
    ext = {name: value for name, value in FIELDS.items() if name not in ("topic", "subVersion")}
    with pytest.raises(CommandError, match=r"lacks topic, subVersion$"):
        decode_pull(sent(ext, serialize_type))
    with pytest.raises(CommandError, match="lacks consumerGroup, topic, queueId"):
        decode_pull(sent(None, serialize_type))


@BOTH
@pytest.mark.parametrize("name", ["queueId", "queueOffset", "maxMsgNums", "subVersion", "maxMsgBytes"])
def test_a_wrong_number_is_named(serialize_type: int, name: str) -> None:
    with pytest.raises(CommandError, match=f"pull request: {name} is not a number"):
        decode_pull(sent({**FIELDS, name: "many"}, serialize_type))


@pytest.mark.parametrize("entry", REPLIES, ids=[entry["file"] for entry in REPLIES])
def test_golden_replies(entry: dict[str, Any]) -> None:
    (theirs,) = FrameDecoder().feed(golden.content("frames", entry))
    ext = {name: int(value) for name, value in entry["extFields"].items()}
    head = encode_pull_reply_head(
        sent(None, theirs.serialize_type), entry["code"], entry["remark"], ext["suggestWhichBrokerId"],
        ext["nextBeginOffset"], ext["minOffset"], ext["maxOffset"], len(theirs.body),
    )  # fmt: skip
    (reply,) = FrameDecoder().feed(head + theirs.body)
    assert reply.ext_fields == {"topicSysFlag": "0", "groupSysFlag": "0", **entry["extFields"]}
    assert (reply.code, reply.opaque, reply.remark, reply.body) == (entry["code"], 9, entry["remark"], theirs.body)


@BOTH
@pytest.mark.parametrize("remark", [None, "NO_PERMISSION"])
def test_a_head_waits_for_its_body(serialize_type: int, remark: str | None) -> None:
    head = encode_pull_reply_head(sent(None, serialize_type), 0, remark, 0, 5, 1, 9, 3, 4, 2, 1)
    decoder = FrameDecoder()
    assert decoder.feed(head) == []
    (reply,) = decoder.feed(b"abc")
    assert (reply.body, reply.remark) == (b"abc", remark)
    assert reply.ext_fields == {
        "suggestWhichBrokerId": "0", "nextBeginOffset": "5", "minOffset": "1", "maxOffset": "9", "topicSysFlag": "4",
        "groupSysFlag": "2", "forbiddenType": "1",
    }  # fmt: skip
