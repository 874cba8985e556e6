"""A store with delays, timers and open transactions moves between our broker and Apache's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.peers.apache import apache_cluster
from tests.peers.fixtures import Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, bodies
from tests.peers.sprocket import sprocket_cluster

pytestmark = pytest.mark.interop

QUICK = {"messageDelayLevel": "1s 2s 20s 1s 1s 1s"}


@pytest.mark.parametrize("way", ["to Apache", "from Apache"])
def test_what_is_pending_is_delivered_after_the_move(
    tmp_path: Path, java_533: JavaPeer, unique: Unique, way: str
) -> None:
    """Apache's broker may stop before it wrote its marks; then it, and we, ask again about what has ended.

    It also writes them in batches: checked at a quick pace, it asks again meanwhile and delivers a commit each time.
    """
    topic, group = unique("topic"), unique("producers")
    clusters = [apache_cluster(tmp_path / "apache", QUICK), sprocket_cluster(tmp_path / "sprocket", QUICK)]
    one, other = clusters if way == "from Apache" else reversed(clusters)
    try:
        one.start()
        with java_533.producer(group, one.address, transactional=True) as producer:
            producer.answer_checks("UNKNOW")
            producer.send_all([Outgoing(topic, b"delay-%d" % number, delay_level=3) for number in range(3)])
            producer.send_all([Outgoing(topic, b"timer-%d" % number, delay_sec=20) for number in range(3)])
            producer.transact(Outgoing(topic, b"open"), "UNKNOW")
            producer.transact(Outgoing(topic, b"void", keys="v"), "ROLLBACK_MESSAGE")
            producer.transact(Outgoing(topic, b"done"), "COMMIT_MESSAGE")
            producer.wait_checks(1)
        one.broker.stop()
        shutil.copytree(one.broker.store, other.broker.store)
        other.start()
        with (
            java_533.producer(group, other.address, transactional=True) as producer,
            java_533.push_consumer(unique("consumers"), other.address, [topic]) as consumer,
        ):
            producer.answer_checks("COMMIT_MESSAGE", by_key={"v": ["ROLLBACK_MESSAGE"]})
            producer.send(Outgoing(topic, b"here"))  # a producer heartbeats to brokers that it has a route to
            expected = [b"delay-0", b"delay-1", b"delay-2", b"done", b"here", b"open"]
            expected += [b"timer-0", b"timer-1", b"timer-2"]
            consumer.wait_bodies(expected, 90)
            received = bodies(consumer.received())
            assert sorted(set(received) if way == "to Apache" else received) == expected
    finally:
        one.kill()
        other.kill()
