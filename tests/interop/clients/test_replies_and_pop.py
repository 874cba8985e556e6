"""Request-reply and POP with real clients; timers are in `test_kinds`, with all that must outlive its broker."""

from __future__ import annotations

import pytest
from tests.peers.fixtures import GetJavaPeer, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, bodies
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop


def test_a_request_gets_its_reply(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), cluster.address
    with java.producer(unique("producers"), address) as asking, java.producer(unique("producers"), address) as replying:
        replying.send(Outgoing(topic, b"makes the topic"))
        with java.push_consumer(unique("consumers"), address, [topic]) as consumer:
            consumer.wait(1)
            consumer.reply_with(replying, b"answer")
            assert asking.request(Outgoing(topic, b"question")).body == b"answer"


def test_a_pop_consumer_gets_each_message_and_again_what_it_fails(
    cluster: Cluster, java_peer: GetJavaPeer, unique: Unique
) -> None:
    java_533 = java_peer("5.3.3", "JSON")  # binary headers hold request codes of 16 bits, and POP's do not fit
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    expected = [b"%d" % number for number in range(20)]
    with java_533.producer(unique("producers"), address) as producer:
        producer.send_all([Outgoing(topic, body) for body in expected])
        with java_533.admin(address) as admin:
            admin.call("setMessageRequestMode", cluster.broker.address, topic, group, "POP", 8, 5000)
        options = {"clientRebalance": False, "popInvisibleTime": 5000}
        with java_533.push_consumer(group, address, [topic], options=options) as consumer:
            messages = consumer.wait_bodies(expected)
            assert sorted(bodies(messages)) == sorted(expected)
            assert all("POP_CK" in message.properties for message in messages)
            consumer.script(failTimes=1)
            producer.send(Outgoing(topic, b"again"))
            again = consumer.wait_until(lambda seen: bodies(seen).count(b"again") == 2, 90)
    assert [message.reconsume_times for message in again if message.body == b"again"] == [0, 1]
