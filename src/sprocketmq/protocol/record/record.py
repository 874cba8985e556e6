# cython: annotation_typing=False
"""A message as the CommitLog stores it and as pull answers carry it.

record := size:i32 magic:i32 body_crc:i32 queue_id:i32 flag:i32 queue_offset:i64 commit_offset:i64 sys_flag:i32
          born_timestamp:i64 born_host store_timestamp:i64 store_host reconsume_times:i32
          prepared_transaction_offset:i64 body_length:i32 body topic_length topic properties_length:i16 properties
host   := address:4|16 port:i32            16 when its bit in sys_flag is set
blank  := size:i32 MAGIC_BLANK             fills a file to its end
topic_length is one byte under MAGIC_V1 and two under MAGIC_V2, which only topics over 127 bytes use

`body_crc` covers the body alone. With the property CRC the properties end in `__CRC32#`, \\x01, ten digits with the
least significant first, \\x02: a checksum of all that lies before those twenty bytes.

A record is written into memory that readers share and that outlives the process, so its head, size and magic, comes
last: one that was begun and not ended has none and is no record. Properties whose last byte is NUL cannot be. They end
in \\x02, or, from some clients, in the last value; zeros at their end were never written. `closed` keeps it true of a
value that does end in NUL.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import BodyError

if not cython.compiled:
    from sprocketmq.hot.octets import (
        Octets,
        blank,
        cut,
        i16,
        i32,
        i64,
        put,
        put_i16,
        put_i32,
        put_i64,
        put_last,
        same,
        seal,
        text,
    )  # fmt: skip
    from sprocketmq.protocol.record.crc import crc_of, crc_on
    from sprocketmq.protocol.record.sysflag import BORN_HOST_V6, STORE_HOST_V6

    MAGIC_V1 = -626843481  # 0xDAA320A7
    MAGIC_V2 = -626843477  # 0xDAA320AB
    MAGIC_BLANK = -875286124  # 0xCBD43194

    MAX_PROPERTIES_BYTES = 32767
    MAX_TOPIC_V1_BYTES = 127
    BLANK_BYTES = 8
    FIXED_BYTES = 91  # a v1 record with two IPv4 hosts, and nothing in its body, topic and properties
    PROPERTY_CRC_BYTES = 20
    SECTOR_BYTES = 512

    #: What check_record finds. Everything above BLANK is damage, and REASONS says which.
    WHOLE, BLANK, CUT_OFF, NO_MAGIC, WRONG_SIZE, WRONG_PARTS, WRONG_CRC, WRONG_PROPERTY_CRC, TORN = range(9)

REASONS = {
    CUT_OFF: "cut off",
    NO_MAGIC: "no record's magic",
    WRONG_SIZE: "its size leaves the data",
    WRONG_PARTS: "its parts do not add up to its size",
    WRONG_CRC: "the body's CRC differs",
    WRONG_PROPERTY_CRC: "the record's CRC differs",
    TORN: "its properties end in zeros, or have a sector of them",
}

_FIELDS = (
    "topic", "body", "queue_id", "flag", "queue_offset", "commit_offset", "sys_flag", "born_timestamp", "born_host",
    "store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "properties", "body_crc", "size",
)  # fmt: skip


class Record:
    """One stored message. Hosts are raw (address and port); the body is as stored, perhaps compressed."""

    __slots__ = _FIELDS

    def __init__(
        self,
        *,
        topic: str,
        body: bytes,
        queue_id: int = 0,
        flag: int = 0,
        queue_offset: int = 0,
        commit_offset: int = 0,
        sys_flag: int = 0,
        born_timestamp: int = 0,
        born_host: bytes = bytes(8),
        store_timestamp: int = 0,
        store_host: bytes = bytes(8),
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        properties: bytes = b"",
        body_crc: int = 0,
        size: int = 0,
    ) -> None:
        self.topic = topic
        self.body = body
        self.queue_id = queue_id
        self.flag = flag
        self.queue_offset = queue_offset
        self.commit_offset = commit_offset
        self.sys_flag = sys_flag
        self.born_timestamp = born_timestamp
        self.born_host = born_host
        self.store_timestamp = store_timestamp
        self.store_host = store_host
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset
        self.properties = properties
        self.body_crc = body_crc
        self.size = size

    def replace(self, **changes: Any) -> Record:
        """This record with some fields changed; size and CRC stay as they are until it is encoded."""
        return Record(**{**self.as_dict(), **changes})

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.as_dict().values()))

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"


def store_size(body_length: int, topic_length: int, properties_length: int, sys_flag: int = 0) -> int:
    """The size of the record that these parts make."""
    size = FIXED_BYTES + body_length + topic_length + properties_length
    if sys_flag & BORN_HOST_V6:
        size += 12
    if sys_flag & STORE_HOST_V6:
        size += 12
    if topic_length > MAX_TOPIC_V1_BYTES:
        size += 1
    return size


def encode_record(record: Record) -> bytes:
    """The record's bytes; size and CRC are computed, whatever the value holds."""
    topic, properties = record.topic.encode(), closed(record.properties)
    size = store_size(len(record.body), len(topic), len(properties), record.sys_flag)
    out = blank(size)
    write_at(
        out, 0, size, topic, record.body, properties, record.queue_id, record.flag, record.queue_offset,
        record.commit_offset, record.sys_flag, record.born_timestamp, record.born_host, record.store_timestamp,
        record.store_host, record.reconsume_times, record.prepared_transaction_offset, False,
    )  # fmt: skip
    return seal(out)


