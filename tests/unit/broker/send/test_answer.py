from __future__ import annotations

import struct
from typing import Any

import pytest
from tests.unit.protocol import golden

from sprocketmq.broker.send.answer import SendAnswers
from sprocketmq.broker.send.waiting_answers import changed_answer
from sprocketmq.codes import SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.store.log.append import PutResult

REPLIES = [entry for entry in golden.cases("frames") if entry["isResponse"] and "msgId" in (entry["extFields"] or {})]
BOTH = pytest.mark.parametrize("serialize_type", list(SerializeType))


def stored(ids: list[str], queue_offset: int) -> PutResult:
    offsets = [int(each[-16:], 16) for each in ids]
    result = PutResult(0, offsets[0], 100, queue_offset, count=len(ids))
    result.offsets = struct.pack(f">{len(ids)}q", *offsets) if len(ids) > 1 else None
    return result


def answered(
    request: Command, result: PutResult, key: bytes, handle: bytes | None = None, region: str = "DefaultRegion",
    queue_id: int = 1,
) -> bytes:  # fmt: skip
    """With the key somewhere in a longer text, as in a message's properties."""
    answers = SendAnswers("7F00000100002A9F", region, True)
    return answers.encode(request, queue_id, result, b"before" + key + b"behind", 6, 6 + len(key), handle)


@pytest.mark.parametrize("entry", REPLIES, ids=[entry["file"] for entry in REPLIES])
def test_golden_replies(entry: dict[str, Any]) -> None:
    ext, kind = entry["extFields"], SerializeType[entry["serializeType"]]
    ids, key = ext["msgId"].split(","), ext.get("transactionId", "").encode()
    answers = SendAnswers(ids[0][:-16], "DefaultRegion", True)
    request = Command(310, opaque=entry["opaque"], serialize_type=kind)
    result = stored(ids, int(ext["queueOffset"]))
    (reply,) = FrameDecoder().feed(answers.encode(request, int(ext["queueId"]), result, key, 0, len(key), None))
    assert reply.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", **ext}
    assert (reply.code, reply.opaque, reply.flag, reply.remark) == (0, entry["opaque"], 1, None)
    assert reply.serialize_type == kind


@BOTH
@pytest.mark.parametrize("opaque", [0, 7, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("name", ["plain", 'quo"te', "back\\slash", "new\nline", "ключ😀", "\x7f", ""])
def test_an_answer_is_what_the_codec_makes_of_its_fields(serialize_type: int, name: str, opaque: int) -> None:
    request = Command(310, opaque=opaque, serialize_type=serialize_type)
    fields = {
        "msgId": "7F00000100002A9F00000000000000FF", "queueId": "10", "queueOffset": "9000000000",
        "MSG_REGION": f"the {name}", "TRACE_ON": "true", "transactionId": name, "recallHandle": f"{name}!",
    }  # fmt: skip
    if not name:
        del fields["transactionId"]
    result = stored([fields["msgId"]], 9_000_000_000)
    frame = answered(request, result, name.encode(), f"{name}!".encode(), f"the {name}", 10)
    assert frame == encode_frame(request.reply(ext_fields=fields))
    late = encode_frame(request.reply(10, "too late", ext_fields=fields))
    assert encode_frame(changed_answer(frame, 10, "too late")) == late


@BOTH
def test_a_batch_without_a_key_has_no_transaction_id(serialize_type: int) -> None:
    ids = [f"7F00000100002A9F{offset:016X}" for offset in (0, 0x0123456789ABCDEF, 0x7EDCBA9876543210, 2**63 - 1)]
    (reply,) = FrameDecoder().feed(answered(Command(320, serialize_type=serialize_type), stored(ids, 0), b""))
    assert reply.ext_fields == {
        "msgId": ",".join(ids), "queueId": "1", "queueOffset": "0", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
    }  # fmt: skip
