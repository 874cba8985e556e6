from __future__ import annotations

import struct
import zlib

import pytest

from sprocketmq.errors import BodyError
from sprocketmq.protocol.bodies.compressed_registration import decode_compressed, encode_compressed
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.rocketmq_versions import V4_9_4, V5_0_0

TOPICS = {
    "A": TopicConfig(topic_name="A", read_queue_nums=4, write_queue_nums=2, attributes={"+message.type": "FIFO x"}),
    "B": TopicConfig(topic_name="B", perm=7),
}
BODY = RegisterBrokerBody(
    topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
        data_version=DataVersion(state_version=1, timestamp=2, counter=3),
        topic_config_table=TOPICS,
        topic_queue_mapping_info_map={"A": TopicQueueMappingInfo(topic="A", total_queues=2, curr_id_map={0: 1})},
    ),
    filter_server_list=("10.0.0.1:1",),
)
VERSION = b'{"counter":0,"stateVersion":0,"timestamp":0}'


def text(raw: bytes) -> bytes:
    return struct.pack(">i", len(raw)) + raw


def count(number: int) -> bytes:
    return struct.pack(">i", number)


def test_it_comes_back() -> None:
    assert decode_compressed(encode_compressed(BODY), V5_0_0) == BODY


def test_the_stream_has_the_documented_layout() -> None:
    plain = zlib.decompress(encode_compressed(BODY))
    version = b'{"counter":3,"stateVersion":1,"timestamp":2}'
    assert plain.startswith(text(version) + count(2) + text(b'A 4 2 6 SINGLE_TAG {"+message.type":"FIFO x"}'))
    assert plain.endswith(
        text(b'["10.0.0.1:1"]')
        + count(1)
        + text(b'{"currIdMap":{0:1},"dirty":false,"epoch":0,"scope":"__global__","topic":"A","totalQueues":2}')
    )


def test_an_older_broker_sends_neither_attributes_nor_mappings() -> None:
    plain = text(VERSION) + count(1) + text(b"T 4 4 6 SINGLE_TAG") + text(b"[]")
    for version in (V4_9_4, V5_0_0):
        tables = decode_compressed(zlib.compress(plain), version).topic_config_serialize_wrapper
        assert tables.topic_config_table == {"T": TopicConfig(topic_name="T", read_queue_nums=4, write_queue_nums=4)}


@pytest.mark.parametrize(
    "plain",
    [
        b"", text(VERSION), text(VERSION) + count(1), text(VERSION) + count(-1), text(VERSION) + count(2**31 - 1),
        text(VERSION) + count(1) + text(b"T 4 4 6") + text(b"[]"),
        text(VERSION) + count(1) + text(b"T x 4 6 SINGLE_TAG") + text(b"[]"),
        text(VERSION) + count(1) + text(b"T 4 4 6 NO_TAG") + text(b"[]"),
        text(VERSION) + count(1) + text(b"T 4 4 6 SINGLE_TAG []") + text(b"[]"),
        text(VERSION) + count(1) + text(b'T 4 4 6 SINGLE_TAG {},"perm":1') + text(b"[]"),
        text(VERSION) + count(1) + text(b"\xff 4 4 6 SINGLE_TAG") + text(b"[]"),
        text(VERSION) + count(0) + text(b"{}"), text(VERSION) + count(0) + text(b"[1]"),
        text(VERSION) + count(0) + text(b"[]") + count(1) + text(b"[]"), struct.pack(">i", -5) + VERSION,
    ],
)  # fmt: skip
def test_a_damaged_stream_is_refused(plain: bytes) -> None:
    with pytest.raises(BodyError):
        decode_compressed(zlib.compress(plain), V5_0_0)


def test_it_cannot_grow_past_its_limit() -> None:
    with pytest.raises(BodyError, match="holds more than"):
        decode_compressed(zlib.compress(bytes(10_000_000)), V5_0_0, limit=1_000_000)