def write_record(
    buffer: Octets, at: int, topic: bytes, body: bytes, properties: bytes, queue_id: int, flag: int,
    queue_offset: int, commit_offset: int, sys_flag: int, born_timestamp: int, born_host: bytes,
    store_timestamp: int, store_host: bytes, reconsume_times: int = 0, prepared_transaction_offset: int = 0,
    property_crc: bool = False,
) -> int:  # fmt: skip
    """Write the record straight into `buffer` at `at`; returns its size. A ValueError when it has no room there.

    With `property_crc` the properties must leave PROPERTY_CRC_BYTES of their limit for it.
    """
    properties = reserve_property_crc(properties) if property_crc else closed(properties)
    size = store_size(len(body), len(topic), len(properties), sys_flag)
    if at < 0 or size > len(buffer) - at:
        raise ValueError(f"a record of {size} bytes has no room at {at}")
    p = cython.address(buffer[0]) if cython.compiled else buffer
    write_at(
        p, at, size, topic, body, properties, queue_id, flag, queue_offset, commit_offset, sys_flag, born_timestamp,
        born_host, store_timestamp, store_host, reconsume_times, prepared_transaction_offset, property_crc,
    )  # fmt: skip
    return size


def write_at(
    p: Octets, at: int, size: int, topic: bytes, body: bytes, properties: bytes, queue_id: int, flag: int,
    queue_offset: int, commit_offset: int, sys_flag: int, born_timestamp: int, born_host: bytes,
    store_timestamp: int, store_host: bytes, reconsume_times: int, prepared_transaction_offset: int,
    property_crc: bool,
) -> None:  # fmt: skip
    """Fill the `size` bytes at `at`, which are there, as store_size says; with `property_crc` room for it was reserved.

    The head comes last: who finds it finds the whole record.
    """
    body_length, topic_length, properties_length = len(body), len(topic), len(properties)
    check_lengths(topic_length, properties_length, len(born_host), len(store_host), sys_flag)
    long_topic = topic_length > MAX_TOPIC_V1_BYTES
    start, magic = at, MAGIC_V2 if long_topic else MAGIC_V1
    put_i32(p, at + 8, crc_of(body, 0, body_length) & 0x7FFFFFFF)
    put_i32(p, at + 12, queue_id)
    put_i32(p, at + 16, flag)
    put_i64(p, at + 20, queue_offset)
    put_i64(p, at + 28, commit_offset)
    put_i32(p, at + 36, sys_flag)
    put_i64(p, at + 40, born_timestamp)
    put(p, at + 48, born_host, 0, len(born_host))
    at += 48 + len(born_host)
    put_i64(p, at, store_timestamp)
    put(p, at + 8, store_host, 0, len(store_host))
    at += 8 + len(store_host)
    put_i32(p, at, reconsume_times)
    put_i64(p, at + 4, prepared_transaction_offset)
    put_i32(p, at + 12, body_length)
    put(p, at + 16, body, 0, body_length)
    at += 16 + body_length
    if long_topic:
        put_i16(p, at, topic_length)
        at += 2
    else:
        p[at] = topic_length
        at += 1
    put(p, at, topic, 0, topic_length)
    put_i16(p, at + topic_length, properties_length)
    put(p, at + topic_length + 2, properties, 0, properties_length)
    if property_crc:
        put_property_crc(p, start, size, magic)
    put_last(p, start, size, magic)


