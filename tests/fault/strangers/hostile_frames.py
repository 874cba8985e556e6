"""Frames that no good client sends, from a seeded generator, and peers that send them.

Kinds: pure noise; a valid frame with bits flipped, bytes cut, doubled or put in; lengths that lie; headers of the right
form with the wrong fields; known requests with arbitrary fields and bodies; requests with just the fields that theirs
have, and values that fit or nearly fit; JSON that nests without end.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from sprocketmq.codes import SerializeType
from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame

_KEYS = [
    *("topic", "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "namespace", "key", "value"),
    *(
        "compressed",
        "bodyCrc32",
        "cluster",
        "acceptStandardJsonOnly",
        "heartbeatTimeoutMillis",
        "queueId",
        "queueOffset",
    ),
    *("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "consumerGroup", "sysFlag", "commitOffset"),
]
_VALUES = [
    "",
    "0",
    "-1",
    "true",
    "9223372036854775808",
    "%00",
    "../../etc/passwd",
    "x" * 300,
    "名前",
    "1e9",
    "\u0000",
    "TBW102",
]


def frames(seed: int, codes: Sequence[int]) -> Iterator[tuple[bytes, bool]]:
    """Hostile bytes without end, and whether they end where a frame ends; the same for the same seed."""
    random = Random(seed)
    broken = [_noise, _mutated, _mutated, _wrong_length, _deep_json]
    whole = [_request, _known_request, _known_request, _wrong_json]
    while True:
        is_whole = random.random() < 0.6
        yield random.choice(whole if is_whole else broken)(random, codes), is_whole


def _noise(random: Random, _codes: Sequence[int]) -> bytes:
    return random.randbytes(random.choice((1, 4, 8, 64, 1000)))


def _request(random: Random, codes: Sequence[int]) -> bytes:
    fields = {random.choice(_KEYS): random.choice(_VALUES) for _ in range(random.randrange(12))}
    body = random.choice((b"", b"{}", b"[]", b'{"table":', random.randbytes(50), b"\x78\x9c" + random.randbytes(30)))
    return encode_frame(
        Command(
            random.choice(codes) if random.random() < 0.9 else random.randrange(-(1 << 15), 1 << 15),
            opaque=random.getrandbits(31),
            flag=random.choice((0, 0, 0, 0, 1, 2, 3, 255)),
            ext_fields=fields,
            body=body,
            version=random.choice((0, 36, 317, 401, 479)),
            serialize_type=random.choice((SerializeType.JSON, SerializeType.ROCKETMQ)),
        )
    )


#: By request code, of RocketMQ's own headers: the name and the Java type of each field.
_TABLE = json.loads((Path(__file__).parents[2] / "data" / "codes.json").read_text())
_FIELDS = {
    row["code"]: [(field["name"], field["type"]) for field in _TABLE["headers"][row["request_header"]]]
    for row in _TABLE["request_info"].values()
    if row["request_header"]
}
_NUMBERS = [
    *("0", "0", "1", "2", "-1", "32", "4096", "1700000000000"),
    *("2147483647", "2147483648", "9223372036854775807", "x"),
]
_NAMES = [
    *("TBW102", "besieged", "G", "G", "T", "%RETRY%G"),
    *("DefaultCluster", "SELF_TEST_TOPIC", "127.0.0.1:1", "*"),
]
_BODIES = [
    *(b"", b"{}", b"[]", b"null", b"key=value"),
    *(b'{"acks":[{}],"mqs":[{}]}', b'{"clientID":"c","consumerDataSet":[{}]}'),
]


def _known_request(random: Random, codes: Sequence[int]) -> bytes:
    """What the handlers themselves must withstand: hardly anything is refused before it reaches them."""
    code = random.choice(codes)
    values = {key: _fitting(random, kind) for key, kind in _FIELDS.get(code, ()) if random.random() < 0.95}
    body = random.choice((*_BODIES, random.randbytes(20)))
    serialize_type = (
        SerializeType.JSON if code > 0x7FFF else random.choice((SerializeType.JSON, SerializeType.ROCKETMQ))
    )
    opaque = random.getrandbits(31)
    return encode_frame(
        Command(code, opaque=opaque, ext_fields=values, body=body, version=479, serialize_type=serialize_type)
    )


def _fitting(random: Random, kind: str) -> str:
    if random.random() < 0.05:
        return random.choice(_VALUES)
    if kind in ("Boolean", "boolean"):
        return random.choice(("true", "false"))
    return random.choice(_NUMBERS if kind in ("Integer", "int", "Long", "long") else _NAMES)


def _mutated(random: Random, codes: Sequence[int]) -> bytes:
    data = bytearray(_request(random, codes))
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(data))
        change = random.randrange(4)
        if change == 0:
            data[at] ^= 1 << random.randrange(8)
        elif change == 1:
            del data[at : at + random.randrange(1, 9)]
        elif change == 2:
            data[at:at] = data[at : at + random.randrange(1, 9)]
        else:
            data[at:at] = random.randbytes(random.randrange(1, 9))
        data = data or bytearray(b"\0")
    return bytes(data)


def _wrong_length(random: Random, codes: Sequence[int]) -> bytes:
    data = _request(random, codes)
    lie = random.choice((0, 3, -1, 0x7FFFFFFF, len(data) - 5, len(data) + 5, random.getrandbits(31)))
    return struct.pack(">i", lie) + data[4:] if random.random() < 0.5 else data[:4] + struct.pack(">i", lie) + data[8:]


def _json_frame(header: bytes) -> bytes:
    return struct.pack(">II", 4 + len(header), len(header)) + header


def _wrong_json(random: Random, codes: Sequence[int]) -> bytes:
    good = {"code": random.choice(codes), "opaque": 1, "flag": 0, "version": 479, "extFields": {"topic": "T"}}
    wrong: object = random.choice((None, [], {}, "x", 1.5, -1, 1 << 70, True, {"a": {"b": []}}))
    return _json_frame(json.dumps({**good, random.choice(list(good)): wrong}).encode())


def _deep_json(random: Random, _codes: Sequence[int]) -> bytes:
    opening = random.choice((b"[", b'{"a":', b'{"extFields":'))
    return _json_frame(b'{"code":105,"extFields":' + opening * random.choice((10, 2000)))


@dataclass(slots=True)
class Report:
    sent: int = 0
    connections: int = 0
    answers: int = 0
    internal_errors: int = 0
    nonsense: int = 0


async def attack(port: int, source: Iterator[tuple[bytes, bool]], count: int, report: Report) -> None:
    """Send `count` frames. After one that is not whole the next would be taken for its rest, so it needs a new wire."""
    while report.sent < count:
        reader, writer = await _connect(port)
        report.connections += 1
        listening = asyncio.ensure_future(_listen(reader, report))
        is_whole = True
        try:
            while is_whole and report.sent < count and not listening.done():
                report.sent += 1
                data, is_whole = next(source)
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(0)  # so that the next frame comes with another read
            await asyncio.wait({listening}, timeout=0 if is_whole else 0.001)
        except ConnectionError:
            pass
        finally:  # an attack without end is cancelled, too
            listening.cancel()
            writer.close()
            await asyncio.gather(listening, writer.wait_closed(), return_exceptions=True)


async def _connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset: no port is left waiting
    return reader, writer


async def _listen(reader: asyncio.StreamReader, report: Report) -> None:
    decoder = FrameDecoder()
    try:
        while data := await reader.read(1 << 16):
            answers = decoder.feed(data)
            report.answers += len(answers)
            report.internal_errors += sum("internal error" in (answer.remark or "") for answer in answers)
    except FrameError:
        report.nonsense += 1
    except ConnectionError:
        pass
