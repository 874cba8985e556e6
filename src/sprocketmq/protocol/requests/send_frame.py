# cython: annotation_typing=False, cdivision=True
"""The frames of send requests to one queue: what they have in common is encoded once, as a binary header.

frame  := length:i32 head:u32 code:i16 language:u8 version:i16 opaque:i32 flag:i32 remark_length:i32 ext_length:i32
          common  g:born timestamp  h:flag  i:properties  body
common  = the ext fields that every message to the queue has, each in the form of `protocol/frame/binary_header.py`
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import VERSION, LanguageCode
from sprocketmq.protocol.frame.binary_header import encode_block

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, put, put_i16, put_i32, seal

_FIXED_BYTES = 29  # a frame up to its ext fields
_LANGUAGE = int(LanguageCode.PYTHON)
_VERSION = VERSION


class SendFrames:
    """`code` is that of SEND_MESSAGE_V2 or SEND_BATCH_MESSAGE."""

    __slots__ = ("_code", "_common")

    def __init__(
        self, code: int, *, group: str, topic: str, default_topic: str, topic_queues: int, queue_id: int,
        broker_name: str, is_batch: bool = False, sys_flag: int = 0,
    ) -> None:  # fmt: skip
        self._code = code
        fields = {
            "a": group, "b": topic, "c": default_topic, "d": str(topic_queues), "e": str(queue_id), "f": str(sys_flag),
            "j": "0", "k": "false", "m": "true" if is_batch else "false", "n": broker_name,
        }  # fmt: skip
        self._common = encode_block([part.encode() for pair in fields.items() for part in pair])

    def whole(self, opaque: int, born_ms: int, flag: int, properties: bytes, body: bytes) -> bytes:
        """The frame of one request."""
        size = self._head_bytes(born_ms, flag, properties)
        length = len(body)
        out = blank(size + length)
        p = out
        self._put_head(p, size, opaque, born_ms, flag, properties, length)
        put(p, size, body, 0, length)
        return seal(out)

    def head(self, opaque: int, born_ms: int, flag: int, properties: bytes, body_length: int) -> bytes:
        """A frame up to its body, for one that is too large to copy."""
        size = self._head_bytes(born_ms, flag, properties)
        out = blank(size)
        p = out
        self._put_head(p, size, opaque, born_ms, flag, properties, body_length)
        return seal(out)

    def _head_bytes(self, born_ms: int, flag: int, properties: bytes) -> int:
        return _FIXED_BYTES + len(self._common) + 21 + digits(born_ms) + digits(flag) + len(properties)

    def _put_head(
        self, p: Octets, size: int, opaque: int, born_ms: int, flag: int, properties: bytes, body_length: int
    ) -> None:
        common = len(self._common)
        put_i32(p, 0, size - 4 + body_length)
        put_i32(p, 4, 1 << 24 | size - 8)
        put_i16(p, 8, self._code)
        p[10] = _LANGUAGE
        put_i16(p, 11, _VERSION)
        put_i32(p, 13, opaque)
        put_i32(p, 17, 0)
        put_i32(p, 21, 0)
        put_i32(p, 25, size - _FIXED_BYTES)
        put(p, _FIXED_BYTES, self._common, 0, common)
        at = put_number(p, _FIXED_BYTES + common, 0x67, born_ms)
        at = put_number(p, at, 0x68, flag)
        at = put_name(p, at, 0x69, len(properties))
        put(p, at, properties, 0, len(properties))


def put_name(p: Octets, at: int, letter: int, length: int) -> int:
    """A field of one letter, up to its value of `length` bytes; returns where that begins."""
    put_i16(p, at, 1)
    p[at + 2] = letter
    put_i32(p, at + 3, length)
    return at + 7


def put_number(p: Octets, at: int, letter: int, value: int) -> int:
    """A field of one letter whose value is a number in decimal; returns where it ends."""
    count = digits(value)
    at = put_name(p, at, letter, count)
    left = value
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
