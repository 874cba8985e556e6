from __future__ import annotations

import hashlib
import tracemalloc
from typing import Any

import orjson
import pytest
from tests.unit.protocol import golden

from sprocketmq.codes import LanguageCode, SerializeType
from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.binary_header import decode_block
from sprocketmq.protocol.frame.decoder import MAX_FRAME_BYTES, FrameDecoder, encode_frame

FRAMES = golden.cases("frames")
FILES = [entry["file"] for entry in FRAMES]


def fields(command: Command) -> tuple[Any, ...]:
    return (
        command.code, command.opaque, command.flag, command.language, command.version, command.remark,
        command.ext_fields, command.body, command.serialize_type,
    )  # fmt: skip


def assert_decodes(data: bytes, expected: list[Command]) -> None:
    """Whole, byte by byte, and with the beginning of another frame behind it."""
    wanted = [fields(command) for command in expected]
    assert [fields(command) for command in FrameDecoder().feed(data)] == wanted
    dribble = FrameDecoder()
    assert [fields(command) for byte in data for command in dribble.feed(bytes([byte]))] == wanted
    tail = FrameDecoder()
    assert [fields(command) for command in tail.feed(data + b"\x00\x00")] == wanted
    assert tail.feed(b"") == []
    assert tail.pending == 2


def one(data: bytes) -> Command:
    (command,) = FrameDecoder().feed(data)
    return command


def frame(header: bytes, body: bytes = b"", serialize_type: int = SerializeType.JSON) -> bytes:
    head = serialize_type << 24 | len(header)
    return (4 + len(header) + len(body)).to_bytes(4, "big") + head.to_bytes(4, "big") + header + body


def binary(
    remark: bytes = b"", ext: bytes = b"", *, remark_length: int | None = None, ext_length: int | None = None
) -> bytes:
    remark_size = len(remark) if remark_length is None else remark_length
    ext_size = len(ext) if ext_length is None else ext_length
    lengths = [size.to_bytes(4, "big", signed=True) for size in (remark_size, ext_size)]
    header = bytes.fromhex("000a 00 01df 00000007 00000000") + lengths[0] + remark + lengths[1] + ext
    return frame(header, b"", SerializeType.ROCKETMQ)


@pytest.mark.parametrize("entry", FRAMES, ids=FILES)
def test_golden_frame_decodes(entry: dict[str, Any]) -> None:
    data = golden.content("frames", entry)
    command = one(data)
    ext = entry["extFields"]
    assert fields(command)[:7] == (
        entry["code"], entry["opaque"], entry["flag"], LanguageCode[entry["language"]], entry["version"],
        entry["remark"], ext and {key: value or "" for key, value in ext.items()},
    )  # fmt: skip
    assert (command.is_response, command.is_oneway) == (entry["isResponse"], entry["isOneway"])
    assert SerializeType(command.serialize_type).name == entry["serializeType"]
    assert len(command.body) == entry["bodyLength"]
    if command.body:
        assert hashlib.md5(command.body).hexdigest() == entry["bodyMd5"]
    assert_decodes(data, [command])


@pytest.mark.parametrize("entry", FRAMES, ids=FILES)
def test_golden_frame_encodes_to_the_same(entry: dict[str, Any]) -> None:
    data = golden.content("frames", entry)
    command = one(data)
    untouched = encode_frame(command)
    command.ext_fields = command.ext_fields  # decoded now, so that it has to be encoded again
    again = encode_frame(command)
    if command.serialize_type == SerializeType.ROCKETMQ:
        assert untouched == data
        assert again == data
    else:
        length = entry["headerLength"]
        assert orjson.loads(again[8 : 8 + int.from_bytes(again[5:8], "big")]) == orjson.loads(data[8 : 8 + length])
        assert again[8 + int.from_bytes(again[5:8], "big") :] == data[8 + length :]


def test_the_worked_bytes_of_the_format_page() -> None:
    json_frame = bytes.fromhex("0000007f0000007b") + (
        b'{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,'
        b'"serializeTypeCurrentRPC":"JSON","version":479}'
    )
    binary_frame = bytes.fromhex(
        "00000025 01000021 0069 00 01df 00000007 00000000 00000000 0000000c 0005 746f706963 00000001 54"
    )
    command = Command(105, opaque=7, ext_fields={"topic": "T"}, language=LanguageCode.JAVA)
    assert encode_frame(command) == json_frame
    command.serialize_type = SerializeType.ROCKETMQ
    assert encode_frame(command) == binary_frame
    assert_decodes(json_frame + binary_frame, [one(json_frame), one(binary_frame)])


