# cython: annotation_typing=False
"""Messages as a broker stored them. Each is a view into the bytes of one pull, decoded when it is first asked.

Compiled without C types, for all that it holds are objects: what is saved are the steps of the interpreter. Handlers
run on threads. Two that ask one message at once may both decode it, find the same, and one of both is kept: under the
GIL an attribute is set as a whole.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from sprocketmq.errors import BodyError
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.compression import decompress
from sprocketmq.protocol.record.properties import decode_properties, split_keys
from sprocketmq.protocol.record.record import MAGIC_V1, MAGIC_V2, Record, decode_record
from sprocketmq.protocol.record.sysflag import compression_type

Messages = TypeVar("Messages", bound="Sequence[ReceivedMessage]")

_SIZE_MAGIC_OFFSET = struct.Struct(">ii12xq")


class ReceivedMessage:
    """A message that came from a broker.

    `topic` is the topic its sender named, also when this copy comes through a group's retry topic; `namespace` is that
    of the client which got it, and not part of the name.
    `message_id` is the sender's id; `offset_message_id` names the broker and the place in its log.
    """

    __slots__ = (
        "_at",
        "_body",
        "_data",
        "_properties",
        "_record",
        "broker_name",
        "local_tries",
        "namespace",
        "queue_offset",
        "size",
    )

    def __init__(self, data: bytes | memoryview, at: int, size: int, queue_offset: int, broker_name: str) -> None:
        self._data = data
        self._at = at
        self.size = size
        self.queue_offset = queue_offset
        self.broker_name = broker_name
        self.namespace = ""
        self.local_tries = 0
        self._record: Record | None = None
        self._properties: dict[str, str] | None = None
        self._body: bytes | None = None

    @property
    def record(self) -> Record:
        """Everything the broker stored."""
        record = self._record  # once: compiled, each `self._record` counts a reference up and down
        if record is None:
            record = self._record = decode_record(self._data, self._at)
        return record

    @property
    def raw(self) -> bytes:
        """The record's bytes."""
        return bytes(self._data[self._at : self._at + self.size])

    @property
    def body(self) -> bytes:
        """The body, inflated when its sender compressed it."""
        body = self._body
        if body is None:
            record = self.record
            body = self._body = inflate(record.body, record.sys_flag)
        return body

    @property
    def properties(self) -> Mapping[str, str]:
        properties = self._properties
        if properties is None:
            properties = self._properties = decode_properties(self.record.properties.decode(errors="replace"))
        return properties

    @property
    def topic(self) -> str:
        return self.full_topic.removeprefix(f"{self.namespace}%") if self.namespace else self.full_topic

    @property
    def full_topic(self) -> str:
        """The topic with its namespace, as brokers know it."""
        return self.properties.get("RETRY_TOPIC") or self.record.topic

    @property
    def stored_topic(self) -> str:
        """The topic whose queue held this copy: the retry topic, for a message that is tried again."""
        return self.record.topic

    @property
    def tag(self) -> str | None:
        return self.properties.get("TAGS")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(split_keys(self.properties.get("KEYS", "")))

    @property
    def sharding_key(self) -> str | None:
        return self.properties.get("__SHARDINGKEY")

    @property
    def message_id(self) -> str:
        return self.properties.get("UNIQ_KEY") or self.offset_message_id

    @property
    def offset_message_id(self) -> str:
        record = self.record
        return f"{record.store_host.hex()}{record.commit_offset:016x}".upper()

    @property
    def queue_id(self) -> int:
        return self.record.queue_id

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.record.topic, self.broker_name, self.record.queue_id)

    @property
    def reconsume_times(self) -> int:
        """How often a consumer of the group has tried it before."""
        return self.record.reconsume_times + self.local_tries

    @property
    def born_at(self) -> datetime:
        return datetime.fromtimestamp(self.record.born_timestamp / 1000, UTC)

    @property
    def stored_at(self) -> datetime:
        return datetime.fromtimestamp(self.record.store_timestamp / 1000, UTC)

    @property
    def transaction_id(self) -> str | None:
        return self.properties.get("__transactionId__")

    def __reduce__(self) -> tuple[object, ...]:
        """To other processes go the record's own bytes, not all those of the pull."""
        place = (self.raw, 0, self.size, self.queue_offset, self.broker_name)
        return _rebuilt, (place, self.namespace, self.local_tries)

    def __repr__(self) -> str:
        try:
            return self._described()
        except BodyError:
            return f"<ReceivedMessage {self.broker_name}+{self.queue_offset} unreadable>"

    def _described(self) -> str:
        tag = f" tag={self.tag}" if self.tag else ""
        return f"<ReceivedMessage {self.queue}+{self.queue_offset}{tag} {len(self.body)} bytes>"


def _rebuilt(place: tuple[bytes, int, int, int, str], namespace: str, local_tries: int) -> ReceivedMessage:
    """A message that was pickled or copied."""
    message = ReceivedMessage(*place)
    message.namespace, message.local_tries = namespace, local_tries
    return message


def inflate(body: bytes, sys_flag: int) -> bytes:
    """The body as its sender wrote it."""
    kind = compression_type(sys_flag)
    return body if kind is None else decompress(body, kind)


def inside(namespace: str, messages: Messages) -> Messages:
    """The messages as a client in `namespace` sees them."""
    if namespace:
        for message in messages:
            message.namespace = namespace
    return messages


def split_records(data: bytes | memoryview, broker_name: str) -> list[ReceivedMessage]:
    """The messages of a pull answer, in order, undecoded. Raises BodyError for anything that is not a record."""
    messages, damage, _ = split_whole(data, broker_name)
    if damage is not None:
        raise BodyError(damage)
    return messages


def split_whole(data: bytes | memoryview, broker_name: str) -> tuple[list[ReceivedMessage], str | None, int]:
    """The messages before the first damage, what that is, and the queue offset it claims, or -1.

    Behind damage nobody knows where a record begins.
    """
    messages: list[ReceivedMessage] = []
    at, end = 0, len(data)
    try:
        while at < end:
            size, magic, queue_offset = _SIZE_MAGIC_OFFSET.unpack_from(data, at)
            if magic not in (MAGIC_V1, MAGIC_V2) or size <= 0 or at + size > end:
                damage = f"no record at {at} of {end} bytes: size {size}, magic {magic & 0xFFFFFFFF:#x}"
                return messages, damage, queue_offset
            messages.append(ReceivedMessage(data, at, size, queue_offset, broker_name))
            at += size
    except struct.error as error:
        return messages, f"no record at {at} of {end} bytes: {error}", -1
    return messages, None, -1
