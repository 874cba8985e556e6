# cython: annotation_typing=False
"""Rows of Arrow columns as the entries of batch sends, without a Python object per row.

entry      as in `protocol/record/batch.py`
properties := UNIQ_KEY extra TAGS? KEYS? __SHARDINGKEY? DELAY? (name \\x01 value \\x02)*
A text that is null or empty is left out, and so are those properties of the map that RocketMQ itself makes.

An entry is written behind the others of its batch before it is known to fit: its size follows from its writing.
"""

from __future__ import annotations

from typing import Protocol

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import SprocketError
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.hashing import utf8_hash
from sprocketmq.protocol.record.properties import SYSTEM_PROPERTIES
from sprocketmq.protocol.record.record import MAX_PROPERTIES_BYTES
from sprocketmq.spark.write.arrow_cells import Columns, Field, Pairs, Ranges
from sprocketmq.spark.write.batches import QueueBatch, TopicBatches
from sprocketmq.spark.write.unique_keys import unique_key

if not cython.compiled:
    from sprocketmq.hot.octets import (  # isort: skip
        Octets, cut, find, put, put_hex16, put_i16, put_i32, put_near, same, text,
    )  # fmt: skip
    from sprocketmq.protocol.record.batch import ENTRY_BYTES

#: The largest body of a request, and so the largest entry.
MAX_ENTRY_BYTES = 4 * 1024 * 1024

_NAME_BYTES = 9  # `UNIQ_KEY` and its separator
_ROW_HIGH_AT = _NAME_BYTES + 16  # the key's digits that change from row to row, see unique_keys.py
_ROW_LOW_AT = _NAME_BYTES + 28
_NEAR_BYTES = 16  # what `put_near` may write too much
_MOST_PROPERTIES = MAX_PROPERTIES_BYTES
_RESERVED = frozenset(name.encode() for name in SYSTEM_PROPERTIES)
_RESERVED_FIRST = bytes(any(name[0] == first for name in _RESERVED) for first in range(256))


class BadRow(SprocketError):
    """A row that cannot be a message."""


class RowSink(Protocol):
    """Where rows go when they are encoded."""

    def send_batch(self, batch: QueueBatch) -> None:
        """Take what the batch holds: it is empty afterwards, and takes any row."""
        ...

    def send_delayed(self, rows: EntryFill, row: int, batch: QueueBatch) -> None:
        """Take a row that no batch may hold."""
        ...


