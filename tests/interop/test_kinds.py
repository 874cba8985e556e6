"""Kinds of messages with real clients: delays, retries, transactions, across restarts and kills."""

from __future__ import annotations

import pytest
from tests.peers import probe
from tests.peers.fixtures import Peer, StartCluster, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, bodies
from tests.peers.process import eventually
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop

QUICK = {"messageDelayLevel": "1s 2s 3s 1s 1s 1s"}


def numbered(topic: str, count: int, *, delay_level: int | None = None) -> list[Outgoing]:
    return [Outgoing(topic, b"%d" % number, delay_level=delay_level) for number in range(count)]


def make_topic(cluster: Cluster, peer: Peer, unique: Unique, topic: str) -> None:
    """The Go consumer starts for a topic that has a route, no other."""
    with peer.producer(unique("producers"), cluster.address) as producer:
        producer.send(Outgoing(topic, b"first"))
    eventually(lambda: probe.routes_to(cluster.address, cluster.broker.address, topic), f"a route of {topic}")


def test_delays_come_in_time_and_once_over_a_restart(
    start_cluster: StartCluster, java_533: JavaPeer, unique: Unique
) -> None:
    cluster, topic = start_cluster(QUICK), unique("topic")
    with (
        java_533.producer(unique("producers"), cluster.address) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.send_all(numbered(topic, 10, delay_level=1))
        early = consumer.wait_bodies(b"%d" % number for number in range(10))
        assert all(message.store_timestamp - message.born_timestamp >= 1000 for message in early)
        producer.send_all([Outgoing(topic, b"later-%d" % number, delay_level=3) for number in range(10)])
        cluster.broker.restart()
        messages = consumer.wait_bodies((b"later-%d" % number for number in range(10)), 60)
    assert sorted(bodies(messages)) == sorted({*bodies(messages)})


def test_delays_come_over_a_kill(start_cluster: StartCluster, java_533: JavaPeer, unique: Unique) -> None:
    cluster, topic = start_cluster(QUICK), unique("topic")
    with (
        java_533.producer(unique("producers"), cluster.address) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.send_all(numbered(topic, 20, delay_level=3))
        cluster.broker.kill()
        cluster.broker.start()
        messages = consumer.wait_bodies((b"%d" % number for number in range(20)), 60)
    assert len(messages) == 20
    assert all(message.store_timestamp - message.born_timestamp >= 3000 for message in messages)


def test_delays_come_once_when_the_kill_is_in_the_middle(
    start_cluster: StartCluster, java_533: JavaPeer, unique: Unique
) -> None:
    cluster, topic = start_cluster(QUICK), unique("topic")
    with (
        java_533.producer(unique("producers"), cluster.address) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.send_all(numbered(topic, 300, delay_level=1))
        consumer.wait(20)
        cluster.broker.kill()
        cluster.broker.start()
        messages = consumer.wait_bodies((b"%d" % number for number in range(300)), 60)
    if cluster.kind == "sprocket":  # Apache's broker delivers again what it had not noted yet
        assert sorted(bodies(messages)) == sorted({*bodies(messages)})


def test_a_failed_message_comes_back_and_ends_as_a_dead_letter(
    start_cluster: StartCluster, java: JavaPeer, unique: Unique
) -> None:
    cluster, topic, group = start_cluster(QUICK), unique("topic"), unique("consumers")
    with (
        java.producer(unique("producers"), cluster.address) as producer,
        java.push_consumer(group, cluster.address, [topic]) as consumer,
    ):
        consumer.call("setMaxReconsumeTimes", 2, types=["int"])
        consumer.script(failTimes=99)
        producer.send(Outgoing(topic, b"poison", tags="A"))
        tries = consumer.wait(3)
        assert [message.reconsume_times for message in tries] == [0, 1, 2]
        with java.push_consumer(unique("undertakers"), cluster.address, [f"%DLQ%{group}"]) as undertaker:
            (dead,) = undertaker.wait(1)
    assert (dead.body, dead.tags) == (b"poison", "A")


def test_a_failed_message_is_consumed_at_its_second_try(
    start_cluster: StartCluster, peer: Peer, unique: Unique
) -> None:
    cluster, topic = start_cluster(QUICK), unique("topic")
    make_topic(cluster, peer, unique, topic)
    with (
        peer.producer(unique("producers"), cluster.address) as producer,
        peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        consumer.wait_bodies([b"first"])
        consumer.script(failTimes=1)
        producer.send_all(numbered(topic, 4))
        consumer.wait(9)
        cluster.broker.restart()
        consumer.script(failTimes=0)
        producer.send(Outgoing(topic, b"last"))
        messages = consumer.wait_bodies([b"last"])
    assert len(messages) == 10


def test_transactions_end_as_their_producers_say(cluster: Cluster, peer: Peer, unique: Unique) -> None:
    topic = unique("topic")
    make_topic(cluster, peer, unique, topic)
    with (
        peer.producer(unique("producers"), cluster.address, transactional=True) as producer,
        peer.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.answer_checks(by_key={"c": ["UNKNOW", "COMMIT_MESSAGE"], "r": ["ROLLBACK_MESSAGE"]})
        producer.transact(Outgoing(topic, b"committed"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"rolled back"), "ROLLBACK_MESSAGE")
        producer.transact(Outgoing(topic, b"committed by check", keys="c"), "UNKNOW")
        producer.transact(Outgoing(topic, b"rolled back by check", keys="r"), "UNKNOW")
        messages = consumer.wait_bodies([b"committed", b"committed by check"])
        producer.wait_checks(3)
    assert sorted(bodies(messages)) == [b"committed", b"committed by check", b"first"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_transactions_outlive_the_broker(
    start_cluster: StartCluster, java_533: JavaPeer, unique: Unique, end: str
) -> None:
    cluster, topic = start_cluster({}), unique("topic")
    with (
        java_533.producer(unique("producers"), cluster.address, transactional=True) as producer,
        java_533.push_consumer(unique("consumers"), cluster.address, [topic]) as consumer,
    ):
        producer.answer_checks("UNKNOW")
        for number in range(10):
            producer.transact(Outgoing(topic, b"done-%d" % number), "COMMIT_MESSAGE")
            producer.transact(Outgoing(topic, b"open-%d" % number), "UNKNOW")
            producer.transact(Outgoing(topic, b"void-%d" % number, keys="v"), "ROLLBACK_MESSAGE")
        consumer.wait_bodies(b"done-%d" % number for number in range(10))
        getattr(cluster.broker, end)()
        cluster.broker.start()
        producer.answer_checks("COMMIT_MESSAGE", by_key={"v": ["ROLLBACK_MESSAGE"]})
        consumer.wait_bodies(b"open-%d" % number for number in range(10))
        messages = consumer.received()
    expected = sorted([b"done-%d" % number for number in range(10)] + [b"open-%d" % number for number in range(10)])
    assert sorted({*bodies(messages)}) == expected
    if (
        cluster.kind == "sprocket"
    ):  # Apache's broker may ask again, and deliver again, when its marks were not written yet
        assert sorted(bodies(messages)) == expected
