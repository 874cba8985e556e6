"""Messages on their way out: what a send request carries."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sprocketmq.client.cluster.identity import unique_key
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC
from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import MAX_PROPERTIES_BYTES, Message
from sprocketmq.client.producer.accumulator import MAX_MESSAGES, Accumulator, entry_size
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.names import with_namespace
from sprocketmq.protocol.record.compression import compress
from sprocketmq.protocol.record.sysflag import CompressionType, with_compression

BATCH_PROPERTIES = "WAIT\x01true\x02"  # of the request itself


@dataclass(slots=True)
class Outgoing:
    """What one request carries: a message, or a batch of them as one body."""

    topic: str
    body: bytes
    unique_key: str
    properties: str
    flag: int = 0
    sys_flag: int = 0
    born_ms: int = 0
    code: int = RequestCode.SEND_MESSAGE_V2
    is_batch: bool = False
    reconsume_times: int = 0
    max_reconsume_times: int | None = None

    def command(self, group: str, queue_id: int, broker_name: str, topic_queues: int) -> Command:
        """A new request each time: a command is numbered when it is sent. The binary header is the quicker one."""
        ext = {
            "a": group,
            "b": self.topic,
            "c": AUTO_CREATE_TOPIC,
            "d": str(topic_queues),
            "e": str(queue_id),
            "f": str(self.sys_flag),
            "g": str(self.born_ms),
            "h": str(self.flag),
            "i": self.properties,
            "j": str(self.reconsume_times),
            "k": "false",
            "m": "true" if self.is_batch else "false",
            "n": broker_name,
        }
        if self.max_reconsume_times is not None:
            ext["l"] = str(self.max_reconsume_times)
        return Command(self.code, ext_fields=ext, body=self.body, serialize_type=SerializeType.ROCKETMQ)


class Encoder:
    """Turns messages into what travels: full topic name, unique key, property text, perhaps a compressed body."""

    def __init__(self, namespace: str, settings: ProducerSettings) -> None:
        self._namespace = namespace
        self._settings = settings
        self._namespace_bytes = len(self.property_text(None, with_namespace=True))
        self._names: dict[str, str] = {}
        self._kind = None if settings.compression == "none" else CompressionType[settings.compression.upper()]

    def topic(self, name: str) -> str:
        """The full name of a topic or group."""
        full = self._names.get(name)
        if full is None:
            full = self._names[name] = with_namespace(self._namespace, name)
        return full

    def single(self, message: Message, extra: Mapping[str, str] | None = None, sys_flag: int = 0) -> Outgoing:
        message.validate(self._settings.max_message_bytes)
        key = unique_key()
        body, flags = self._body(message.body, sys_flag)
        text = check_properties(message.property_text(key, self.property_text(extra, with_namespace=True)))
        return Outgoing(self.topic(message.topic), body, key, text, message.flag, flags, now_ms())

    def batch(self, topic: str, body: bytes) -> Outgoing:
        return Outgoing(
            topic, body, "", BATCH_PROPERTIES, born_ms=now_ms(), code=RequestCode.SEND_BATCH_MESSAGE, is_batch=True
        )

    def accumulator(self, extra: Mapping[str, str] | None = None) -> Accumulator:
        """An empty batch whose messages all get the properties `extra`."""
        return Accumulator(self.property_text(extra, with_namespace=True))

    def parts(self, messages: Sequence[Message]) -> list[list[Message]]:
        """The messages in as few batches as the limits allow. Refuses what a broker would not take in a batch."""
        if len({message.topic for message in messages}) > 1:
            raise InvalidMessage("the messages of a batch have one topic")
        parts: list[list[Message]] = []
        room = 0
        for message in messages:
            message.validate(self._settings.max_message_bytes)
            if message.is_delayed:
                raise InvalidMessage("a message with a delay cannot go in a batch")
            size = entry_size(message) + self._namespace_bytes
            if size > room or len(parts[-1]) >= MAX_MESSAGES:
                parts.append([])
                room = self._settings.max_message_bytes
            parts[-1].append(message)
            room -= size
        return parts

    def property_text(self, extra: Mapping[str, str] | None, *, with_namespace: bool = False) -> str:
        """Properties that a message gets besides its own, as they travel."""
        text = f"INSTANCE_ID\x01{self._namespace}\x02" if with_namespace and self._namespace else ""
        if not extra:
            return text
        return text + "".join(f"{name}\x01{value}\x02" for name, value in extra.items())

    def _body(self, body: bytes, sys_flag: int) -> tuple[bytes, int]:
        if self._kind is None or len(body) < self._settings.compress_over:
            return bytes(body), sys_flag
        smaller = compress(bytes(body), self._kind, self._settings.compress_level)
        return (smaller, with_compression(sys_flag, self._kind)) if len(smaller) < len(body) else (body, sys_flag)


def check_properties(text: str) -> str:
    if len(text) > MAX_PROPERTIES_BYTES // 4 and len(text.encode()) > MAX_PROPERTIES_BYTES:
        raise InvalidMessage(f"the properties of a message take at most {MAX_PROPERTIES_BYTES} bytes")
    return text


def now_ms() -> int:
    return time.time_ns() // 1_000_000
