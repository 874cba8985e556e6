# cython: annotation_typing=False
"""The answer to a send that is in the log, written in one go:

binary  head  msgId=ids  queueId=n  queueOffset=n  MSG_REGION, TRACE_ON, transactionId=key
json    the same as text

ids := id ("," id)*      id := PREFIX offset in 16 hex digits      one for each message of a batch
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import VERSION, LanguageCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.send import SendRequest
from sprocketmq.store.log.append import PutResult

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, i64, put, put_i16, put_i32, seal, text
    from sprocketmq.protocol.frame.binary_header import digits, put_number

_HEX = b"0123456789ABCDEF"
_LANGUAGE = int(LanguageCode.PYTHON)
_VERSION = VERSION


class SendAnswers:
    """`key_at` and `key_end` say where in the request's properties its unique key is."""

    def __init__(self, id_prefix: str, region: str, trace_on: bool) -> None:
        traced = b"true" if trace_on else b"false"
        place = region.encode()
        self._prefix = id_prefix.encode()
        self._binary = (
            b"\0\5msgId",
            b"\0\7queueId",
            b"\0\13queueOffset",
            named(b"MSG_REGION", len(place)) + place + named(b"TRACE_ON", len(traced)) + traced + b"\0\15transactionId",
        )
        self._json = (
            b'{"code":0,"extFields":{"msgId":"',
            b'","queueId":"',
            b'","queueOffset":"',
            b'","MSG_REGION":"' + place + b'","TRACE_ON":"' + traced + b'","transactionId":"',
            b'"},"flag":1,"language":"PYTHON","opaque":',
            b',"serializeTypeCurrentRPC":"JSON","version":%d}' % _VERSION,
        )

    def encode(self, request: Command, sent: SendRequest, result: PutResult, key_at: int, key_end: int) -> bytes:
        if request.serialize_type == 0:
            return self.json(request.opaque, sent, result, key_at, key_end - key_at)
        return self.binary(request.opaque, sent, result, key_at, key_end - key_at)

    def binary(self, opaque: int, sent: SendRequest, result: PutResult, key_at: int, key_length: int) -> bytes:
        id_name, queue_name, offset_name, tail = self._binary
        ids_length = result.count * (len(self._prefix) + 17) - 1
        queue_digits, offset_digits = digits(sent.queue_id), digits(result.queue_offset)
        block = 7 + 4 + ids_length + 9 + 4 + queue_digits + 13 + 4 + offset_digits + len(tail) + 4 + key_length
        out = blank(29 + block)
        p = out
        put_i32(p, 0, 25 + block)
        put_i32(p, 4, 1 << 24 | 21 + block)
        put_i16(p, 8, 0)
        p[10] = _LANGUAGE
        put_i16(p, 11, _VERSION)
        put_i32(p, 13, opaque)
        put_i32(p, 17, 1)
        put_i32(p, 21, 0)
        put_i32(p, 25, block)
        put(p, 29, id_name, 0, 7)
        put_i32(p, 36, ids_length)
        at = put_ids(p, 40, self._prefix, result)
        put(p, at, queue_name, 0, 9)
        put_i32(p, at + 9, queue_digits)
        at = put_number(p, at + 13, sent.queue_id, queue_digits)
        put(p, at, offset_name, 0, 13)
        put_i32(p, at + 13, offset_digits)
        at = put_number(p, at + 17, result.queue_offset, offset_digits)
        at = put_piece(p, at, tail)
        put_i32(p, at, key_length)
        put(p, at + 4, sent.properties, key_at, key_length)
        return seal(out)

    def json(self, opaque: int, sent: SendRequest, result: PutResult, key_at: int, key_length: int) -> bytes:
        id_name, queue_name, offset_name, tail, rest, end = self._json
        ids_length = result.count * (len(self._prefix) + 17) - 1
        queue_digits, offset_digits = digits(sent.queue_id), digits(result.queue_offset)
        number = b"%d" % opaque
        header = len(id_name) + ids_length + len(queue_name) + queue_digits + len(offset_name) + offset_digits
        header += len(tail) + key_length + len(rest) + len(number) + len(end)
        out = blank(8 + header)
        p = out
        put_i32(p, 0, 4 + header)
        put_i32(p, 4, header)
        at = put_piece(p, 8, id_name)
        at = put_ids(p, at, self._prefix, result)
        at = put_piece(p, at, queue_name)
        at = put_number(p, at, sent.queue_id, queue_digits)
        at = put_piece(p, at, offset_name)
        at = put_number(p, at, result.queue_offset, offset_digits)
        at = put_piece(p, at, tail)
        put(p, at, sent.properties, key_at, key_length)
        at = put_piece(p, at + key_length, rest)
        at = put_piece(p, at, number)
        put_piece(p, at, end)
        return seal(out)


def join_ids(prefix: bytes, result: PutResult) -> str:
    """The id of a message, or the ids of a batch."""
    out = blank(result.count * (len(prefix) + 17))
    p = out
    return text(p, 0, put_ids(p, 0, prefix, result))


def put_ids(p: Octets, at: int, prefix: bytes, result: PutResult) -> int:
    """Where they end; the byte there may be overwritten as well."""
    if result.offsets is None:
        return put_hex(p, put_piece(p, at, prefix), result.commit_offset)
    offsets: Octets = result.offsets
    for number in range(result.count):
        at = put_hex(p, put_piece(p, at, prefix), i64(offsets, 8 * number))
        p[at] = 0x2C
        at += 1
    return at - 1


def named(name: bytes, value_length: int) -> bytes:
    """The head of a field in a binary header."""
    return len(name).to_bytes(2, "big") + name + value_length.to_bytes(4, "big")


def put_hex(p: Octets, at: int, value: int) -> int:
    """Write 16 upper-case hex digits; where they end."""
    here = at + 16
    while here > at:
        here -= 1
        p[here] = _HEX[value & 15]
        value >>= 4
    return at + 16


def put_piece(p: Octets, at: int, piece: bytes) -> int:
    put(p, at, piece, 0, len(piece))
    return at + len(piece)
