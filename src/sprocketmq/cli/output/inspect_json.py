"""Frames and records as plain objects, with the field names that RocketMQ uses for them.

A damaged place is an object with `offset` and `error`. What follows it is shown as far as its length can be trusted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sprocketmq.codes import LanguageCode, SerializeType
from sprocketmq.errors import BodyError, FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import MAX_FRAME_BYTES, FrameDecoder
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.compression import decompress
from sprocketmq.protocol.record.crc import body_crc
from sprocketmq.protocol.record.properties import KEYS, TAGS, UNIQUE_KEY, decode_properties
from sprocketmq.protocol.record.record import BLANK, REASONS, WHOLE, check_record, decode_record
from sprocketmq.protocol.record.record_json import record_fields
from sprocketmq.protocol.record.sysflag import COMPRESSED, compression_type

Found = dict[str, Any]

#: Bodies up to these lengths are shown, longer ones by their MD5 alone.
FRAME_BODY_SHOWN = 4096
RECORD_BODY_SHOWN = 400


def frames(data: bytes) -> Iterator[Found]:
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        end = at + 4 + length
        if len(data) - at >= 4 and not 4 <= length <= MAX_FRAME_BYTES:
            yield damage(at, f"frame length {length}")
            return
        if len(data) - at < 4 or end > len(data):
            yield damage(at, f"cut off: {len(data) - at} bytes of a frame")
            return
        yield one_frame(data[at:end], at)
        at = end


def one_frame(data: bytes, at: int) -> Found:
    try:
        (command,) = FrameDecoder().feed(data)
    except FrameError as error:
        return damage(at, str(error))
    return {
        "frameLength": len(data),
        "lengthField": len(data) - 4,
        "headerLength": int.from_bytes(data[5:8], "big"),
        "serializeType": SerializeType(command.serialize_type).name,
        "code": command.code,
        "language": language_name(command.language),
        "version": command.version,
        "opaque": command.opaque,
        "flag": command.flag,
        "isResponse": command.is_response,
        "isOneway": command.is_oneway,
        "remark": command.remark,
        "extFields": shown_fields(command),
        "bodyLength": len(command.body),
        **shown_body(command.body),
    }


def shown_fields(command: Command) -> dict[str, str | None] | None:
    """An empty value is null in the binary form, which knows no other."""
    if command.ext_fields is None:
        return None
    binary = command.serialize_type == SerializeType.ROCKETMQ
    return {name: None if binary and not value else value for name, value in command.ext_fields.items()}


def shown_body(body: bytes) -> Found:
    if not body:
        return {}
    found: Found = {"bodyMd5": md5(body)}
    if len(body) <= FRAME_BODY_SHOWN:
        text = text_of(body)
        found |= {"bodyHex": body.hex()} if text is None or not is_readable(text) else {"bodyText": text}
    return found


def is_readable(text: str) -> bool:
    return all(char.isprintable() or char in "\t\r\n" for char in text)


def records(data: bytes) -> Iterator[Found]:
    at = 0
    while at < len(data):
        kind, size = check_record(data, at, len(data), check_crc=False)
        if kind == BLANK:
            yield {"blankAt": at, "blankSize": size, "blankMagic": data[at + 4 : at + 8].hex()}
        elif kind == WHOLE:
            yield one_record(data, at)
        elif not any(data[at:]):
            yield {"emptyFrom": at, "emptySize": len(data) - at}  # a file of the log is made whole and filled later
            return
        else:
            yield damage(at, REASONS[kind])
            return
        at += size


def one_record(data: bytes, at: int) -> Found:
    try:
        record = decode_record(data, at, check_crc=False)
        kind = compression_type(record.sys_flag)
        body = record.body if kind is None else decompress(record.body, kind)
    except BodyError as error:
        return damage(at, str(error))
    properties = decode_properties(record.properties)
    found = (
        record_fields(record)
        | {
            "sysFlag": record.sys_flag & ~COMPRESSED,  # the body is shown plain
            "uniqKey": properties.get(UNIQUE_KEY),
            "keys": properties.get(KEYS),
            "tags": properties.get(TAGS),
            "bodyLength": len(body) or -1,  # Java has no empty body: it is null, and counts as -1
            "bodyMd5": md5(body),
            "properties": properties,
            "magic": data[at + 4 : at + 8].hex(),
            "storedBodyLength": len(record.body),
            "storedBodyMd5": md5(record.body),
            "consumedBytes": record.size,
            "compression": None if kind is None else kind.name,
            "crcMatches": record.body_crc == body_crc(record.body),
        }
    )
    if 0 < len(body) <= RECORD_BODY_SHOWN:
        found |= {"bodyHex": body.hex(), "bodyText": text_of(body)}
    return found


def batch_entries(data: bytes) -> Iterator[Found]:
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        try:
            ((flag, body, properties),) = decode_batch(data[at : at + size] if size > 0 else data[at:])
        except BodyError as error:
            yield damage(at, str(error).replace("batch entry at 0", "batch entry", 1))
            return
        yield {
            "flag": flag,
            "bodyLength": len(body),
            "bodyHex": body.hex(),
            "bodyText": text_of(body),
            "properties": decode_properties(properties),
        }
        at += size


def damage(at: int, reason: str) -> Found:
    return {"offset": at, "error": reason}


def text_of(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def language_name(language: int | None) -> str | None:
    return None if language not in set(LanguageCode) else LanguageCode(language).name


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
