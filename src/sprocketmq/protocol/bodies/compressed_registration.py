"""The body of REGISTER_BROKER when its header says `compressed`: one zlib stream of

version:text  count:i32 topic*count  filter_servers:text  [count:i32 mapping*count]

text     := length:i32 bytes
version  =  DataVersion as JSON            filter_servers = a JSON array
topic    =  "name readQueueNums writeQueueNums perm filterType [attributes]", attributes as JSON, since 5.0
mapping  =  TopicQueueMappingInfo as JSON, since 5.0
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from sprocketmq.errors import BodyError
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies.codec import decode, encode, from_tree
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.bodies.values import Mismatch, array_reader, integer_reader, read_str
from sprocketmq.protocol.enums import TopicFilterType
from sprocketmq.protocol.fields import INT, quoted
from sprocketmq.protocol.record.compression import compress, decompress
from sprocketmq.protocol.record.sysflag import CompressionType
from sprocketmq.protocol.rocketmq_versions import V5_0_0

T = TypeVar("T")

_I32 = struct.Struct(">i")
_BEST = 9
#: As long as a frame may be: a registration that is not compressed cannot be longer.
MAX_BYTES = 16 << 20
_integer = integer_reader(INT)
_texts = array_reader(read_str, tuple)


def encode_compressed(body: RegisterBrokerBody) -> bytes:
    """The topics' order and system flag do not travel in this form."""
    tables = body.topic_config_serialize_wrapper
    topics = [_topic_text(topic) for topic in tables.topic_config_table.values()]
    mappings = [encode(mapping) for mapping in tables.topic_queue_mapping_info_map.values()]
    parts = [
        _text(encode(tables.data_version)),
        _I32.pack(len(topics)), *map(_text, topics),
        _text(java_json.dumps(body.filter_server_list)),
        _I32.pack(len(mappings)), *map(_text, mappings),
    ]  # fmt: skip
    return compress(b"".join(parts), CompressionType.ZLIB, _BEST)


def decode_compressed(data: bytes, broker_version: int, limit: int = MAX_BYTES) -> RegisterBrokerBody:
    """`broker_version` is the request's; brokers before 5.0 send no mappings."""
    stream = _Stream(decompress(data, CompressionType.ZLIB, limit))
    version = decode(DataVersion, stream.text())
    topics = stream.several(_topic_of)
    filter_servers = _filter_servers(stream.text())
    mappings = stream.several(_mapping_of) if broker_version >= V5_0_0 and not stream.at_end else []
    return RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=version,
            topic_config_table={topic.topic_name: topic for topic in topics},
            topic_queue_mapping_info_map={mapping.topic: mapping for mapping in mappings},
        ),
        filter_server_list=filter_servers,
    )


class _Stream:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def text(self) -> bytes:
        return self._take(self._length())

    def several(self, read: Callable[[bytes], T]) -> list[T]:
        return [read(self.text()) for _ in range(self._length())]

    def _length(self) -> int:
        (length,) = _I32.unpack(self._take(_I32.size))
        if length < 0:
            raise BodyError(f"registration with a length of {length}")
        return int(length)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise BodyError(f"registration ends at {len(self._data)}, {size} bytes needed from {self._at}")
        self._at += size
        return taken


def _text(raw: bytes) -> bytes:
    return _I32.pack(len(raw)) + raw


def _topic_text(topic: TopicConfig) -> bytes:
    head = f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} {topic.perm}"
    return f"{head} {topic.topic_filter_type.name} ".encode() + java_json.dumps(dict(topic.attributes))


def _topic_of(raw: bytes) -> TopicConfig:
    try:
        name, read, write, perm, kind, *attributes = raw.decode().split(" ", 5)
        return TopicConfig(
            topic_name=name,
            read_queue_nums=_integer(read),
            write_queue_nums=_integer(write),
            perm=_integer(perm),
            topic_filter_type=TopicFilterType[kind],
            attributes=_attributes(attributes[0]) if attributes else {},
        )
    except (ValueError, KeyError, Mismatch):
        raise BodyError(f"registration with the topic {quoted(raw)}") from None


def _attributes(text: str) -> dict[str, str]:
    return dict(from_tree(TopicConfig, {"attributes": java_json.loads(text)}).attributes)


def _filter_servers(raw: bytes) -> tuple[str, ...]:
    try:
        servers: tuple[str, ...] = _texts(java_json.loads(raw))
    except Mismatch as wrong:
        raise BodyError(f"registration with filter servers that are wrong: {wrong}") from None
    return servers


def _mapping_of(raw: bytes) -> TopicQueueMappingInfo:
    return decode(TopicQueueMappingInfo, raw)
