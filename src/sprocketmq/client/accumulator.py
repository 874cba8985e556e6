# cython: annotation_typing=False
"""The messages of a batch while it grows, its body when it leaves, and their receipts when the answer is there.

This runs for every message that is batched, so it is compiled where that is possible.
"""

from __future__ import annotations

import asyncio

from sprocketmq.client.identity import unique_keys
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.protocol.batch import ENTRY_BYTES, encode_entry

_PLAIN_BYTES = ENTRY_BYTES + 55  # the entry of a message with no properties but its id
_receipt = tuple.__new__  # a named tuple's own constructor costs three times as much


class Accumulator:
    """`extra` is property text that every message of the batch gets. Futures may be absent: see `receipts`."""

    __slots__ = ("_extra", "_extras", "_keys", "body_bytes", "futures", "messages", "size")

    def __init__(self, extra: str = "") -> None:
        self.futures: list[asyncio.Future[SendReceipt]] = []
        self.messages: list[Message] = []
        self.size = 0  # of the body, about: a character of a property may take more than a byte
        self.body_bytes = 0
        self._extra = extra
        self._extras: list[str] = []  # of each message; empty while none has any
        self._keys: list[str] = []

    def has_room(self, message: Message, limit: int) -> bool:
        return self.size + entry_size(message) + len(self._extra) <= limit

    def add(self, message: Message, future: asyncio.Future[SendReceipt] | None = None, extra: str = "") -> None:
        """`extra` is property text for this message alone."""
        if extra or self._extras:
            self._extras += [""] * (len(self.messages) - len(self._extras))
            self._extras.append(extra)
            self.size += len(extra)
        self.messages.append(message)
        if future is not None:
            self.futures.append(future)
        self.size += entry_size(message)
        self.body_bytes += len(message.body)

    def add_extra(self, extra: str) -> None:
        """More property text for every message, those that are here already too."""
        self._extra += extra

    def body(self) -> bytes:
        """What a batch request carries. Each message gets its id here."""
        keys = self._keys = unique_keys(len(self.messages))
        extra, extras = self._extra, self._extras
        parts = []
        for i, message in enumerate(self.messages):
            own = extra + extras[i] if extras else extra
            properties = message.property_text(keys[i], own).encode()
            parts.append(encode_entry(message.flag, message.body, properties))
        return b"".join(parts)

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
            _receipt(SendReceipt, (status, key, offset_id, queue, offset + i, None, None, None))
            for i, (key, offset_id) in enumerate(zip(self._keys, ids, strict=True))
        ]


def entry_size(message: Message) -> int:
    """The bytes a message takes in a batch, about."""
    size = _PLAIN_BYTES + len(message.body)
    if message.tag or message.keys or message.properties or message.sharding_key:
        size += len(message.property_text(""))
    return size
