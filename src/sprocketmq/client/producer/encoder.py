# cython: annotation_typing=False
"""From messages to what send requests carry: full topic name, unique key, property text, perhaps a compressed body."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from sprocketmq.client.cluster.identity import id_block
from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import Message
from sprocketmq.client.producer.accumulator import MAX_MESSAGES, Accumulator, entry_size
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.names import with_namespace
from sprocketmq.protocol.record.compression import compress
from sprocketmq.protocol.record.record import MAX_PROPERTIES_BYTES
from sprocketmq.protocol.record.sysflag import CompressionType, with_compression
from sprocketmq.protocol.requests.send_frame import Payload

BATCH_PROPERTIES = b"WAIT\x01true\x02"  # of the request itself

_IDS = 256  # ids that are taken at once ...
_IDS_MS = 100  # ... and used within this time: an id tells when it was made
_MESSAGE = int(RequestCode.SEND_MESSAGE_V2)
_BATCH = int(RequestCode.SEND_BATCH_MESSAGE)
_MOST_PROPERTIES = MAX_PROPERTIES_BYTES


class Encoder:
    """That of one producer."""

    __slots__ = (
        "_compress_level", "_compress_over", "_first_id", "_ids_head", "_ids_left", "_ids_ms", "_kind",
        "_max_message_bytes", "_names", "_namespace", "_namespace_text",
    )  # fmt: skip

    def __init__(self, namespace: str, settings: ProducerSettings) -> None:
        self._namespace = namespace
        self._namespace_text = f"INSTANCE_ID\x01{namespace}\x02" if namespace else ""
        self._names: dict[str, str] = {}
        self._max_message_bytes = settings.max_message_bytes
        self._kind = None if settings.compression == "none" else CompressionType[settings.compression.upper()]
        self._compress_over = sys.maxsize if self._kind is None else settings.compress_over
        self._compress_level = settings.compress_level
        self._ids_head = ""
        self._first_id = self._ids_left = self._ids_ms = 0

    def topic(self, name: str) -> str:
        """The full name of a topic or group."""
        full = self._names.get(name)
        if full is None:
            full = self._names[name] = with_namespace(self._namespace, name)
        return full

    def single(self, message: Message, extra: str = "", sys_flag: int = 0) -> Payload:
        """`extra` is the text of properties that the message gets besides its own."""
        message.validate(self._max_message_bytes)
        payload = Payload.__new__(Payload)  # compiled, the assignments cost less than the call of a constructor
        payload.topic = self.topic(message.topic)
        payload.code = _MESSAGE
        payload.born_ms = now_ms()
        payload.unique_key = self._next_key(payload.born_ms)
        more = self._namespace_text + extra
        try:
            payload.properties = message.property_text(payload.unique_key, more).encode()
        except UnicodeEncodeError:
            raise message.no_unicode() from None
        if len(payload.properties) > _MOST_PROPERTIES:
            raise InvalidMessage(f"the properties of a message take at most {MAX_PROPERTIES_BYTES} bytes")
        payload.body = message.body if type(message.body) is bytes else bytes(message.body)
        payload.flag = message.flag
        payload.sys_flag = sys_flag
        payload.reconsume_times = 0
        payload.max_reconsume_times = None
        if len(payload.body) >= self._compress_over:
            self._compress(payload)
        return payload

    def batch(self, topic: str, body: bytearray) -> Payload:
        return Payload(topic, body, BATCH_PROPERTIES, code=_BATCH, born_ms=now_ms())

    def accumulator(self, extra: Mapping[str, str] | None = None) -> Accumulator:
        """An empty batch whose messages all get the properties `extra`."""
        return Accumulator(self._namespace_text + property_text(extra or {}))

    def parts(self, messages: Sequence[Message]) -> list[list[Message]]:
        """The messages in as few batches as the limits allow. Refuses what a broker would not take in a batch."""
        if len({message.topic for message in messages}) > 1:
            raise InvalidMessage("the messages of a batch have one topic")
        parts: list[list[Message]] = []
        part: list[Message] = []
        room = 0
        for message in messages:
            message.validate(self._max_message_bytes)
            if message.is_delayed:
                raise InvalidMessage("a message with a delay cannot go in a batch")
            size = entry_size(message) + len(self._namespace_text)
            if size > room or len(part) >= MAX_MESSAGES:
                part = []
                parts.append(part)
                room = self._max_message_bytes
            part.append(message)
            room -= size
        return parts

    def _compress(self, payload: Payload) -> None:
        assert self._kind is not None
        smaller = compress(bytes(payload.body), self._kind, self._compress_level)
        if len(smaller) < len(payload.body):
            payload.body = smaller
            payload.sys_flag = with_compression(payload.sys_flag, self._kind)

    def _next_key(self, now: int) -> str:
        """A unique id. They are taken in blocks, for to make the part that a block shares takes longest."""
        if self._ids_left == 0 or not self._ids_ms <= now < self._ids_ms + _IDS_MS:
            self._ids_head, self._first_id = id_block(_IDS)
            self._ids_left, self._ids_ms = _IDS, now
        self._ids_left -= 1
        counter = self._first_id + self._ids_left & 0xFFFF
        return f"{self._ids_head}{counter:04X}"


def property_text(properties: Mapping[str, str]) -> str:
    """Properties as they travel."""
    return "".join([f"{name}\x01{value}\x02" for name, value in properties.items()])


def now_ms() -> int:
    return time.time_ns() // 1_000_000
