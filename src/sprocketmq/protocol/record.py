"""A message as the CommitLog stores it and as pull answers carry it.

record := size:i32 magic:i32 body_crc:i32 queue_id:i32 flag:i32 queue_offset:i64 commit_offset:i64 sys_flag:i32
          born_timestamp:i64 born_host store_timestamp:i64 store_host reconsume_times:i32
          prepared_transaction_offset:i64 body_length:i32 body topic_length topic properties_length:i16 properties
host   := address:4|16 port:i32            16 when its bit in sys_flag is set
topic_length is one byte under MAGIC_V1 and two under MAGIC_V2
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from zlib import crc32

from sprocketmq.errors import BodyError

MAGIC_V1 = -626843481  # 0xDAA320A7
MAGIC_V2 = -626843477  # 0xDAA320AB
MAGIC_BLANK = -875286124  # 0xCBD43194

BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20

_FIXED = struct.Struct(">iiiiiqqiq")
_I64 = struct.Struct(">q")
_I32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One stored message. Hosts are raw (address and port); the body is as stored, perhaps compressed."""

    topic: str
    body: bytes
    queue_id: int = 0
    flag: int = 0
    queue_offset: int = 0
    commit_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: bytes = bytes(8)
    store_timestamp: int = 0
    store_host: bytes = bytes(8)
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    properties: bytes = b""
    body_crc: int = 0
    size: int = 0


def encode_record(record: Record) -> bytes:
    """The record's bytes; size and CRC are computed, whatever the value holds."""
    topic = record.topic.encode()
    long_topic = len(topic) > 127
    tail = b"".join((
        _I32.pack(len(record.body)), record.body,
        len(topic).to_bytes(2 if long_topic else 1, "big"), topic,
        len(record.properties).to_bytes(2, "big"), record.properties,
    ))  # fmt: skip
    size = _FIXED.size + len(record.born_host) + 8 + len(record.store_host) + 12 + len(tail)
    head = _FIXED.pack(
        size, MAGIC_V2 if long_topic else MAGIC_V1, crc32(record.body) & 0x7FFFFFFF, record.queue_id, record.flag,
        record.queue_offset, record.commit_offset, record.sys_flag, record.born_timestamp,
    )  # fmt: skip
    middle = struct.pack(">iq", record.reconsume_times, record.prepared_transaction_offset)
    return b"".join((head, record.born_host, _I64.pack(record.store_timestamp), record.store_host, middle, tail))


def decode_record(data: bytes | memoryview, at: int = 0, *, check_crc: bool = True) -> Record:
    """The record that begins at `at`. Raises BodyError where there is no whole one."""
    try:
        size, magic, body_crc, queue_id, flag, queue_offset, commit_offset, sys_flag, born = _FIXED.unpack_from(
            data, at
        )
        if magic not in (MAGIC_V1, MAGIC_V2) or size < _FIXED.size or at + size > len(data):
            raise BodyError(f"no record at {at}: size {size}, magic {magic & 0xFFFFFFFF:#x}")
        here = at + _FIXED.size
        born_end = here + (20 if sys_flag & BORN_HOST_V6 else 8)
        (store_timestamp,) = _I64.unpack_from(data, born_end)
        store_end = born_end + 8 + (20 if sys_flag & STORE_HOST_V6 else 8)
        reconsume_times, prepared, body_length = struct.unpack_from(">iqi", data, store_end)
        body_end = store_end + 16 + body_length
        width = 2 if magic == MAGIC_V2 else 1
        topic_end = body_end + width + int.from_bytes(data[body_end : body_end + width], "big")
        end = topic_end + 2 + int.from_bytes(data[topic_end : topic_end + 2], "big")
        body = bytes(data[store_end + 16 : body_end])
        if body_length < 0 or end != at + size:
            raise BodyError(f"record at {at}: its parts do not add up to {size} bytes")
        if check_crc and crc32(body) & 0x7FFFFFFF != body_crc:
            raise BodyError(f"record at {at}: the body's CRC differs")
        return Record(
            topic=bytes(data[body_end + width : topic_end]).decode(), body=body, queue_id=queue_id, flag=flag,
            queue_offset=queue_offset, commit_offset=commit_offset, sys_flag=sys_flag, born_timestamp=born,
            born_host=bytes(data[here:born_end]), store_timestamp=store_timestamp,
            store_host=bytes(data[born_end + 8 : store_end]), reconsume_times=reconsume_times,
            prepared_transaction_offset=prepared, properties=bytes(data[topic_end + 2 : end]),
            body_crc=body_crc, size=size,
        )  # fmt: skip
    except (struct.error, ValueError) as error:
        raise BodyError(f"record at {at}: {error}") from None


def decode_records(data: bytes | memoryview) -> list[Record]:
    """Records back to back, as a pull answers them."""
    records, at = [], 0
    while at < len(data):
        records.append(decode_record(data, at))
        at += records[-1].size
    return records
