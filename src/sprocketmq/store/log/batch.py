# cython: annotation_typing=False
"""The messages of a batch body, walked in place: no message becomes an object before it is in the log.

batch := (size:i32 magic:i32 crc:i32 flag:i32 body_length:i32 body properties_length:i16 properties)*

What the records of one batch share is written once, as a record without body and properties, the prototype; each
message is a copy of it with its own numbers, its body in the middle and its properties at the end. The heads of the
records are put when all of them are written, the first one's last: a batch is found whole or not at all.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import MessageIllegal

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer
    from sprocketmq.hot.octets import i16, i32, i64, put, put_i16, put_i32, put_i64, put_last
    from sprocketmq.protocol.record.crc import crc_of
    from sprocketmq.protocol.record.record import (
        BLANK_BYTES,
        MAX_PROPERTIES_BYTES,
        PROPERTY_CRC_BYTES,
        put_property_crc,
    )

    BATCH_HEAD = 20  # of a message, up to and with its body's length
    END = 2  # closes a property


class BatchRun:
    """Stands at one message of the batch after each `step` that is True.

    `own_length` is what its properties have before the shared ones, with the separator between them; from there on it
    is the same `tail` of bytes for each.
    """

    __slots__ = (
        "_at", "_batch", "_end", "_own_at", "_own_length", "_property_crc", "_shared_length", "body_at",
        "body_length", "count", "flag", "own_length", "properties_length", "shared", "tail",
    )  # fmt: skip

    def __init__(self, batch: bytes, shared: bytes, property_crc: bool) -> None:
        """The `shared` properties follow every message's own, and room for the property CRC follows them."""
        if shared and (property_crc or shared.endswith(b"\0")) and not shared.endswith(b"\2"):
            shared += b"\2"
        self.shared = shared
        self._property_crc = property_crc
        self._shared_length = len(shared)
        self.tail = self._shared_length + (PROPERTY_CRC_BYTES if property_crc else 0)
        self._batch = batch
        self._end = len(batch)
        self.rewind()

    def rewind(self) -> None:
        self._at = 0
        self.count = 0

    def size(self, bare: int) -> int:
        """Bytes of all the records, each of which has `bare` without body and properties. Raises MessageIllegal."""
        total = 0
        self.rewind()
        while self.step():
            total += bare + self.body_length + self.properties_length
        if self.count == 0:
            raise MessageIllegal("the batch is empty")
        return total

    def step(self) -> bool:
        """Go to the next message; False behind the last. Raises MessageIllegal where the batch is not well formed."""
        at, p = self._at, self._batch  # compiled, a pointer without bounds: each read stands behind a look at a length
        if at >= self._end:
            return False
        if self._end - at < BATCH_HEAD + 2:
            raise MessageIllegal(f"the batch is cut off at {at}")
        size, body_length = i32(p, at), i32(p, at + 16)
        if body_length < 0 or size < BATCH_HEAD + 2 + body_length or size > self._end - at:
            raise MessageIllegal(f"the message at {at} of the batch has impossible lengths")
        self.flag = i32(p, at + 12)
        self.body_at, self.body_length = at + BATCH_HEAD, body_length
        self._own_at = self.body_at + body_length + 2
        self._own_length = i16(p, self._own_at - 2)
        if self._own_length < 0 or self._own_at + self._own_length != at + size:
            raise MessageIllegal(f"the parts of the message at {at} of the batch do not add up")
        self.own_length = self._own_length + (1 if self.needs_end() else 0)
        self.properties_length = self.own_length + self.tail
        if self.properties_length > MAX_PROPERTIES_BYTES:
            raise MessageIllegal(f"properties of {self.properties_length} bytes")
        self._at = at + size
        self.count += 1
        return True

    def needs_end(self) -> bool:
        """Whether a separator is missing behind the message's properties: others follow, or the last byte is NUL."""
        if self._own_length == 0:
            return False
        p, last = self._batch, self._own_at + self._own_length - 1
        return p[last] == 0 or (self.tail > 0 and p[last] != END)

    def write(
        self, p: Pointer, at: int, size: int, prototype: bytes, middle: int, queue_offset: int, commit_offset: int
    ) -> None:
        """Make the message a record without a head at `at`; its body belongs at `middle` of the prototype.

        Compiled, `p` is an address in the mapped file: `Appender` has made room there for what `size` has added up.
        """
        body_length, rest, start = self.body_length, len(prototype) - middle, at
        put(p, at + BLANK_BYTES, prototype, BLANK_BYTES, middle - BLANK_BYTES)
        put_i32(p, at + 8, crc_of(self._batch, self.body_at, body_length) & 0x7FFFFFFF)
        put_i32(p, at + 16, self.flag)
        put_i64(p, at + 20, queue_offset)
        put_i64(p, at + 28, commit_offset)
        put_i32(p, at + middle - 4, body_length)
        at += middle
        put(p, at, self._batch, self.body_at, body_length)
        at += body_length
        put(p, at, prototype, middle, rest)
        put_i16(p, at + rest - 2, self.properties_length)
        self.write_properties(p, at + rest)
        if self._property_crc:
            put_property_crc(p, start, size, i32(prototype, 4))

    def write_properties(self, p: Any, at: int) -> None:
        put(p, at, self._batch, self._own_at, self._own_length)
        if self.own_length > self._own_length:
            p[at + self._own_length] = END
        put(p, at + self.own_length, self.shared, 0, self._shared_length)


def put_heads(p: Pointer, base: int, offsets: Pointer, count: int, end: int, magic: int) -> None:
    """Make records of what was written: they begin at these offsets of the log, back to back up to the offset `end`.

    `p` is where the offset `base` is. The first one's head comes last: until then a scan of the log ends before it.
    """
    for number in range(count - 1, -1, -1):
        start = i64(offsets, 8 * number)
        put_last(p, start - base, end - start, magic)
        end = start
