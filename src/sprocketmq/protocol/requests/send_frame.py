# cython: annotation_typing=False, cdivision=True
"""The frames of send requests, by whomever they are sent: one message or a batch, signed or not, answered or oneway.

frame  := length:i32 head:u32 code:i16 language:u8 version:i16 opaque:i32 flag:i32 remark_length:i32 ext_length:i32
          common  f g h i? j l? m  signature?  body
common  = the ext fields that every request to the queue has, encoded once, as `protocol/frame/binary_header.py` has it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import VERSION, LanguageCode, RequestCode
from sprocketmq.protocol.frame.binary_header import decode_block, encode_block
from sprocketmq.protocol.requests.send import LETTERS

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, put, put_i16, put_i32, seal
    from sprocketmq.protocol.requests.send import (  # isort: skip
        BATCH, BORN_TIMESTAMP, BROKER_NAME, DEFAULT_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS, FLAG, LETTER_A, PRODUCER_GROUP,
        MAX_RECONSUME_TIMES, PROPERTIES, QUEUE_ID, RECONSUME_TIMES, SYS_FLAG, TOPIC, UNIT_MODE,
    )  # fmt: skip

    FIXED_BYTES = 29  # a frame up to its ext fields

_ONE_MESSAGE = int(RequestCode.SEND_MESSAGE_V2)
_MANY_MESSAGES = int(RequestCode.SEND_BATCH_MESSAGE)
_LANGUAGE = int(LanguageCode.PYTHON)
_VERSION = VERSION

#: Given the fields, the body and the code of a request: the same fields, and those of its signature.
Sign = Callable[[Mapping[str, str], bytes | bytearray, int], Mapping[str, str]]


class Payload:
    """What one request carries, to whatever queue: a message, or a batch of them as one body.

    `unique_key` is for the sender alone: the id by which it knows a single message.
    """

    __slots__ = (
        "body", "born_ms", "code", "flag", "max_reconsume_times", "properties", "reconsume_times", "sys_flag", "topic",
        "unique_key",
    )  # fmt: skip

    def __init__(
        self, topic: str, body: bytes | bytearray, properties: bytes, *, code: int = _ONE_MESSAGE, unique_key: str = "",
        born_ms: int = 0, flag: int = 0, sys_flag: int = 0, reconsume_times: int = 0,
        max_reconsume_times: int | None = None,
    ) -> None:  # fmt: skip
        self.topic = topic
        self.body = body
        self.properties = properties
        self.code = code
        self.unique_key = unique_key
        self.born_ms = born_ms
        self.flag = flag
        self.sys_flag = sys_flag
        self.reconsume_times = reconsume_times
        self.max_reconsume_times = max_reconsume_times


class SendFrames:
    """The frames of the requests to one queue, with a binary header, which is the quicker one."""

    __slots__ = ("_common", "_sign")

    def __init__(
        self, *, group: str, topic: str, default_topic: str, topic_queues: int, queue_id: int, broker_name: str,
        sign: Sign | None = None,
    ) -> None:  # fmt: skip
        fields = {
            PRODUCER_GROUP: group, TOPIC: topic, DEFAULT_TOPIC: default_topic,
            DEFAULT_TOPIC_QUEUE_NUMS: str(topic_queues), QUEUE_ID: str(queue_id), UNIT_MODE: "false",
            BROKER_NAME: broker_name,
        }  # fmt: skip
        self._common = encode_block([part.encode() for number in fields for part in (LETTERS[number], fields[number])])
        self._sign = sign

    def whole(self, payload: Payload, opaque: int, flag: int = 0) -> bytes:
        """The frame of one request; `flag` is the frame's own."""
        body = payload.body if type(payload.body) is bytes else bytes(payload.body)
        extra = b"" if self._sign is None else self._signature(payload)
        size, length = self._head_bytes(payload, extra), len(body)
        out = blank(size + length)
        p = out  # compiled, a pointer into new bytes: nobody has seen them yet, so they may still be written
        self._put_head(p, size, payload, extra, opaque, flag)
        put(p, size, body, 0, length)
        return seal(out)

    def head(self, payload: Payload, opaque: int, flag: int = 0) -> bytes:
        """A frame up to its body, for one that is too large to copy."""
        return self._head(payload, b"" if self._sign is None else self._signature(payload), opaque, flag)

    def _head(self, payload: Payload, extra: bytes, opaque: int, flag: int) -> bytes:
        size = self._head_bytes(payload, extra)
        out = blank(size)
        p = out
        self._put_head(p, size, payload, extra, opaque, flag)
        return seal(out)

    def _signature(self, payload: Payload) -> bytes:
        """The fields that a signature adds. What is signed is read from the bytes that travel."""
        fields = decode_block(self._head(payload, b"", 0, 0)[FIXED_BYTES:])
        assert self._sign is not None
        signed = self._sign(fields, payload.body, payload.code)
        added = [(name, value) for name, value in signed.items() if name not in fields]
        return encode_block([part.encode() for pair in added for part in pair])

    def _head_bytes(self, payload: Payload, extra: bytes) -> int:
        """Seven bytes for each field of one letter, and its value."""
        size = FIXED_BYTES + len(self._common) + 5 * 7 + digits(payload.sys_flag) + digits(payload.born_ms)
        size += digits(payload.flag) + digits(payload.reconsume_times) + (4 if payload.code == _MANY_MESSAGES else 5)
        if payload.properties:
            size += 7 + len(payload.properties)
        if payload.max_reconsume_times is not None:
            size += 7 + digits(payload.max_reconsume_times)
        return size + len(extra)

    def _put_head(self, p: Octets, size: int, payload: Payload, extra: bytes, opaque: int, flag: int) -> None:
        common, properties = len(self._common), payload.properties
        put_i32(p, 0, size - 4 + len(payload.body))
        put_i32(p, 4, 1 << 24 | size - 8)
        put_i16(p, 8, payload.code)
        p[10] = _LANGUAGE
        put_i16(p, 11, _VERSION)
        put_i32(p, 13, opaque)
        put_i32(p, 17, flag)
        put_i32(p, 21, 0)
        put_i32(p, 25, size - FIXED_BYTES)
        put(p, FIXED_BYTES, self._common, 0, common)
        at = put_number(p, FIXED_BYTES + common, SYS_FLAG, payload.sys_flag)
        at = put_number(p, at, BORN_TIMESTAMP, payload.born_ms)
        at = put_number(p, at, FLAG, payload.flag)
        if properties:
            at = put_text(p, at, PROPERTIES, properties)
        at = put_number(p, at, RECONSUME_TIMES, payload.reconsume_times)
        if payload.max_reconsume_times is not None:
            at = put_number(p, at, MAX_RECONSUME_TIMES, payload.max_reconsume_times)
        at = put_text(p, at, BATCH, b"true" if payload.code == _MANY_MESSAGES else b"false")
        put(p, at, extra, 0, len(extra))


def put_name(p: Octets, at: int, number: int, length: int) -> int:
    """A field of one letter, up to its value of `length` bytes; returns where that begins."""
    put_i16(p, at, 1)
    p[at + 2] = LETTER_A + number
    put_i32(p, at + 3, length)
    return at + 7


def put_text(p: Octets, at: int, number: int, value: bytes) -> int:
    length = len(value)
    at = put_name(p, at, number, length)
    put(p, at, value, 0, length)
    return at + length


def put_number(p: Octets, at: int, number: int, value: int) -> int:
    """A field whose value is a number in decimal; returns where it ends."""
    count = digits(value)
    at = put_name(p, at, number, count)
    left = value  # 64 bits in C, with C's division: no number here is so low that its negative overflows
    if left < 0:
        p[at] = 0x2D
        left = -left
    for place in range(count - 1, 0 if value < 0 else -1, -1):
        p[at + place] = 0x30 + left % 10
        left //= 10
    return at + count


def digits(value: int) -> int:
    """The characters that `value` takes in decimal."""
    count = 2 if value < 0 else 1
    left = -value if value < 0 else value
    while left > 9:
        left //= 10
        count += 1
    return count