class EntryFill:
    """Encodes the rows of one task."""

    def __init__(self, seal: str, extra: str, batch_bytes: int, batch_rows: int) -> None:
        self._head = f"UNIQ_KEY\x01{unique_key(seal, 0)}\x02{extra}".encode()
        self._batch_bytes, self._batch_rows = batch_bytes, batch_rows
        self._single = QueueBatch("", None)

    def open(self, columns: Columns, first_row: int) -> None:
        """Take the rows from these columns; the first has the number `first_row` in its task."""
        self._first_row = first_row
        self._bodies, self._topics, self._fields = columns.bodies, columns.topics, columns.fields
        self._pairs, self._flags, self._delays = columns.pairs, columns.flags, columns.delays
        self._shards, self._queue_ids = columns.shards, columns.queue_ids
        self._is_free = self._shards is None and self._queue_ids is None and self._delays is None

    def fill(self, batches: TopicBatches, row: int, end: int, sink: RowSink) -> None:
        """Append rows of one topic to the batches of their queues; `sink` takes each that is full, and delayed rows."""
        while row < end:
            batch = batches.any if self._is_free else self.batch_of(batches, row)
            if self.delay(row) != 0:
                sink.send_batch(batch)  # the rows before it go first
                sink.send_delayed(self, row, batch)
            else:
                while not self.append(batch, row):
                    sink.send_batch(batch)
            row += 1

    def alone(self, row: int) -> tuple[int, bytes, bytes]:
        """(flag, body, properties) of a row that travels by itself."""
        self._single.rows = self._single.size = 0
        self.append(self._single, row)
        message: tuple[int, bytes, bytes] = decode_batch(self._single.take())[0]
        return message

    # -- where rows go ------------------------------------------------------------------------------------------------

    def topic(self, row: int) -> str:
        """What the row's column `topic` says."""
        topics = self._topics
        length = 0 if topics is None else topics.length(row)
        if topics is None or length <= 0:
            raise self.bad(row, "has no topic")
        at = topics.at(row)
        return text(topics.data, at, at + length)

    def topic_end(self, row: int, end: int) -> int:
        """Where after `row` the topic changes; without that column at `end`."""
        topics = self._topics
        if topics is None:
            return end
        length, at = max(topics.length(row), 0), topics.at(row)
        row += 1
        while row < end and topics.length(row) == length and same(topics.data, topics.at(row), topics.data, at, length):
            row += 1
        return row

    def batch_of(self, batches: TopicBatches, row: int) -> QueueBatch:
        """The batch of the queue that the row asks for; queueId goes before shardingKey."""
        if self._queue_ids is not None and not self._queue_ids.is_null(row):
            queue_id = self._queue_ids.value(row)
            batch = batches.by_id(queue_id)
            if batch is None:
                raise self.bad(row, f"wants a queue that topic {batches.any.topic} does not have: {queue_id}")
            return batch
        shards = self._shards
        if shards is not None and shards.length(row) > 0:
            at = shards.at(row)
            return batches.by_hash(utf8_hash(cut(shards.data, at, at + shards.length(row))))
        return batches.any

    def delay(self, row: int) -> int:
        """The row's delay level; a row without one has 0."""
        return 0 if self._delays is None else self._delays.value(row)

    # -- entries ------------------------------------------------------------------------------------------------------

    def append(self, batch: QueueBatch, row: int) -> bool:
        """Encode the row behind the others; False when the batch is full without it."""
        if batch.rows >= self._batch_rows:
            return False
        bodies = self._bodies
        length = bodies.length(row)
        if length <= 0:
            raise self.bad(row, "has no body")
        at = batch.size
        # Compiled, a bare address: there is room for the most that the row can take, and it moves at no call below.
        p = batch.reserve(ENTRY_BYTES + length + self.most_properties(row))
        put_near(p, at + 20, bodies.data, bodies.at(row), length, bodies.data_end)
        properties_at = at + ENTRY_BYTES + length
        end = self.put_properties(p, properties_at, row)
        if end - properties_at > _MOST_PROPERTIES:
            raise self.bad(row, f"has properties of {end - properties_at} bytes; a message takes {_MOST_PROPERTIES}")
        if end - at > MAX_ENTRY_BYTES:
            raise self.bad(row, f"is a message of {end - at} bytes; a broker takes {MAX_ENTRY_BYTES}")
        if batch.rows > 0 and end > self._batch_bytes:
            return False
        put_i32(p, at, end - at)
        put_i32(p, at + 4, 0)
        put_i32(p, at + 8, 0)
        put_i32(p, at + 12, self.flag(row))
        put_i32(p, at + 16, length)
        put_i16(p, properties_at - 2, end - properties_at)
        batch.size = end
        batch.rows += 1
        return True

    def flag(self, row: int) -> int:
        value = 0 if self._flags is None else self._flags.value(row)
        if value > 0x7FFFFFFF or value < -0x80000000:
            raise self.bad(row, f"has the flag {value}, which 32 bits cannot hold")
        return value

    def most_properties(self, row: int) -> int:
        """Room that the properties surely fit in."""
        most = len(self._head) + 32 + _NEAR_BYTES  # with a DELAY of any length
        for index in range(len(self._fields)):
            field = self._fields[index]
            most += len(field.head) + 1
            most += max(field.texts.length(row), 0) if field.lists is None else span(field.texts, field.lists, row)
        if self._pairs is not None:
            most += span(self._pairs.names, self._pairs.lists, row) + span(self._pairs.values, self._pairs.lists, row)
        return most

    def put_properties(self, p: Octets, at: int, row: int) -> int:
        """Returns where they end."""
        number = self._first_row + row
        put(p, at, self._head, 0, len(self._head))
        put_hex16(p, at + _ROW_HIGH_AT, number >> 16 & 0xFFFF)
        put_hex16(p, at + _ROW_LOW_AT, number & 0xFFFF)
        at += len(self._head)
        for index in range(len(self._fields)):
            at = self.put_field(p, at, row, self._fields[index])
        if self.delay(row) != 0:
            delay = b"DELAY\x01%d\x02" % self.delay(row)
            put(p, at, delay, 0, len(delay))
            at += len(delay)
        if self._pairs is not None:
            at = self.put_pairs(p, at, row, self._pairs)
        return at

    def put_field(self, p: Octets, at: int, row: int, field: Field) -> int:
        begin = at + len(field.head)
        if field.lists is None:
            end = self.put_text(p, begin, row, field.texts, row)
        else:
            end = self.put_joined(p, begin, row, field.texts, field.lists)
        if end == begin:
            return at
        put(p, at, field.head, 0, len(field.head))
        p[end] = 2
        return end + 1

    def put_joined(self, p: Octets, at: int, row: int, texts: Ranges, lists: Ranges) -> int:
        begin, item = at, lists.at(row)
        for index in range(item, item + max(lists.length(row), 0)):
            space = 0 if at == begin else 1
            end = self.put_text(p, at + space, row, texts, index)
            if end > at + space:
                if space:
                    p[at] = 32
                at = end
        return at

    def put_pairs(self, p: Octets, at: int, row: int, pairs: Pairs) -> int:
        item = pairs.lists.at(row)
        for index in range(item, item + max(pairs.lists.length(row), 0)):
            end = self.put_text(p, at, row, pairs.names, index)
            if end == at or pairs.values.length(index) <= 0 or is_reserved(p, at, end):
                continue
            if find(p, 1, at, end) >= 0:
                raise self.bad(row, f"has a property {text(p, at, end)!r}: U+0001 ends a name")
            p[end] = 1
            at = self.put_text(p, end + 1, row, pairs.values, index)
            p[at] = 2
            at += 1
        return at

    def put_text(self, p: Octets, at: int, row: int, texts: Ranges, index: int) -> int:
        """Returns where the text ends: where it begins when it is null."""
        length = texts.length(index)
        if length <= 0:
            return at
        put_near(p, at, texts.data, texts.at(index), length, texts.data_end)
        if find(p, 2, at, at + length) >= 0:
            raise self.bad(row, f"has a property with {text(p, at, at + length)!r} in it: U+0002 ends a value")
        return at + length

    def bad(self, row: int, reason: str) -> BadRow:
        return BadRow(f"row {self._first_row + row} of the task {reason}")


def span(texts: Ranges, lists: Ranges, row: int) -> int:
    """The bytes of all texts in a row's list, with a separator behind each."""
    count = lists.length(row)
    if count <= 0:
        return 0
    item = lists.at(row)
    return texts.at(item + count) - texts.at(item) + count


def is_reserved(p: Octets, at: int, end: int) -> bool:
    return _RESERVED_FIRST[p[at]] != 0 and cut(p, at, end) in _RESERVED