def check_lengths(topic: int, properties: int, born_host: int, store_host: int, sys_flag: int) -> None:
    if not 0 < topic <= 32767:
        raise ValueError(f"topic of {topic} bytes")
    if properties > MAX_PROPERTIES_BYTES:
        raise ValueError(f"properties of {properties} bytes")
    if born_host != (20 if sys_flag & BORN_HOST_V6 else 8) or store_host != (20 if sys_flag & STORE_HOST_V6 else 8):
        raise ValueError("a host's length differs from what sys_flag says")


def reserve_property_crc(properties: bytes) -> bytes:
    """The properties with room for the property CRC after them."""
    separator = b"" if not properties or properties.endswith(b"\x02") else b"\x02"
    return properties + separator + bytes(PROPERTY_CRC_BYTES)


def closed(properties: bytes) -> bytes:
    """The properties, with the separator behind them that tells a last byte of zero from one that was never written."""
    p, length = properties, len(properties)
    return properties + b"\x02" if length > 0 and p[length - 1] == 0 else properties


def put_property_crc(p: Octets, at: int, size: int, magic: int) -> None:
    """Fill the last PROPERTY_CRC_BYTES of the record with the checksum of the rest of it, which has no head yet."""
    here = at + size - PROPERTY_CRC_BYTES
    put_i32(p, here, size)
    put_i32(p, here + 4, magic)
    value = crc_on(crc_of(p, here, 8), p, at + 8, size - PROPERTY_CRC_BYTES - 8) & 0x7FFFFFFF
    put(p, here, b"__CRC32#\x01", 0, 9)
    for digit in range(10):
        p[here + 9 + digit] = 48 + value % 10
        value //= 10
    p[here + 19] = 2


class RecordParts:
    """Where the parts of one record lie in a run of bytes. `locate` fills it and may be called again and again."""

    __slots__ = (
        "at", "body_at", "body_end", "end", "magic", "properties_at", "properties_end", "size", "store_time_at",
        "sys_flag", "topic_at", "topic_end",
    )  # fmt: skip

    def locate(self, p: Octets, at: int, end: int) -> int:
        """WHOLE when a record begins at `at` and its parts add up to its size, else what is there instead."""
        if end - at < BLANK_BYTES:
            return CUT_OFF
        self.at = at
        self.size = i32(p, at)
        self.magic = i32(p, at + 4)
        if self.magic == MAGIC_BLANK:
            return BLANK if BLANK_BYTES <= self.size <= end - at else WRONG_SIZE
        if self.magic != MAGIC_V1 and self.magic != MAGIC_V2:
            return NO_MAGIC
        if self.size < FIXED_BYTES or self.size > end - at:
            return WRONG_SIZE
        self.end = at + self.size
        return self.locate_parts(p)

    def locate_parts(self, p: Octets) -> int:
        self.sys_flag = i32(p, self.at + 36)
        self.store_time_at = self.at + (68 if self.sys_flag & BORN_HOST_V6 else 56)
        self.body_at = self.store_time_at + (28 if self.sys_flag & STORE_HOST_V6 else 16) + 16
        width = 2 if self.magic == MAGIC_V2 else 1
        room = self.end - self.body_at - width - 2  # for body, topic and properties together
        if room < 0:
            return WRONG_PARTS
        body_length = i32(p, self.body_at - 4)
        if body_length < 0 or body_length > room:
            return WRONG_PARTS
        self.body_end = self.body_at + body_length
        topic_length = i16(p, self.body_end) if width == 2 else p[self.body_end]
        if topic_length <= 0 or topic_length > room - body_length or (width == 1 and topic_length > MAX_TOPIC_V1_BYTES):
            return WRONG_PARTS
        self.topic_at = self.body_end + width
        self.topic_end = self.topic_at + topic_length
        self.properties_at = self.topic_end + 2
        self.properties_end = self.properties_at + i16(p, self.topic_end)
        return WHOLE if self.properties_end == self.end else WRONG_PARTS

    def check(self, p: Octets) -> int:
        """WHOLE when the checksums of the record that was located agree with its bytes, and its end was written."""
        body_crc = crc_of(p, self.body_at, self.body_end - self.body_at) & 0x7FFFFFFF
        if body_crc != i32(p, self.at + 8):
            return WRONG_CRC
        if self.end > self.properties_at and (p[self.end - 1] == 0 or self.has_hole(p)):
            return TORN
        here = self.end - PROPERTY_CRC_BYTES
        if here < self.properties_at or not same(p, here, b"__CRC32#\x01", 0, 9):
            return WHOLE
        value = crc_of(p, self.at, here - self.at) & 0x7FFFFFFF
        for digit in range(10):
            if p[here + 9 + digit] != 48 + value % 10:
                return WRONG_PROPERTY_CRC
            value //= 10
        return WHOLE if p[here + 19] == 2 else WRONG_PROPERTY_CRC

    def has_hole(self, p: Octets) -> bool:
        """Whether a whole sector inside the properties holds zeros: power was cut before it came to the disk.

        Where sectors begin is told by the record's place in the log. A part of one at the end is told by its last byte.
        """
        at = self.properties_at
        past = (i64(p, self.at + 28) + at - self.at) % SECTOR_BYTES
        if past:
            at += SECTOR_BYTES - past
        while at + SECTOR_BYTES <= self.end:
            word = at
            while word < at + SECTOR_BYTES and i64(p, word) == 0:
                word += 8
            if word == at + SECTOR_BYTES:
                return True
            at += SECTOR_BYTES
        return False


