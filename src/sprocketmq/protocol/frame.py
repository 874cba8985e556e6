"""Remoting frames as bytes and nothing else.

frame   := length:i32  head:u32  header  body
length   = 4 + len(header) + len(body)           it does not count itself
head     = serialize_type << 24 | len(header)

binary  := code:i16 language:u8 version:i16 opaque:i32 flag:i32
           remark_length:i32 remark  ext_length:i32 ext*
ext     := key_length:i16 key value_length:i32 value
json     = an object with code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC, version
"""

from __future__ import annotations

import struct

import orjson

from sprocketmq.codes import LanguageCode, SerializeType
from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command

MAX_FRAME_BYTES = 16 * 1024 * 1024  # what Java peers accept by default

_I32 = struct.Struct(">i")
_U32 = struct.Struct(">I")
_HEAD = struct.Struct(">hBhiii")


class FrameDecoder:
    """Takes bytes as they arrive, gives whole commands; keeps what is left for the next read."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._max_bytes = max_bytes

    @property
    def pending(self) -> int:
        """Bytes of a frame that has begun and is not whole yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Command]:
        self._buffer += data
        commands: list[Command] = []
        at, have = 0, len(self._buffer)
        while have - at >= 4:
            (length,) = _I32.unpack_from(self._buffer, at)
            if not 4 <= length <= self._max_bytes:
                raise FrameError(f"frame length {length}")
            if have - at - 4 < length:
                break
            commands.append(decode_frame(bytes(self._buffer[at + 4 : at + 4 + length])))
            at += 4 + length
        del self._buffer[:at]
        return commands


def decode_frame(frame: bytes) -> Command:
    """The command in `frame`, which begins after the length field."""
    (head,) = _U32.unpack_from(frame)
    body_at = 4 + (head & 0xFFFFFF)
    if body_at > len(frame):
        raise FrameError(f"header of {body_at - 4} bytes in a frame of {len(frame)}")
    header, body = frame[4:body_at], frame[body_at:]
    if head >> 24 == SerializeType.JSON:
        return _decode_json(header, body)
    if head >> 24 == SerializeType.ROCKETMQ:
        return _decode_binary(header, body)
    raise FrameError(f"serialize type {head >> 24}")


def encode_frame(command: Command) -> bytes:
    header = _encode_json(command) if command.serialize_type == SerializeType.JSON else _encode_binary(command)
    head = command.serialize_type << 24 | len(header)
    return b"".join((_U32.pack(4 + len(header) + len(command.body)), _U32.pack(head), header, command.body))


def _decode_json(header: bytes, body: bytes) -> Command:
    try:
        fields = orjson.loads(header)
        ext = fields.get("extFields")
        return Command(
            int(fields["code"]),
            opaque=int(fields.get("opaque", 0)),
            flag=int(fields.get("flag", 0)),
            ext_fields=None if ext is None else {str(k): str(v) for k, v in ext.items() if v is not None},
            body=body,
            remark=fields.get("remark"),
            language=LanguageCode.__members__.get(fields.get("language")),
            version=int(fields.get("version", 0)),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FrameError(f"JSON header: {error}") from None


def _decode_binary(header: bytes, body: bytes) -> Command:
    try:
        code, language, version, opaque, flag, remark_length = _HEAD.unpack_from(header)
        at = _HEAD.size
        remark = header[at : at + remark_length].decode() if remark_length else None
        at += remark_length
        (ext_length,) = _I32.unpack_from(header, at)
        ext = _decode_ext(header, at + 4, at + 4 + ext_length) if ext_length else None
    except (struct.error, ValueError) as error:
        raise FrameError(f"binary header: {error}") from None
    return Command(
        code, opaque=opaque, flag=flag, ext_fields=ext, body=body, remark=remark,
        language=language, version=version, serialize_type=SerializeType.ROCKETMQ,
    )  # fmt: skip


def _decode_ext(header: bytes, at: int, end: int) -> dict[str, str]:
    ext: dict[str, str] = {}
    while at < end:
        key_length = int.from_bytes(header[at : at + 2], "big", signed=True)
        key = header[at + 2 : at + 2 + key_length].decode()
        at += 2 + key_length
        (value_length,) = _I32.unpack_from(header, at)
        if value_length > 0:
            ext[key] = header[at + 4 : at + 4 + value_length].decode()
        at += 4 + value_length
    return ext


def _encode_json(command: Command) -> bytes:
    language = command.language
    fields = {
        "code": command.code,
        "extFields": command.ext_fields,
        "flag": command.flag,
        "language": None if language is None else LanguageCode(language).name,
        "opaque": command.opaque,
        "remark": command.remark,
        "serializeTypeCurrentRPC": "JSON",
        "version": command.version,
    }
    return orjson.dumps({key: value for key, value in fields.items() if value is not None})


def _encode_binary(command: Command) -> bytes:
    remark = (command.remark or "").encode()
    ext = b"".join(
        struct.pack(">h", len(k)) + k + _I32.pack(len(v)) + v
        for k, v in ((key.encode(), value.encode()) for key, value in (command.ext_fields or {}).items())
    )
    language = LanguageCode.OTHER if command.language is None else command.language
    fixed = struct.pack(
        ">HBHIIi", command.code & 0xFFFF, language, command.version & 0xFFFF,
        command.opaque & 0xFFFFFFFF, command.flag & 0xFFFFFFFF, len(remark),
    )  # fmt: skip
    return b"".join((fixed, remark, _I32.pack(len(ext)), ext))
