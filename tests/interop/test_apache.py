"""The harness itself: the real clients and tools against the real Apache RocketMQ 5.3.3."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.peers.fixtures import ApacheRocketMQ
from tests.peers.java_peer import JAVA_VERSIONS, JavaPeer, JavaVersion
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, Subscription, bodies
from tests.peers.mqadmin import Ran

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]


@pytest.fixture(params=JAVA_VERSIONS)
def java(request: pytest.FixtureRequest) -> JavaPeer:
    version: JavaVersion = request.param
    peer: JavaPeer = request.getfixturevalue("java_498" if version == "4.9.8" else "java_533")
    return peer


def test_sends_are_consumed(apache_rocketmq: ApacheRocketMQ, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.nameserver
    with java.producer(unique("producers"), address) as producer:
        sent = producer.send(Outgoing(topic, "körper".encode(), tags="A", keys="k1 k2", properties={"name": "värde"}))
        producer.send_all([Outgoing(topic, b"async")], "async")
        producer.send_all([Outgoing(topic, b"oneway")], "oneway")
        producer.send_batch([Outgoing(topic, b"batch-1"), Outgoing(topic, b"batch-2")])
        with java.push_consumer(unique("consumers"), address, [topic]) as consumer:
            messages = consumer.wait_bodies(["körper".encode(), b"async", b"oneway", b"batch-1", b"batch-2"])
    first = next(message for message in messages if message.tags == "A")
    assert sent.status == "SEND_OK"
    assert (first.msg_id, first.queue_id, first.queue_offset) == (sent.msg_id, sent.queue.queue_id, sent.queue_offset)
    assert first.keys == "k1 k2"
    assert first.properties["name"] == "värde"
    assert first.broker_name == apache_rocketmq.broker_name


def test_tag_and_sql_subscriptions(apache_rocketmq: ApacheRocketMQ, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.nameserver
    with java.producer(unique("producers"), address) as producer:
        producer.send_all([Outgoing(topic, b"%d" % n, tags="ABC"[n % 3], properties={"n": str(n)}) for n in range(9)])
    by_tag = [Subscription(topic, "A || B")]
    by_sql = [Subscription(topic, sql="n > 6")]
    with java.push_consumer(unique("group"), address, by_tag) as tagged:
        assert {m.tags for m in tagged.wait(6)} == {"A", "B"}
    with java.push_consumer(unique("group"), address, by_sql) as chosen:
        assert sorted(bodies(chosen.wait(2))) == [b"7", b"8"]


def test_refusals_carry_their_code(apache_rocketmq: ApacheRocketMQ, java: JavaPeer, unique: Unique) -> None:
    topic = unique("topic")
    with java.producer(unique("producers"), apache_rocketmq.nameserver) as producer:
        producer.send(Outgoing(topic, b"makes the topic"))
        with pytest.raises(PeerError) as refused:
            producer.send(Outgoing(topic, b"x"), queue=Queue(topic, apache_rocketmq.broker_name, 99))
    assert (refused.value.kind, refused.value.code) == ("MQBrokerException", 29)


def test_mqadmin_knows_the_cluster(apache_rocketmq: ApacheRocketMQ, mqadmin: Callable[..., Ran]) -> None:
    for version in JAVA_VERSIONS:
        ran = mqadmin(version, "clusterList", "-n", apache_rocketmq.nameserver)
        assert apache_rocketmq.broker in ran.stdout
        assert ran.exit == 0