def check_record(buffer: Octets, at: int, end: int, check_crc: bool = True) -> tuple[int, int]:
    """What lies at `at`: WHOLE or BLANK and its size, or the kind of damage and the size that is claimed there.

    Stricter than RocketMQ: all parts of a record must add up to its size.
    """
    if at < 0 or end > len(buffer) or at >= end:
        return CUT_OFF, 0
    # Bare, for `locate` looks no further than `end`; there is a first byte to point to, for `end` is above 0.
    p = cython.address(buffer[0]) if cython.compiled else buffer
    layout = RecordParts()
    kind = layout.locate(p, at, end)
    if kind == WHOLE and check_crc:
        kind = layout.check(p)
    return kind, 0 if kind == CUT_OFF else layout.size


def decode_record(data: Octets, at: int = 0, check_crc: bool = True) -> Record:
    """The record that begins at `at`. Raises BodyError where there is no whole one."""
    if isinstance(data, bytes):  # which need no buffer to be opened around them
        return read_at(data, at, len(data), RecordParts(), check_crc)
    return decode_view(data, at, check_crc)


def decode_view(data: Octets, at: int, check_crc: bool) -> Record:
    end = len(data)
    if end == 0:
        raise BodyError(f"record at {at}: {REASONS[CUT_OFF]}")
    return read_at(cython.address(data[0]) if cython.compiled else data, at, end, RecordParts(), check_crc)


def decode_records(data: Octets, check_crc: bool = True) -> list[Record]:
    """Records back to back, as a pull answers them."""
    records: list[Record] = []
    at, end = 0, len(data)
    if end == 0:
        return records
    p = cython.address(data[0]) if cython.compiled else data
    layout = RecordParts()
    while at < end:
        records.append(read_at(p, at, end, layout, check_crc))
        at += layout.size
    return records


def read_at(p: Octets, at: int, end: int, layout: RecordParts, check_crc: bool) -> Record:
    kind = layout.locate(p, at, end) if at >= 0 else CUT_OFF
    if kind == WHOLE and check_crc:
        kind = layout.check(p)
    if kind != WHOLE:
        raise BodyError(f"record at {at}: {REASONS.get(kind, 'blank')}")
    # Compiled, most of these are C numbers: a constructor would make a Python object of each, as its argument.
    record = Record.__new__(Record)
    try:
        record.topic = text(p, layout.topic_at, layout.topic_end)
    except ValueError:
        raise BodyError(f"record at {at}: its topic is not UTF-8") from None
    record.body = cut(p, layout.body_at, layout.body_end)
    record.body_crc = i32(p, at + 8)
    record.queue_id = i32(p, at + 12)
    record.flag = i32(p, at + 16)
    record.queue_offset = i64(p, at + 20)
    record.commit_offset = i64(p, at + 28)
    record.sys_flag = layout.sys_flag
    record.born_timestamp = i64(p, at + 40)
    record.born_host = cut(p, at + 48, layout.store_time_at)
    record.store_timestamp = i64(p, layout.store_time_at)
    record.store_host = cut(p, layout.store_time_at + 8, layout.body_at - 16)
    record.reconsume_times = i32(p, layout.body_at - 16)
    record.prepared_transaction_offset = i64(p, layout.body_at - 12)
    record.properties = cut(p, layout.properties_at, layout.properties_end)
    record.size = layout.size
    return record
