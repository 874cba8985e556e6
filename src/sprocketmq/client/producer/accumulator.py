# cython: annotation_typing=False
"""The body of a batch while it grows: each message is encoded where it is to lie, when it is added.

entry as in `protocol/record/batch.py`; its properties begin with `UNIQ_KEY \\x01 id \\x02 WAIT \\x01 true|false \\x02`
The places of the ids stay blank until the batch is closed: then all of them are given out, of one moment.

This runs for every message that is batched, so it is compiled where that is possible.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.client.cluster.identity import id_block
from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import NO_WAIT, WAIT, Message, SendReceipt
from sprocketmq.client.producer.receipts import BatchReceipts
from sprocketmq.protocol.record.ids import MAX_BLOCK
from sprocketmq.protocol.record.record import MAX_PROPERTIES_BYTES

if not cython.compiled:
    from sprocketmq.hot.octets import i32, put, put_hex16, put_i16, put_i32, resize
    from sprocketmq.protocol.record.batch import ENTRY_BYTES

MAX_MESSAGES = MAX_BLOCK  # of a batch

_NAME = b"UNIQ_KEY\x01"
_WAIT = WAIT.encode()
_NO_WAIT = NO_WAIT.encode()
_KEY_BYTES = 32
_KEY_AT = ENTRY_BYTES + len(_NAME)  # in an entry whose body is empty
_PLAIN_BYTES = _KEY_AT + _KEY_BYTES + len(_WAIT)  # the entry of a message with no properties but its id
_MOST_PROPERTIES = MAX_PROPERTIES_BYTES
_FIRST_BYTES = 4096


class Accumulator:
    """`extra` is property text that every message of the batch gets. Nothing is added once it is closed."""

    __slots__ = ("_buffer", "_extra", "_first_id", "_head", "body_bytes", "count", "size")

    def __init__(self, extra: str = "") -> None:
        self.count = 0
        self.size = 0
        self.body_bytes = 0  # of the messages' own
        self._buffer = bytearray(_FIRST_BYTES)
        self._extra = extra.encode()
        self._head = ""
        self._first_id = 0

    def add(self, message: Message, extra: str = "") -> None:
        """`extra` is property text for this message alone. Raises InvalidMessage, and then nothing is added."""
        body = message.body if type(message.body) is bytes else bytes(message.body)
        wait = _WAIT if message.wait_stored else _NO_WAIT
        own = self._extra
        text = extra + message.own_text()
        if text:
            try:
                own += text.encode()
            except UnicodeEncodeError:
                raise message.no_unicode() from None
        length, own_length, wait_length = len(body), len(own), len(wait)
        properties_length = len(_NAME) + _KEY_BYTES + wait_length + own_length
        if properties_length > _MOST_PROPERTIES:
            raise InvalidMessage(f"the properties of a message take at most {MAX_PROPERTIES_BYTES} bytes")
        at = self.size
        size = ENTRY_BYTES + length + properties_length
        if at + size > len(self._buffer):
            resize(self._buffer, 2 * (at + size))
        p = self._buffer  # compiled, a pointer: taken after `resize`, which may have moved the bytes
        put_i32(p, at, size)
        put_i32(p, at + 4, 0)
        put_i32(p, at + 8, 0)
        put_i32(p, at + 12, message.flag)
        put_i32(p, at + 16, length)
        put(p, at + 20, body, 0, length)
        at += 20 + length
        put_i16(p, at, properties_length)
        put(p, at + 2, _NAME, 0, len(_NAME))
        at += 2 + len(_NAME) + _KEY_BYTES
        put(p, at, wait, 0, wait_length)
        put(p, at + wait_length, own, 0, own_length)
        self.size += size
        self.count += 1
        self.body_bytes += length

    def close(self) -> bytearray:
        """What a batch request carries. The messages get their ids here."""
        self._head, self._first_id = id_block(self.count)
        head = self._head.encode()
        head_length = len(head)
        p = self._buffer
        at = 0
        for index in range(self.count):
            key_at = at + _KEY_AT + i32(p, at + 16)
            put(p, key_at, head, 0, head_length)
            put_hex16(p, key_at + head_length, self._first_id + index & 0xFFFF)
            at += i32(p, at)
        resize(self._buffer, self.size)
        return self._buffer

    def receipts(self, receipt: SendReceipt) -> BatchReceipts:
        """Each message's share of the batch's receipt."""
        return BatchReceipts(receipt, self._head, self._first_id, self.count)


def entry_size(message: Message) -> int:
    """The bytes a message takes in a batch, about: a character of a property may take more than a byte."""
    return _PLAIN_BYTES + len(message.body) + len(message.own_text())
