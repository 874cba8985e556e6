# cython: annotation_typing=False
"""The answer to a send that is stored, written in one go into a frame of the right size:

frame  := head field(msgId, ids) field(queueId) field(queueOffset) told [field(transactionId, unique key)]
          [field(recallHandle)] rest
ids    := id ("," id)*      id := PREFIX offset in 16 hex digits      one for each message of a batch
told   := MSG_REGION and TRACE_ON, the same in every answer

A binary field is its name, the length of its value and the value; a JSON field opens and closes with quotes, which are
part of the names around it. So both forms are one function over two sets of names.
"""

from __future__ import annotations

import orjson

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import FLAG_RESPONSE, VERSION, LanguageCode
from sprocketmq.protocol.command import Command
from sprocketmq.store.log.append import PutResult

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, i64, plain_end, put, put_i32, put_i64_hex, seal
    from sprocketmq.protocol.frame.binary_header import decimal, digits, put_number


class SendAnswers:
    """What does not change from answer to answer is encoded once, here."""

    def __init__(self, id_prefix: str, region: str, trace_on: bool) -> None:
        self._binary = binary_form(region, trace_on)
        self._json = json_form(region, trace_on)
        self._binary.prefix = self._json.prefix = id_prefix.encode()

    def encode(
        self, request: Command, queue_id: int, result: PutResult, key: bytes, key_at: int, key_end: int,
        recall_handle: bytes | None,
    ) -> bytes:  # fmt: skip
        """The unique key is key[key_at:key_end]; an empty one is left out."""
        if request.serialize_type != 0:
            return self._binary.encode(request.opaque, queue_id, result, key, key_at, key_end, recall_handle)
        if plain_end(key, key_at, key_end) != key_end:
            key = json_text(key[key_at:key_end])
            key_at, key_end = 0, len(key)
        if recall_handle is not None:
            recall_handle = json_text(recall_handle)
        return self._json.encode(request.opaque, queue_id, result, key, key_at, key_end, recall_handle)


class AnswerForm:
    """The names of one serialization; `gap` bytes between a name and its value are the value's length.

    The head ends with the first name, msgId: what always stands together is copied in one piece.
    """

    def __init__(self, head: bytes, gap: int, names: tuple[bytes, ...], rest: tuple[bytes, bytes]) -> None:
        self.prefix = b""
        self._head = head
        self._gap = gap
        self._queue_name, self._offset_name, self._told, self._key_name, self._handle_name = names
        self._rest, self._end = rest
        self._fixed = len(head) + sum(len(name) for name in names[:3]) + 3 * gap + sum(len(part) for part in rest)

    def encode(
        self, opaque: int, queue_id: int, result: PutResult, key: bytes, key_at: int, key_end: int,
        recall_handle: bytes | None,
    ) -> bytes:  # fmt: skip
        gap = self._gap
        number = b"" if gap else decimal(opaque)  # JSON has it as text, near the end
        ids_length = result.count * (len(self.prefix) + 17) - 1
        queue_digits, offset_digits = digits(queue_id), digits(result.queue_offset)
        size = self._fixed + ids_length + queue_digits + offset_digits + len(number)
        if key_end > key_at:
            size += len(self._key_name) + gap + key_end - key_at
        if recall_handle is not None:
            size += len(self._handle_name) + gap + len(recall_handle)
        out = blank(size)
        p = out  # compiled: a pointer into bytes that nobody has seen yet, so that they may still be written
        at = put_ids(p, self.put_name(p, 0, self._head, ids_length), self.prefix, result)
        self.put_lengths(p, size, opaque)
        at = put_number(p, self.put_name(p, at, self._queue_name, queue_digits), queue_id, queue_digits)
        at = put_number(p, self.put_name(p, at, self._offset_name, offset_digits), result.queue_offset, offset_digits)
        at = put_piece(p, at, self._told)
        if key_end > key_at:
            at = self.put_name(p, at, self._key_name, key_end - key_at)
            put(p, at, key, key_at, key_end - key_at)
            at += key_end - key_at
        if recall_handle is not None:
            at = put_piece(p, self.put_name(p, at, self._handle_name, len(recall_handle)), recall_handle)
        if gap == 0:
            at = put_piece(p, put_piece(p, at, self._rest), number)
            put_piece(p, at, self._end)
        return seal(out)

    def put_lengths(self, p: Octets, size: int, opaque: int) -> None:
        put_i32(p, 0, size - 4)
        if self._gap:
            put_i32(p, 4, 1 << 24 | size - 8)  # the first byte names the serialization
            put_i32(p, 13, opaque)  # behind code, language and version
            put_i32(p, 25, size - 29)  # the fields, behind flag and remark
        else:
            put_i32(p, 4, size - 8)

    def put_name(self, p: Octets, at: int, name: bytes, value_length: int) -> int:
        """Where the value begins."""
        put(p, at, name, 0, len(name))
        at += len(name)
        if self._gap:
            put_i32(p, at, value_length)
        return at + self._gap


def binary_form(region: str, trace_on: bool) -> AnswerForm:
    place, traced = region.encode(), b"true" if trace_on else b"false"
    head = bytes(10) + b"%c" % LanguageCode.PYTHON + VERSION.to_bytes(2, "big") + bytes(4)
    head += FLAG_RESPONSE.to_bytes(4, "big") + bytes(8) + binary_name(b"msgId")  # no remark, and the fields' length
    told = (
        binary_name(b"MSG_REGION") + len(place).to_bytes(4, "big") + place
        + binary_name(b"TRACE_ON") + len(traced).to_bytes(4, "big") + traced
    )  # fmt: skip
    names = tuple(binary_name(name) for name in (b"queueId", b"queueOffset", b"transactionId", b"recallHandle"))
    return AnswerForm(head, 4, (*names[:2], told, *names[2:]), (b"", b""))


def json_form(region: str, trace_on: bool) -> AnswerForm:
    """Each name closes the value before it; the rest closes the last one."""
    told = b'","MSG_REGION":"%b","TRACE_ON":"%b' % (json_text(region.encode()), b"true" if trace_on else b"false")
    names = (b'","queueId":"', b'","queueOffset":"', told, b'","transactionId":"', b'","recallHandle":"')
    rest = b'"},"flag":1,"language":"PYTHON","opaque":', b',"serializeTypeCurrentRPC":"JSON","version":%d}' % VERSION
    return AnswerForm(bytes(8) + b'{"code":0,"extFields":{"msgId":"', 0, names, rest)


def binary_name(name: bytes) -> bytes:
    return len(name).to_bytes(2, "big") + name


def json_text(value: bytes) -> bytes:
    """What a JSON string holds, with the escapes it needs."""
    quoted = orjson.dumps(value.decode())
    return quoted[1 : len(quoted) - 1]


def put_ids(p: Octets, at: int, prefix: bytes, result: PutResult) -> int:
    """Where they end; the byte there may be overwritten as well, for something always follows."""
    if result.offsets is None:
        return put_id(p, at, prefix, result.commit_offset)
    offsets: Octets = result.offsets
    for number in range(result.count):
        at = put_id(p, at, prefix, i64(offsets, 8 * number))
        p[at] = 0x2C
        at += 1
    return at - 1


def put_id(p: Octets, at: int, prefix: bytes, commit_offset: int) -> int:
    at = put_piece(p, at, prefix)
    put_i64_hex(p, at, commit_offset)
    return at + 16


def put_piece(p: Octets, at: int, piece: bytes) -> int:
    put(p, at, piece, 0, len(piece))
    return at + len(piece)
