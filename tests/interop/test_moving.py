"""A store with delays, timers and open transactions moves from our broker to Apache's, and back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.peers.apache import apache_cluster
from tests.peers.clients import Producer
from tests.peers.fixtures import Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, bodies
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster

pytestmark = pytest.mark.interop

#: Longer than a broker takes to stop: what is delayed so is delivered by the other one.
OURS, APACHES = 8, 24
QUICK = {"messageDelayLevel": f"1s {OURS}s {APACHES}s 1s 1s 1s", "transactionCheckMax": "1000"}
LEVEL_OF = {OURS: 2, APACHES: 3}


def leave_pending(producer: Producer, topic: str, name: bytes, seconds: int) -> None:
    producer.answer_checks("UNKNOW")
    producer.transact(Outgoing(topic, name + b"-open"), "UNKNOW")
    producer.transact(Outgoing(topic, name + b"-void", keys="v"), "ROLLBACK_MESSAGE")
    producer.transact(Outgoing(topic, name + b"-done"), "COMMIT_MESSAGE")
    producer.wait_checks(1)
    for number in range(3):
        producer.send(Outgoing(topic, name + b"-delay-%d" % number, delay_level=LEVEL_OF[seconds]))
        producer.send(Outgoing(topic, name + b"-timer-%d" % number, delay_sec=seconds))


def pending(name: bytes) -> list[bytes]:
    delayed = [name + b"-delay-%d" % number for number in range(3)]
    return sorted([*delayed, *(name + b"-timer-%d" % number for number in range(3)), name + b"-open", name + b"-done"])


def move(one: Cluster, other: Cluster) -> None:
    one.broker.stop()
    shutil.rmtree(other.broker.store, ignore_errors=True)
    shutil.copytree(one.broker.store, other.broker.store)
    other.nameserver.start()
    other.broker.start()


def test_what_is_pending_is_delivered_after_the_move(tmp_path: Path, java_533: JavaPeer, unique: Unique) -> None:
    """Apache's broker writes its marks in batches: checked at a quick pace it asks again, and delivers a commit again.

    It may also stop before it wrote them; then we ask again about what has ended, and are told the same.
    """
    topic, group = unique("topic"), unique("producers")
    ours, apaches = sprocket_cluster(tmp_path / "sprocket", QUICK), apache_cluster(tmp_path / "apache", QUICK)
    try:
        ours.start()
        with java_533.producer(group, ours.address, transactional=True) as producer:
            leave_pending(producer, topic, b"ours", OURS)
        move(ours, apaches)
        ours.nameserver.stop()
        with (
            java_533.producer(group, apaches.address, transactional=True) as producer,
            java_533.push_consumer(unique("consumers"), apaches.address, [topic]) as consumer,
        ):
            producer.answer_checks("COMMIT_MESSAGE", by_key={"v": ["ROLLBACK_MESSAGE"]})
            producer.send(Outgoing(topic, b"here"))  # a producer heartbeats to brokers that it has a route to
            messages = consumer.wait_bodies(pending(b"ours"), 180)
            assert {*bodies(messages)} - {b"here"} == {*pending(b"ours")}
            leave_pending(producer, topic, b"theirs", APACHES)
        move(apaches, ours)
        with (
            java_533.producer(group, ours.address, transactional=True) as producer,
            java_533.push_consumer(unique("consumers"), ours.address, [topic]) as consumer,
        ):
            producer.answer_checks("COMMIT_MESSAGE", by_key={"v": ["ROLLBACK_MESSAGE"]})
            producer.send(Outgoing(topic, b"home"))
            consumer.wait_bodies(pending(b"theirs"), 180)
            received = [body for body in bodies(consumer.received()) if body.startswith(b"theirs")]
            assert sorted(received) == pending(b"theirs")
    finally:
        ours.kill()
        apaches.kill()
