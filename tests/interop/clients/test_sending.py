"""Real producers: every way to send, and what a broker refuses."""

from __future__ import annotations

import random
from base64 import b64encode

import pytest
from tests.peers import probe
from tests.peers.clients import SendMode
from tests.peers.fixtures import GetJavaPeer, Peer, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, bodies
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop

SEND_MESSAGE_V2 = 310
MESSAGE_ILLEGAL = 13
MAX_BODY_BYTES = 4 * 1024 * 1024


@pytest.mark.parametrize("mode", ["sync", "async", "oneway"])
def test_single_sends(cluster: Cluster, peer: Peer, unique: Unique, mode: SendMode) -> None:
    topic = unique("topic")
    expected = [b"%s-%d" % (mode.encode(), number) for number in range(20)]
    with peer.producer(unique("producers"), cluster.address) as producer:
        producer.send(Outgoing(topic, b"makes the topic"))
        sent = producer.send_all([Outgoing(topic, body) for body in expected], mode)
        assert [one.status for one in sent] == ([] if mode == "oneway" else ["SEND_OK"] * 20)
        with peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
            messages = consumer.wait(21)
    assert sorted(bodies(messages)) == sorted([b"makes the topic", *expected])
    by_place = {(message.queue_id, message.queue_offset): message.msg_id for message in messages}
    assert all(by_place[one.queue.queue_id, one.queue_offset] == one.msg_id for one in sent)


def test_batches(cluster: Cluster, peer: Peer, unique: Unique) -> None:
    topic = unique("topic")
    batch = [Outgoing(topic, b"%d" % n, tags=f"T{n % 2}", keys=f"key-{n}", properties={"n": str(n)}) for n in range(30)]
    with peer.producer(unique("producers"), cluster.address) as producer:
        sent = producer.send_batch(batch)
    with peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        messages = sorted(consumer.wait(30), key=lambda message: message.queue_offset)
    assert bodies(messages) == [one.body for one in batch]
    assert [message.queue_offset for message in messages] == list(range(30))
    for message, given in zip(messages, batch, strict=True):
        assert (message.tags, message.keys, message.properties["n"]) == (given.tags, given.keys, given.properties["n"])
    assert (sent.offset_msg_id or "").split(",") == [message.offset_msg_id for message in messages]


def test_the_vip_channel(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, vip = unique("topic"), {"vipChannelEnabled": True}
    with java.producer(unique("producers"), cluster.address, options=vip) as producer:
        producer.send(Outgoing(topic, b"by the port two below"))
    with java.push_consumer(unique("consumers"), cluster.address, [topic], options=vip) as consumer:
        assert bodies(consumer.wait(1)) == [b"by the port two below"]


@pytest.mark.parametrize("serialization", ["JSON", "ROCKETMQ"])
def test_unicode_in_both_header_forms(
    cluster: Cluster, java_peer: GetJavaPeer, unique: Unique, serialization: str
) -> None:
    topic, text = unique("topic"), "消息 – Größe 😀"
    peer = java_peer("5.3.3", "JSON" if serialization == "JSON" else "ROCKETMQ")
    with peer.producer(unique("producers"), cluster.address) as producer:
        producer.send(Outgoing(topic, text.encode(), tags="标签", keys="ключ 键", properties={"名": text}))
    with peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        (message,) = consumer.wait(1)
    assert message.body.decode() == text
    assert (message.tags, message.keys, message.properties["名"]) == ("标签", "ключ 键", text)


def test_large_bodies_are_compressed(cluster: Cluster, peer: Peer, unique: Unique) -> None:
    topic = unique("topic")
    body = b"compresses well " * 4096
    with peer.producer(unique("producers"), cluster.address) as producer:
        producer.send(Outgoing(topic, body))
    with peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        (message,) = consumer.wait(1)
    assert message.body == body
    assert message.store_size is not None
    assert message.store_size < len(body)


@pytest.mark.parametrize("kind", ["ZLIB", "LZ4", "ZSTD"])
def test_each_compression(cluster: Cluster, java_533: JavaPeer, unique: Unique, kind: str) -> None:
    topic = unique("topic")
    body = b"compresses well " * 1024
    with java_533.producer(unique("producers"), cluster.address, options={"compressType": kind}) as producer:
        producer.send(Outgoing(topic, body))
    with java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        assert bodies(consumer.wait(1)) == [body]


def test_a_body_of_four_mebibytes_and_no_more(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic = unique("topic")
    body = random.Random(1).randbytes(MAX_BODY_BYTES)
    options = {"maxMessageSize": 2 * MAX_BODY_BYTES, "compressMsgBodyOverHowmuch": 2 * MAX_BODY_BYTES}
    with java.producer(unique("producers"), cluster.address, options=options) as producer:
        assert producer.send(Outgoing(topic, body)).status == "SEND_OK"
        with pytest.raises(PeerError) as refused:
            producer.send(Outgoing(topic, body + b"1"))
    assert refused.value.code == MESSAGE_ILLEGAL
    with java.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        assert bodies(consumer.wait(1)) == [body]


@pytest.mark.parametrize("topic", ["../escape", "a/b", "a b", "ümlaut", "a" * 128, "dot.ted"])
def test_illegal_topics_are_refused(cluster: Cluster, topic: str) -> None:
    fields = {"a": "producers", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0"}
    code, _ = probe.ask(cluster.broker.address, SEND_MESSAGE_V2, {**fields, "i": "", "j": "0"}, b64encode(b"body"))
    assert code != 0
    assert not any(path.name in (topic, "escape") for path in cluster.broker.directory.rglob("*"))
