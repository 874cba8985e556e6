"""Frames, written down once more for the corpus: what it sends and reads must not change with the code it tests.

frame   := length:i32 (type:u8 header_length:u24) header body         type 0: JSON, 1: binary
binary  := code:i16 language:u8 version:i16 opaque:i32 flag:i32 remark_length:i32 remark fields_length:i32 fields
fields  := (key_length:i16 key value_length:i32 value)*
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_HEAD = struct.Struct(">iI")
_BINARY = struct.Struct(">hBhii")
_BATCHED = struct.Struct(">iiiii")
ONEWAY, RESPONSE = 2, 1


@dataclass(frozen=True)
class Frame:
    """A frame as it came: its two parts, raw."""

    kind: int
    header: bytes
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        found: dict[str, str] = self.decoded().get("extFields") or {}
        return found

    @property
    def opaque(self) -> int:
        return int(self.decoded()["opaque"])

    @property
    def code(self) -> int:
        return int(self.decoded()["code"])

    @property
    def is_response(self) -> bool:
        return bool(self.decoded()["flag"] & RESPONSE)

    def decoded(self) -> dict[str, Any]:
        """The header."""
        return _read_json(self.header) if self.kind == 0 else _read_binary(self.header)


def frame(header: bytes, body: bytes, kind: int) -> bytes:
    return _HEAD.pack(4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def request(
    code: int, opaque: int, fields: Mapping[str, str] | None, body: bytes, *, binary: bool, flag: int, version: int,
    remark: str | None = None,
) -> bytes:  # fmt: skip
    if binary:
        block = b"".join(_pair(key.encode(), value.encode()) for key, value in (fields or {}).items())
        words = (remark or "").encode()
        head = _BINARY.pack(code, 0, version, opaque, flag) + _sized(words) + _sized(block)
        return frame(head, body, 1)
    parts: dict[str, object] = {
        "code": code, "extFields": fields, "flag": flag, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": version,
    }  # fmt: skip
    if fields is None:
        del parts["extFields"]
    if remark is not None:
        parts["remark"] = remark
    return frame(json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode(), body, 0)


def take_frames(data: bytearray) -> Iterator[Frame]:
    """The whole frames at the beginning of `data`, which loses them."""
    while len(data) >= 4 and len(data) >= 4 + (length := int.from_bytes(data[:4], "big")):
        kind, size = data[4], int.from_bytes(data[5:8], "big")
        yield Frame(kind, bytes(data[8 : 8 + size]), bytes(data[8 + size : 4 + length]))
        del data[: 4 + length]


def properties(**entries: str) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in entries.items())


def batch(*messages: tuple[bytes, str], flag: int = 0) -> bytes:
    """The body of a batch: (body, properties) of each message."""
    return b"".join(_batched(body, text.encode(), flag) for body, text in messages)


def _batched(body: bytes, text: bytes, flag: int) -> bytes:
    size = _BATCHED.size + len(body) + 2 + len(text)
    return _BATCHED.pack(size, 0, 0, flag, len(body)) + body + len(text).to_bytes(2, "big") + text


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _pair(key: bytes, value: bytes) -> bytes:
    return len(key).to_bytes(2, "big") + key + _sized(value)


def _read_json(header: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(header)
    return found


def _read_binary(header: bytes) -> dict[str, Any]:
    code, language, version, opaque, flag = _BINARY.unpack_from(header)
    at = _BINARY.size
    remark, at = _cut(header, at, 4)
    block, _ = _cut(header, at, 4)
    fields, at = {}, 0
    while at < len(block):
        key, at = _cut(block, at, 2)
        value, at = _cut(block, at, 4)
        fields[key.decode()] = value.decode()
    return {
        "code": code, "language": language, "version": version, "opaque": opaque, "flag": flag,
        "remark": remark.decode() if remark else None, "extFields": fields,
    }  # fmt: skip


def _cut(data: bytes, at: int, width: int) -> tuple[bytes, int]:
    end = at + width + int.from_bytes(data[at : at + width], "big")
    return data[at + width : end], end
