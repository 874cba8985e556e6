"""Timers, recalls, request-reply and POP with real clients."""

from __future__ import annotations

import pytest
from tests.peers.fixtures import GetJavaPeer, StartCluster, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, bodies
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_timers_outlive_the_broker(start_cluster: StartCluster, java_533: JavaPeer, unique: Unique, end: str) -> None:
    cluster, topic = start_cluster({}), unique("topic")
    expected = [b"%d" % number for number in range(10)]
    with (
        java_533.producer(unique("producers"), cluster.address) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.send(Outgoing(topic, b"soon", delay_ms=1500))
        consumer.wait_bodies([b"soon"])
        producer.send_all([Outgoing(topic, body, delay_sec=6) for body in expected])
        getattr(cluster.broker, end)()
        cluster.broker.start()
        messages = consumer.wait_bodies(expected)
    assert all(message.store_timestamp - message.born_timestamp >= 1500 for message in messages)
    if cluster.kind == "sprocket":
        assert sorted(bodies(messages)) == [*expected, b"soon"]


def test_a_recalled_timer_does_not_come(start_cluster: StartCluster, java_533: JavaPeer, unique: Unique) -> None:
    cluster, topic = start_cluster({"recallMessageEnable": "true"}), unique("topic")
    with (
        java_533.producer(unique("producers"), cluster.address) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        recalled = producer.send(Outgoing(topic, b"recalled", delay_sec=4))
        assert producer.call("recallMessage", topic, recalled.raw["recallHandle"]) == recalled.msg_id
        producer.send(Outgoing(topic, b"kept", delay_sec=7))
        assert bodies(consumer.wait_bodies([b"kept"])) == [b"kept"]


def test_a_request_gets_its_reply(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), cluster.address
    with java.producer(unique("producers"), address) as asking, java.producer(unique("producers"), address) as replying:
        replying.send(Outgoing(topic, b"makes the topic"))
        with java.push_consumer(unique("consumers"), address, [topic]) as consumer:
            consumer.wait(1)
            consumer.reply_with(replying, b"answer")
            assert asking.request(Outgoing(topic, b"question")).body == b"answer"


def test_pop_consumers_get_each_message(cluster: Cluster, java_peer: GetJavaPeer, unique: Unique) -> None:
    java_533 = java_peer("5.3.3", "JSON")  # binary headers hold request codes of 16 bits, and POP's do not fit
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    expected = [b"%d" % number for number in range(20)]
    with java_533.producer(unique("producers"), address) as producer:
        producer.send_all([Outgoing(topic, body) for body in expected])
    with java_533.admin(address) as admin:
        admin.call("setMessageRequestMode", cluster.broker.address, topic, group, "POP", 8, 5000)
    with java_533.push_consumer(group, address, [topic], options={"clientRebalance": False}) as consumer:
        messages = consumer.wait_bodies(expected)
    assert sorted(bodies(messages)) == sorted(expected)
    assert all("POP_CK" in message.properties for message in messages)


def test_what_a_pop_consumer_fails_comes_back(cluster: Cluster, java_peer: GetJavaPeer, unique: Unique) -> None:
    java_533 = java_peer("5.3.3", "JSON")
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    with java_533.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"again"))
    with java_533.admin(address) as admin:
        admin.call("setMessageRequestMode", cluster.broker.address, topic, group, "POP", 8, 5000)
    options = {"clientRebalance": False, "popInvisibleTime": 10000}
    script = {"failTimes": 1}
    with java_533.push_consumer(group, address, [topic], options=options, script=script) as consumer:
        messages = consumer.wait(2, 90)
    assert [message.reconsume_times for message in messages] == [0, 1]