def test_a_reply_keeps_opaque_and_serialization() -> None:
    request = one(binary())
    reply = one(encode_frame(request.reply(17, "no such topic", ext_fields={"k": "v"}, body=b"b")))
    assert (reply.code, reply.opaque, reply.remark, reply.ext_fields, reply.body) == (
        17, 7, "no such topic", {"k": "v"}, b"b",
    )  # fmt: skip
    assert reply.is_response
    assert reply.serialize_type == SerializeType.ROCKETMQ


def test_json_omits_what_is_none() -> None:
    header = encode_frame(Command(1, language=None, ext_fields={"a": "b", "c": None}))[8:]  # type: ignore[dict-item]
    assert (
        header == b'{"code":1,"extFields":{"a":"b"},"flag":0,"opaque":0,"serializeTypeCurrentRPC":"JSON","version":479}'
    )


def test_json_ext_values_become_strings_as_in_java() -> None:
    header = b'{"code":1,"extFields":{"i":5,"t":true,"f":false,"d":1.5,"n":null,"s":"x"}}'
    assert one(frame(header)).ext_fields == {"i": "5", "t": "true", "f": "false", "d": "1.5", "s": "x"}


def test_unknown_keys_and_languages_are_ignored() -> None:
    command = one(frame(b'{"language":"KLINGON","code":7,"newer":[1,2]}'))
    assert (command.code, command.language, command.opaque, command.ext_fields) == (7, None, 0, None)


def test_an_empty_value_survives_the_binary_form() -> None:
    command = Command(1, ext_fields={"e": ""}, serialize_type=SerializeType.ROCKETMQ)
    assert one(encode_frame(command)).ext_fields == {"e": ""}


def test_of_two_ext_fields_with_one_key_the_later_wins() -> None:
    pair = bytes.fromhex("0001 61 00000001")
    assert decode_block(pair + b"1" + pair + b"2") == {"a": "2"}


def test_frames_of_one_read_are_joined_into_one_write() -> None:
    commands = [Command(1, body=b"x"), Command(2, serialize_type=SerializeType.ROCKETMQ)]
    assert [command.code for command in FrameDecoder().feed(b"".join(map(encode_frame, commands)))] == [1, 2]


