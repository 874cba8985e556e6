"""The body of a batch request while it grows, and the receipts of its messages when the answer is there.

body  := child*
child := size:i32 0:i32 0:i32 flag:i32 body_length:i32 body properties_length:i16 properties
"""

from __future__ import annotations

import asyncio
import struct

from sprocketmq.client.identity import unique_key
from sprocketmq.client.message import Message, SendReceipt

_HEAD = struct.Struct(">iiiii")
_FIXED = _HEAD.size + 2
_PROPERTIES_GUESS = 4096


class Accumulator:
    """`extra` is property text that every message of the batch gets. Futures may be absent: see `receipts`."""

    __slots__ = ("_extra", "_keys", "_parts", "body_bytes", "futures", "messages", "size")

    def __init__(self, extra: str = "") -> None:
        self._extra = extra
        self.futures: list[asyncio.Future[SendReceipt]] = []
        self.messages: list[Message] = []
        self.size = 0
        self.body_bytes = 0
        self._keys: list[str] = []
        self._parts: list[bytes] = []

    def has_room(self, message: Message, limit: int) -> bool:
        return self.size + len(message.body) + _PROPERTIES_GUESS < limit

    def add(self, message: Message, future: asyncio.Future[SendReceipt] | None = None) -> None:
        key = unique_key()
        body = message.body
        properties = message.property_text(key, self._extra).encode()
        size = _FIXED + len(body) + len(properties)
        head = _HEAD.pack(size, 0, 0, message.flag, len(body))
        self._parts += (head, body, len(properties).to_bytes(2, "big"), properties)
        self._keys.append(key)
        if future is not None:
            self.futures.append(future)
        self.messages.append(message)
        self.size += size
        self.body_bytes += len(body)

    def body(self) -> bytes:
        return b"".join(self._parts)

    def settle(self, receipt: SendReceipt) -> None:
        """Give every future its message's receipt."""
        for future, own in zip(self.futures, self.receipts(receipt), strict=True):
            if not future.done():
                future.set_result(own)

    def receipts(self, receipt: SendReceipt) -> list[SendReceipt]:
        """Each message's share of the batch's receipt: the offsets follow one another."""
        ids = receipt.offset_message_id.split(",")
        if len(ids) != len(self._keys):  # a broker that does not tell them all
            ids = [receipt.offset_message_id] * len(self._keys)
        status, queue, offset = receipt.status, receipt.queue, receipt.queue_offset
        return [
            SendReceipt(status, key, offset_id, queue, offset + i)
            for i, (key, offset_id) in enumerate(zip(self._keys, ids, strict=True))
        ]
