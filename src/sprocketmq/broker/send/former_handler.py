# cython: annotation_typing=False
"""The straight way of a send: from the frame to the log to the answer, without a detour through Python objects.

It takes messages and batches for topics that have been admitted, with a unique key and nothing special about them,
while the broker is not busy. All others go the `detour`, which can do everything. Where an answer waits for the disk,
it is made at once and left with `park`.

A message's properties are stored as they came, followed by what the broker adds. A message of a batch has its own, the
batch's save the unique key, for each has one itself, and what the broker adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.send.former_answer import SendAnswers
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.send import SendRequest, decode_send
from sprocketmq.store.log.append import Appender, PutResult

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, cut, find, put, same, seal
    from sprocketmq.protocol.record.sysflag import TRANSACTION_MASK

#: Properties that take a message off this way, by their first letters.
_DELAY, _TIMER, _TRANSACTION, _POP = b"DELAY\x01", b"TIMER_D", b"TRAN_MSG\x01", b"POP_CK\x01"
_MULTI, _TRANSIENT, _NO_WAIT = b"INNER_MULTI_DISPATCH\x01", b"__RMQ.TRANSIENT.", b"WAIT\x01false"
_UNIQUE_KEY = b"UNIQ_KEY\x01"

Detour = Callable[[Any, Command, SendRequest], Any]
#: Answers a send that the store refused.
Refuse = Callable[[Command, PutResult], Any]
#: Keeps the answer until the message is safe.
Park = Callable[[Any, Command, SendRequest, PutResult, bytes, Counter], None]


class Lane:
    """An admitted topic: its queues, and what has been put to each."""

    def __init__(self, queues: int, counters: list[Counter]) -> None:
        self.queues = queues
        self.counters = counters


class StraightSend:
    """`open` is false while every send must go the detour."""

    def __init__(self, appender: Appender, detour: Detour, refuse: Refuse, park: Park | None = None) -> None:
        self.open = True
        self.park = park
        self.lanes: dict[str, Lane] = {}
        self.appender = appender
        self.detour = detour
        self.refuse = refuse
        self._key_at = self._key_end = 0

    def configure(self, id_prefix: str, region: str, trace_on: bool, suffix: bytes) -> None:
        """What ids begin with, what answers carry, and what is appended to properties."""
        self.suffix = suffix
        self.answers = SendAnswers(id_prefix, region, trace_on)

    def send(self, connection: Any, request: Command) -> Any:
        sent = decode_send(request)
        lane = self.lanes.get(sent.topic)
        if lane is None or not self.open or not request.body or not self.fits(sent, lane):
            return self.detour(connection, request, sent)
        result = self.put_batch(connection, request, sent) if sent.batch else self.put(connection, request, sent)
        if result.status != 0:
            return self.refuse(request, result)  # to try it again on the detour would count it twice
        counter = lane.counters[sent.queue_id]
        counter.count += result.count
        counter.size += result.size
        answer = self.answers.encode(request, sent, result, self._key_at, self._key_end)
        if self.park is None or request.flag != 0:  # nobody waits for the answer of a oneway send
            return answer
        self.park(connection, request, sent, result, answer, counter)
        return None

    def put(self, connection: Any, request: Command, sent: SendRequest) -> PutResult:
        return self.appender.put(
            sent.topic, sent.queue_id, sent.flag, sent.sys_flag, request.body, self.stored(sent.properties),
            sent.born_timestamp, connection.peer.packed, sent.reconsume_times, 0,
        )  # fmt: skip

    def put_batch(self, connection: Any, request: Command, sent: SendRequest) -> PutResult:
        return self.appender.put_batch(
            sent.topic, sent.queue_id, sent.sys_flag, request.body, self.shared(sent.properties), sent.born_timestamp,
            connection.peer.packed, sent.reconsume_times,
        )  # fmt: skip

    def fits(self, sent: SendRequest, lane: Lane) -> bool:
        """Whether there is nothing special about the message; notes where its unique key is."""
        if sent.queue_id < 0 or sent.queue_id >= lane.queues or sent.sys_flag & TRANSACTION_MASK:
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

    def shared(self, own: bytes) -> bytes:
        """What every message of a batch gets; pieces that are no properties are left out."""
        suffix, q = self.suffix, own
        out = blank(len(own) + 1 + len(suffix))
        p = out
        at, end, length = 0, len(own), 0
        while at < end:
            stop = find(q, 2, at, end)
            if stop < 0:
                stop = end
            middle = find(q, 1, at, stop)
            if at < middle < stop - 1 and not (middle == at + 8 and same(q, at, _UNIQUE_KEY, 0, 9)):
                put(p, length, own, at, stop - at)
                p[length + stop - at] = 2
                length += stop - at + 1
            at = stop + 1
        put(p, length, suffix, 0, len(suffix))
        return cut(p, 0, length + len(suffix))


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