DAMAGED = {
    "negative length": b"\xff\xff\xff\xff",
    "length below the head": b"\x00\x00\x00\x03",
    "length over the limit": (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
    "unknown serialization": frame(b"{}", serialize_type=2),
    "serialization with the sign bit": frame(b"{}", serialize_type=0xFF),
    "header longer than its frame": bytes.fromhex("00000008 00000005 7b7d7b7d"),
    "empty JSON header": frame(b""),
    "cut JSON": frame(b'{"code":1'),
    "JSON array": frame(b"[]"),
    "JSON number": frame(b"5"),
    "no code": frame(b"{}"),
    "code a string": frame(b'{"code":"10"}'),
    "code a boolean": frame(b'{"code":true}'),
    "code a float": frame(b'{"code":1.0}'),
    "code over 32 bits": frame(b'{"code":2147483648}'),
    "code over 64 bits": frame(b'{"code":99999999999999999999999}'),
    "opaque an object": frame(b'{"code":1,"opaque":{}}'),
    "flag a list": frame(b'{"code":1,"flag":[]}'),
    "version a string": frame(b'{"code":1,"version":"x"}'),
    "remark a number": frame(b'{"code":1,"remark":5}'),
    "language a number": frame(b'{"code":1,"language":5}'),
    "extFields a list": frame(b'{"code":1,"extFields":[]}'),
    "extFields a string": frame(b'{"code":1,"extFields":"x"}'),
    "ext value an object": frame(b'{"code":1,"extFields":{"a":{}}}'),
    "ext value a list": frame(b'{"code":1,"extFields":{"a":[1]}}'),
    "JSON not UTF-8": frame(b'{"code":1,"remark":"\xff"}'),
    "JSON nested without end": frame(b'{"code":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "JSON header without measure": frame(b'{"code":1,"x":"' + b"x" * (1 << 20) + b'"}'),
    "empty binary header": frame(b"", serialize_type=1),
    "short binary header": frame(bytes(20), serialize_type=1),
    "negative remark length": binary(remark_length=-1),
    "remark past the header": binary(remark_length=5),
    "remark of 2 GiB": binary(remark_length=0x7FFFFFFF),
    "remark not UTF-8": binary(b"\xc3\x28"),
    "negative ext length": binary(ext_length=-1),
    "ext past the header": binary(ext_length=1),
    "ext key cut off": binary(ext=b"\x00"),
    "ext key negative": binary(ext=bytes.fromhex("ffff 00000000")),
    "ext key too long": binary(ext=bytes.fromhex("0002 61 00000000")),
    "ext value negative": binary(ext=bytes.fromhex("0001 61 ffffffff")),
    "ext value too long": binary(ext=bytes.fromhex("0001 61 00000002 62")),
    "ext key not UTF-8": binary(ext=bytes.fromhex("0001 ff 00000000")),
    "ext value not UTF-8": binary(ext=bytes.fromhex("0001 61 00000002 c328")),
    "ext value a surrogate": binary(ext=bytes.fromhex("0001 61 00000003 eda080")),
}  # fmt: skip


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_a_frame_error_and_stays_one(data: bytes) -> None:
    decoder = FrameDecoder()
    with pytest.raises(FrameError):
        decoder.feed(data)
    with pytest.raises(FrameError):
        decoder.feed(binary())
    with pytest.raises(FrameError):
        dribble(data, max(1, len(data) // 50))


def test_whole_frames_in_front_of_damage_are_given_first() -> None:
    decoder = FrameDecoder()
    assert len(decoder.feed(binary() + binary() + DAMAGED["ext value negative"])) == 2
    assert decoder.failure == "ext value of -1 bytes"
    with pytest.raises(FrameError, match="ext value"):
        decoder.feed(binary())


def dribble(data: bytes, step: int) -> None:
    decoder = FrameDecoder()
    for at in range(0, len(data), step):
        decoder.feed(data[at : at + step])


def test_the_limit_can_be_chosen() -> None:
    data = frame(b'{"code":1}', bytes(100))
    assert len(FrameDecoder(max_bytes=len(data) - 4).feed(data)) == 1
    with pytest.raises(FrameError, match="frame length"):
        FrameDecoder(max_bytes=len(data) - 5).feed(data)


def test_an_announced_length_takes_no_memory() -> None:
    announced = (MAX_FRAME_BYTES).to_bytes(4, "big") + bytes.fromhex("00000010")
    tracemalloc.start()
    decoders = [FrameDecoder() for _ in range(100)]
    for decoder in decoders:
        assert decoder.feed(announced) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_large_frame_in_tiny_pieces_takes_little_more_than_itself() -> None:
    data = frame(b'{"code":1}', bytes(300_000))
    decoder, commands = FrameDecoder(), []
    tracemalloc.start()
    for at in range(0, len(data), 7):
        commands += decoder.feed(data[at : at + 7])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(commands[0].body) == 300_000
    assert peak < 4 * len(data)
    assert decoder.pending == 0


@pytest.mark.parametrize("step", [1000, 65_536, 99_991, 200_064])
@pytest.mark.parametrize("serialize_type", SerializeType)
def test_a_long_body_comes_in_any_pieces(step: int, serialize_type: SerializeType) -> None:
    bodies = [bytes(range(256)) * 782, b"", b"short", b"x" * 131_073, b"last"]
    commands = [
        Command(number, opaque=number, ext_fields={"a": "b"}, body=body, serialize_type=serialize_type)
        for number, body in enumerate(bodies)
    ]
    data = b"".join(map(encode_frame, commands))
    decoder, found, taken = FrameDecoder(), [], 0
    for at in range(0, len(data), step):
        some = decoder.feed(data[at : at + step])
        taken += sum(len(encode_frame(command)) for command in some)
        assert decoder.pending == min(at + step, len(data)) - taken
        found += some
    assert [fields(command) for command in found] == [fields(command) for command in commands]
    assert {type(command.body) for command in found} == {bytes}


def test_a_long_body_is_not_copied_when_it_is_whole() -> None:
    data = frame(b'{"code":1}', bytes(8 << 20))
    decoder, half = FrameDecoder(), len(data) // 2
    tracemalloc.start()
    decoder.feed(data[:half])
    decoder.feed(data[half:-1])
    tracemalloc.reset_peak()
    (command,) = decoder.feed(data[-1:])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(command.body) == 8 << 20
    assert peak < 1.5 * len(data)


def test_damage_is_seen_before_a_long_body_has_come() -> None:
    damaged = frame(b'{"code":"no number"}', bytes(1 << 20))
    with pytest.raises(FrameError):
        FrameDecoder().feed(damaged[:100])


def test_what_no_length_field_can_hold_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="ext key"):
        encode_frame(Command(1, ext_fields={"k" * 40_000: "v"}, serialize_type=SerializeType.ROCKETMQ))
    with pytest.raises(ValueError, match="header"):
        encode_frame(Command(1, remark="r" * (1 << 24)))
