# cython: annotation_typing=False
"""The ext fields of a binary header, whole reply frames around them, and the numbers in them.

block := (key_length:i16 key value_length:i32 value)*

A block that came off the wire has been checked by the frame decoder; here its lengths are trusted.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import FLAG_RESPONSE, VERSION, LanguageCode

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, i16, i32, put, put_i16, put_i32, seal, text

_LANGUAGE = int(LanguageCode.PYTHON)
_VERSION = VERSION
_RESPONSE = FLAG_RESPONSE
_JSON_MIDDLE = b'},"flag":1,"language":"PYTHON","opaque":'


def decode_block(block: bytes) -> dict[str, str]:
    """Of two fields with one key the later wins."""
    fields: dict[str, str] = {}
    p = block  # compiled, a pointer without bounds: the frame's decoder has checked the lengths in it
    at, end = 0, len(block)
    while at < end:
        value_at = at + 6 + i16(p, at)
        value_end = value_at + i32(p, value_at - 4)
        fields[text(p, at + 2, value_at - 4)] = text(p, value_at, value_end)
        at = value_end
    return fields


def block_size(pairs: list[bytes]) -> int:
    """The bytes that names and values, one after the other in `pairs`, take as a block."""
    size = 0
    for index in range(0, len(pairs), 2):
        name_length = len(pairs[index])
        if name_length > 0x7FFF:
            raise ValueError(f"ext key of {name_length} bytes")
        size += 6 + name_length + len(pairs[index + 1])
    return size


def put_block(p: Octets, at: int, pairs: list[bytes]) -> None:
    for index in range(0, len(pairs), 2):
        name, value = pairs[index], pairs[index + 1]
        name_length, value_length = len(name), len(value)
        put_i16(p, at, name_length)
        put(p, at + 2, name, 0, name_length)
        put_i32(p, at + 2 + name_length, value_length)
        put(p, at + 6 + name_length, value, 0, value_length)
        at += 6 + name_length + value_length


def encode_block(pairs: list[bytes]) -> bytes:
    out = blank(block_size(pairs))
    p = out  # compiled, a pointer into new bytes: nobody has seen them yet, so they may still be written
    put_block(p, 0, pairs)
    return seal(out)


def binary_reply(opaque: int, code: int, remark: str | None, pairs: list[bytes], body_length: int) -> bytes:
    """A response frame up to its body, which the caller appends."""
    words = b"" if remark is None else remark.encode()
    remark_length, size = len(words), block_size(pairs)
    header_length = 21 + remark_length + size
    out = blank(8 + header_length)
    p = out
    put_i32(p, 0, 4 + header_length + body_length)
    put_i32(p, 4, 1 << 24 | header_length)
    put_i16(p, 8, code)
    p[10] = _LANGUAGE
    put_i16(p, 11, _VERSION)
    put_i32(p, 13, opaque)
    put_i32(p, 17, _RESPONSE)
    put_i32(p, 21, remark_length)
    put(p, 25, words, 0, remark_length)
    put_i32(p, 25 + remark_length, size)
    put_block(p, 29 + remark_length, pairs)
    return seal(out)


def json_reply(opaque: int, code: int, pairs: list[bytes], body_length: int) -> bytes:
    """As `binary_reply`, with a JSON header and no remark. Names and values must need no escape: see `is_plain`."""
    head = b'{"code":%d,"extFields":{' % code
    tail = b'%d,"serializeTypeCurrentRPC":"JSON","version":%d}' % (opaque, _VERSION)
    size = block_size(pairs) - (1 if pairs else 0)  # a pair has six marks around it as well; the last has no comma
    header_length = len(head) + size + len(_JSON_MIDDLE) + len(tail)
    out = blank(8 + header_length)
    p = out
    put_i32(p, 0, 4 + header_length + body_length)
    put_i32(p, 4, header_length)
    put(p, 8, head, 0, len(head))
    at = 8 + len(head)
    put_json_pairs(p, at, pairs)
    put(p, at + size, _JSON_MIDDLE, 0, len(_JSON_MIDDLE))
    put(p, at + size + len(_JSON_MIDDLE), tail, 0, len(tail))
    return seal(out)


def put_json_pairs(p: Octets, at: int, pairs: list[bytes]) -> None:
    for index in range(0, len(pairs), 2):
        name, value = pairs[index], pairs[index + 1]
        if index:
            p[at] = 0x2C
            at += 1
        p[at] = 0x22
        put(p, at + 1, name, 0, len(name))
        at += 1 + len(name)
        put(p, at, b'":"', 0, 3)
        put(p, at + 3, value, 0, len(value))
        at += 3 + len(value)
        p[at] = 0x22
        at += 1


def is_plain(value: bytes) -> bool:
    """True when a JSON string may hold `value` as it is."""
    p = value
    at, end = 0, len(value)
    while at < end and 0x20 <= p[at] <= 0x7E and p[at] != 0x22 and p[at] != 0x5C:
        at += 1
    return at == end


def integer(p: Octets, at: int, end: int, bits: int) -> int:
    """The decimal number in p[at:end], as Java's parseInt and parseLong take it; ValueError when it is none."""
    negative = end > at and p[at] == 0x2D
    if end > at and (p[at] == 0x2D or p[at] == 0x2B):
        at += 1
    if at >= end or end - at > 19:  # compiled, `value` has 64 bits and no sign: nineteen digits cannot run over
        raise ValueError("not a number")
    value = 0
    for here in range(at, end):
        if p[here] < 0x30 or p[here] > 0x39:
            raise ValueError("not a number")
        value = value * 10 + (p[here] - 0x30)
    limit = 0x7FFFFFFF
    if bits == 64:
        limit = 0x7FFFFFFFFFFFFFFF
    if value > limit + negative:
        raise ValueError(f"over {bits} bits")
    if not negative:
        return value
    return -value if value <= limit else -limit - 1  # the least number has no positive of its own to be turned round


def decimal(value: int) -> bytes:
    negative = value < 0
    magnitude = -value if negative else value
    count = digits(magnitude)
    out = blank(count + negative)
    p = out
    if negative:
        p[0] = 0x2D
    put_number(p, int(negative), magnitude, count)
    return seal(out)


def digits(value: int) -> int:
    """How many a number that is not negative has."""
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


def put_number(p: Octets, at: int, value: int, count: int) -> int:
    """Write `count` digits; where they end."""
    end = at + count
    here = end
    while here > at:
        here -= 1
        p[here] = 0x30 + value % 10
        value //= 10
    return end
