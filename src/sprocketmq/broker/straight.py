# cython: annotation_typing=False
"""The straight way of a send: from the frame to the log to the answer, without a detour through Python objects.

It takes single messages for topics that have been admitted, with a unique key and nothing special about them, while
the broker is not busy. All others go the `detour`, which can do everything. Where an answer waits for the disk, it is
made at once and left with `park`.

A message's properties are stored as they came, followed by what the broker adds. The answer is written in one go:

    binary  head  msgId=PREFIX hex  queueId=n  queueOffset=n  MSG_REGION, TRACE_ON, transactionId=key
    json    the same as text
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq import _shadow as cython

from sprocketmq.broker.counters import Counter
from sprocketmq.codes import VERSION, LanguageCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.send import SendRequest, decode_send
from sprocketmq.store.append import Appender, PutResult

if not cython.compiled:
    from sprocketmq.protocol.octets import Octets, blank, find, put, put_i16, put_i32, same, seal, text
    from sprocketmq.protocol.sysflag import TRANSACTION_MASK

#: Properties that take a message off this way, by their first letters.
_DELAY, _TIMER, _TRANSACTION, _POP = b"DELAY\x01", b"TIMER_D", b"TRAN_MSG\x01", b"POP_CK\x01"
_MULTI, _TRANSIENT, _NO_WAIT = b"INNER_MULTI_DISPATCH\x01", b"__RMQ.TRANSIENT.", b"WAIT\x01false"
_UNIQUE_KEY = b"UNIQ_KEY\x01"
_HEX = b"0123456789ABCDEF"
_LANGUAGE = int(LanguageCode.PYTHON)
_VERSION = VERSION

Detour = Callable[[Any, Command, SendRequest], Any]
#: Keeps the answer until the message is safe.
Park = Callable[[Any, Command, SendRequest, PutResult, bytes, Counter], None]


class Lane:
    """An admitted topic: its queues, and what has been put to each."""

    def __init__(self, queues: int, counters: list[Counter]) -> None:
        self.queues = queues
        self.counters = counters


class StraightSend:
    """`open` is false while every send must go the detour."""

    def __init__(self, appender: Appender, detour: Detour, park: Park | None = None) -> None:
        self.open = True
        self.park = park
        self.lanes: dict[str, Lane] = {}
        self.appender = appender
        self.detour = detour
        self._key_at = self._key_end = 0

    def configure(self, id_prefix: str, region: str, trace_on: bool, suffix: bytes) -> None:
        """What ids begin with, what answers carry, and what is appended to properties."""
        traced = b"true" if trace_on else b"false"
        prefix = id_prefix.encode()
        place = region.encode()
        self.suffix = suffix
        self._binary = (
            named(b"msgId", len(prefix) + 16) + prefix,
            b"\0\7queueId",
            b"\0\13queueOffset",
            named(b"MSG_REGION", len(place)) + place + named(b"TRACE_ON", len(traced)) + traced + b"\0\15transactionId",
        )
        self._json = (
            b'{"code":0,"extFields":{"msgId":"' + prefix,
            b'","queueId":"',
            b'","queueOffset":"',
            b'","MSG_REGION":"' + place + b'","TRACE_ON":"' + traced + b'","transactionId":"',
            b'"},"flag":1,"language":"PYTHON","opaque":',
            b',"serializeTypeCurrentRPC":"JSON","version":%d}' % _VERSION,
        )

    def send(self, connection: Any, request: Command) -> Any:
        sent = decode_send(request)
        lane = self.lanes.get(sent.topic)
        if lane is None or not self.open or not request.body or not self.fits(sent, lane):
            return self.detour(connection, request, sent)
        properties = self.stored(sent.properties)
        result = self.appender.put(
            sent.topic, sent.queue_id, sent.flag, sent.sys_flag, request.body, properties, sent.born_timestamp,
            connection.peer.packed, sent.reconsume_times, 0,
        )  # fmt: skip
        if result.status != 0:
            return self.detour(connection, request, sent)  # it is refused there for the same reason
        counter = lane.counters[sent.queue_id]
        counter.count += 1
        counter.size += result.size
        if request.serialize_type == 0:
            answer = self.json_answer(request.opaque, sent, result)
        else:
            answer = self.binary_answer(request.opaque, sent, result)
        if self.park is None or request.flag != 0:  # nobody waits for the answer of a oneway send
            return answer
        self.park(connection, request, sent, result, answer, counter)
        return None

    def fits(self, sent: SendRequest, lane: Lane) -> bool:
        """Whether there is nothing special about the message; notes where its unique key is."""
        if sent.queue_id < 0 or sent.queue_id >= lane.queues or sent.sys_flag & TRANSACTION_MASK or sent.batch:
            return False
        return self.scan(sent.properties, len(sent.properties))

    def scan(self, p: Octets, end: int) -> bool:
        at = 0
        self._key_at = self._key_end = 0
        while at < end:
            stop = find(p, 2, at, end)
            if stop < 0:
                stop = end
            if is_special(p, at, stop - at):
                return False
            if stop - at > 9 and same(p, at, _UNIQUE_KEY, 0, 9):
                self._key_at, self._key_end = at + 9, stop
            at = stop + 1
        return self._key_end > self._key_at and is_plain(p, self._key_at, self._key_end)

    def stored(self, own: bytes) -> bytes:
        suffix = self.suffix
        length = len(own)
        extra = 0 if own[length - 1] == 2 else 1
        out = blank(length + extra + len(suffix))
        p = out
        put(p, 0, own, 0, length)
        if extra:
            p[length] = 2
        put(p, length + extra, suffix, 0, len(suffix))
        return seal(out)

    def binary_answer(self, opaque: int, sent: SendRequest, result: PutResult) -> bytes:
        id_name, queue_name, offset_name, tail = self._binary
        queue_digits, offset_digits = digits(sent.queue_id), digits(result.queue_offset)
        key_length = self._key_end - self._key_at
        block = len(id_name) + 16 + 9 + 4 + queue_digits + 13 + 4 + offset_digits + len(tail) + 4 + key_length
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
        put(p, 29, id_name, 0, len(id_name))
        at = put_hex(p, 29 + len(id_name), result.commit_offset)
        put(p, at, queue_name, 0, 9)
        put_i32(p, at + 9, queue_digits)
        at = put_number(p, at + 13, sent.queue_id, queue_digits)
        put(p, at, offset_name, 0, 13)
        put_i32(p, at + 13, offset_digits)
        at = put_number(p, at + 17, result.queue_offset, offset_digits)
        put(p, at, tail, 0, len(tail))
        at += len(tail)
        put_i32(p, at, key_length)
        put(p, at + 4, sent.properties, self._key_at, key_length)
        return seal(out)

    def json_answer(self, opaque: int, sent: SendRequest, result: PutResult) -> bytes:
        id_name, queue_name, offset_name, tail, rest, end = self._json
        queue_digits, offset_digits = digits(sent.queue_id), digits(result.queue_offset)
        number = b"%d" % opaque
        key_length = self._key_end - self._key_at
        header = len(id_name) + 16 + len(queue_name) + queue_digits + len(offset_name) + offset_digits + len(tail)
        header += key_length + len(rest) + len(number) + len(end)
        out = blank(8 + header)
        p = out
        put_i32(p, 0, 4 + header)
        put_i32(p, 4, header)
        at = put_piece(p, 8, id_name)
        at = put_hex(p, at, result.commit_offset)
        at = put_piece(p, at, queue_name)
        at = put_number(p, at, sent.queue_id, queue_digits)
        at = put_piece(p, at, offset_name)
        at = put_number(p, at, result.queue_offset, offset_digits)
        at = put_piece(p, at, tail)
        put(p, at, sent.properties, self._key_at, key_length)
        at = put_piece(p, at + key_length, rest)
        at = put_piece(p, at, number)
        put_piece(p, at, end)
        return seal(out)


def join_ids(prefix: bytes, commit_offsets: list[int]) -> str:
    """The message ids of a batch: the prefix and the offset in hex, joined by commas."""
    length, count = len(prefix), len(commit_offsets)
    out = blank(count * (length + 17))
    p = out
    at = 0
    for offset in commit_offsets:
        put(p, at, prefix, 0, length)
        at = put_hex(p, at + length, offset)
        p[at] = 0x2C
        at += 1
    return text(p, 0, at - 1)


def named(name: bytes, value_length: int) -> bytes:
    """The head of a field in a binary header."""
    return len(name).to_bytes(2, "big") + name + value_length.to_bytes(4, "big")


def is_special(p: Octets, at: int, length: int) -> bool:
    first = p[at] if length > 6 else 0
    if first == 0x44:  # D
        return same(p, at, _DELAY, 0, 6)
    if first == 0x54:  # T
        return same(p, at, _TIMER, 0, 7) or (length > 9 and same(p, at, _TRANSACTION, 0, 9))
    if first == 0x50:  # P
        return same(p, at, _POP, 0, 7)
    if first == 0x57:  # W
        return length == 10 and same(p, at, _NO_WAIT, 0, 10)
    if first == 0x49:  # I
        return length > 21 and same(p, at, _MULTI, 0, 21)
    return first == 0x5F and length > 16 and same(p, at, _TRANSIENT, 0, 16)


def is_plain(p: Octets, at: int, end: int) -> bool:
    """Whether a JSON string may hold the text as it is."""
    while at < end and 0x20 <= p[at] <= 0x7E and p[at] != 0x22 and p[at] != 0x5C:
        at += 1
    return at == end


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
