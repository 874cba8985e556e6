from __future__ import annotations

from typing import Any

import pytest
from tests.unit.protocol import golden

from sprocketmq.codes import RequestCode, SerializeType
from sprocketmq.errors import CommandError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.requests.send import LETTERS, NAMES, SendRequest, decode_send

SENDS = [
    entry
    for entry in golden.cases("frames")
    if (entry["code"] in (10, 310, 320) and "producerGroup" in (entry["extFields"] or {}))
    or "a" in (entry["extFields"] or {})
]  # fmt: skip
FIELDS = {
    "a": "PG", "b": "orders", "c": "TBW102", "d": "4", "e": "-1", "f": "0", "g": "1700000000123", "h": "7",
    "i": "TAGS\x01a\x02", "j": "3", "k": "true", "l": "16", "m": "false", "n": "broker-a",
}  # fmt: skip
BOTH = pytest.mark.parametrize("serialize_type", list(SerializeType), ids=str)


def sent(ext: dict[str, str] | None, serialize_type: int = SerializeType.ROCKETMQ, code: int = 310) -> Command:
    """The command as the peer receives it."""
    data = encode_frame(Command(code, opaque=9, ext_fields=ext, serialize_type=serialize_type))
    (command,) = FrameDecoder().feed(data)
    return command


def values(request: SendRequest) -> tuple[Any, ...]:
    return (
        request.producer_group, request.topic, request.default_topic, request.default_topic_queue_nums,
        request.queue_id, request.sys_flag, request.born_timestamp, request.flag, request.properties,
        request.reconsume_times, request.unit_mode, request.max_reconsume_times, request.batch, request.broker_name,
    )  # fmt: skip


@pytest.mark.parametrize("entry", SENDS, ids=[entry["file"] for entry in SENDS])
def test_golden_sends(entry: dict[str, Any]) -> None:
    (command,) = FrameDecoder().feed(golden.content("frames", entry))
    names = NAMES if entry["code"] == 10 else LETTERS
    ext = [entry["extFields"].get(name) for name in names]
    times = None if ext[11] is None else int(ext[11])
    batch = ext[12] == "true" or entry["code"] == RequestCode.SEND_BATCH_MESSAGE
    assert values(decode_send(command)) == (
        *ext[:3], *map(int, ext[3:8]), (ext[8] or "").encode(), int(ext[9] or 0), ext[10] == "true", times, batch,
        ext[13],
    )  # fmt: skip


@BOTH
@pytest.mark.parametrize("code", [10, 310, 320])
def test_every_field_in_both_spellings(serialize_type: int, code: int) -> None:
    names = dict(zip(LETTERS, NAMES, strict=True)) if code == 10 else {}
    request = decode_send(sent({names.get(k, k): v for k, v in FIELDS.items()}, serialize_type, code))
    assert values(request) == (
        "PG", "orders", "TBW102", 4, -1, 0, 1700000000123, 7, b"TAGS\x01a\x02", 3, True, 16, code == 320, "broker-a",
    )  # fmt: skip


@BOTH
def test_what_may_be_left_out(serialize_type: int) -> None:
    request = decode_send(sent({key: FIELDS[key] for key in "abcdefgh"}, serialize_type))
    assert values(request)[8:] == (b"", 0, False, None, False, None)


@BOTH
def test_unknown_fields_are_ignored(serialize_type: int) -> None:
    assert decode_send(sent({**FIELDS, "o": "x", "A": "y", "long": "z", "": "e"}, serialize_type)).topic == "orders"


@BOTH
def test_missing_fields_are_named(serialize_type: int) -> None:
    ext = {**FIELDS, "e": ""}
    del ext["b"]
    with pytest.raises(CommandError, match=r"lacks b, e$"):
        decode_send(sent(ext, serialize_type))
    with pytest.raises(CommandError, match="lacks producerGroup, topic, defaultTopic"):
        decode_send(sent(None, serialize_type, code=10))


@BOTH
@pytest.mark.parametrize("value", ["x", "1.5", "-", "+", " 1", "2147483648", "-2147483649", "1" * 25, "٣", "1_0"])
def test_a_wrong_number_is_named(serialize_type: int, value: str) -> None:
    with pytest.raises(CommandError, match=r"send request: e is not a number"):
        decode_send(sent({**FIELDS, "e": value}, serialize_type))


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
def test_the_ends_of_the_number_range(value: int) -> None:
    assert decode_send(sent({**FIELDS, "e": f"{value:+d}"})).queue_id == value


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_ends_of_the_long_range(value: int) -> None:
    assert decode_send(sent({**FIELDS, "g": str(value)})).born_timestamp == value
    with pytest.raises(CommandError, match="g is not a number"):
        decode_send(sent({**FIELDS, "g": str(value + (1 if value > 0 else -1))}))
