"""Real push consumers: who gets what, from where on, and nothing lost."""

from __future__ import annotations

import time

import pytest
from tests.peers.clients import PushConsumer
from tests.peers.fixtures import Peer, StartCluster, Unique
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Queue, Subscription, bodies
from tests.peers.process import eventually
from tests.peers.servers import Cluster

from sprocketmq.client.sync_admin import AdminClient

pytestmark = pytest.mark.interop


def numbered(topic: str, first: int, end: int) -> list[Outgoing]:
    return [Outgoing(topic, b"%d" % number) for number in range(first, end)]


def test_two_consumers_share_and_one_takes_over(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    with java.producer(unique("producers"), address) as producer:
        producer.send_all(numbered(topic, 0, 8))
        with java.push_consumer(group, address, [topic]) as staying:
            with java.push_consumer(group, address, [topic]) as leaving:
                eventually(lambda: len(_queues(staying, topic)) == len(_queues(leaving, topic)) == 2, "two queues each")
                assert not _queues(staying, topic) & _queues(leaving, topic)
                producer.send_all(numbered(topic, 8, 40))
                eventually(lambda: len({*bodies(staying.received()), *bodies(leaving.received())}) == 40, "40 messages")
                assert leaving.received()
            producer.send_all(numbered(topic, 40, 60))
            staying.wait_bodies(b"%d" % number for number in range(40, 60))
    assert {*bodies(staying.received()), *bodies(leaving.received())} == {b"%d" % number for number in range(60)}


def test_two_go_consumers_share_and_one_takes_over(cluster: Cluster, go_peer: GoPeer, unique: Unique) -> None:
    """The Go client does not say which queues it has, so messages are sent until both have had some."""
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    sent: list[bytes] = []
    with go_peer.producer(unique("producers"), address) as producer:

        def send_more() -> list[bytes]:
            more = numbered(topic, len(sent), len(sent) + 16)
            producer.send_all(more)
            sent.extend(one.body for one in more)
            return sent[-16:]

        send_more()
        with go_peer.push_consumer(group, address, [topic]) as staying:
            with go_peer.push_consumer(group, address, [topic]) as leaving:
                eventually(lambda: bool(send_more() and staying.received() and leaving.received()), "some for both")
                eventually(lambda: _seen(staying, leaving) == set(sent), "all messages")
            staying.wait_bodies(send_more())
    assert _seen(staying, leaving) == set(sent)


def test_broadcasting_gives_all_to_each(cluster: Cluster, peer: Peer, unique: Unique) -> None:
    topic, group, address = unique("topic"), unique("consumers"), cluster.address
    with peer.producer(unique("producers"), address) as producer:
        producer.send_all(numbered(topic, 0, 8))
    expected = [b"%d" % number for number in range(8)]
    with (
        peer.push_consumer(group, address, [topic], broadcasting=True) as one,
        peer.push_consumer(group, address, [topic], broadcasting=True) as other,
    ):
        assert sorted(bodies(one.wait(8))) == sorted(bodies(other.wait(8))) == expected


def test_filters(cluster: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), cluster.address
    with peer.producer(unique("producers"), address) as producer:
        producer.send_all(
            [
                Outgoing(topic, b"%d" % n, tags="ABC"[n % 3], properties={"n": str(n), "kind": "xy"[n % 2]})
                for n in range(12)
            ]
        )
    wanted = {
        Subscription(topic, "A || C"): {0, 2, 3, 5, 6, 8, 9, 11},
        Subscription(topic, sql="n BETWEEN 3 AND 7 AND kind = 'x'"): {4, 6},
        Subscription(topic, sql="TAGS IN ('B') OR n >= 11"): {1, 4, 7, 10, 11},
    }
    for subscription, numbers in wanted.items():
        with peer.push_consumer(unique("consumers"), address, [subscription]) as consumer:
            assert {int(body) for body in bodies(consumer.wait(len(numbers)))} == numbers


def test_a_message_that_does_not_match_is_passed_over(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), cluster.address
    with java.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"first", tags="yes"))
        with java.push_consumer(unique("consumers"), address, [Subscription(topic, "yes")]) as consumer:
            consumer.wait(1)
            producer.send_all([Outgoing(topic, b"no", tags="no")] * 8)
            producer.send_all([Outgoing(topic, b"yes-%d" % n, tags="yes") for n in range(8)])
            messages = consumer.wait(9)
    assert {message.tags for message in messages} == {"yes"}


def test_a_new_group_reads_a_young_topic_whole(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    """Wherever it wants to begin: the broker answers 0 while a queue's first message is still in memory."""
    topic, address = unique("topic"), cluster.address
    with java.producer(unique("producers"), address) as producer:
        producer.send_all(numbered(topic, 0, 8))
    for start in "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_TIMESTAMP":
        with java.push_consumer(unique("consumers"), address, [topic], consume_from=start) as consumer:
            assert sorted(bodies(consumer.wait(8))) == [b"%d" % n for n in range(8)]


@pytest.mark.parametrize("start_cluster", ["sprocket"], indirect=True)  # Apache's asks the kernel what is in memory
def test_a_new_group_begins_where_it_wants_in_an_aged_topic(
    start_cluster: StartCluster, java: JavaPeer, unique: Unique
) -> None:
    cluster = start_cluster({"accessMessageInMemoryMaxRatio": "0"})
    topic, address = unique("topic"), cluster.address
    with java.producer(unique("producers"), address) as producer:
        producer.send_all(numbered(topic, 0, 8))
        second = int(time.time()) + 1
        eventually(lambda: time.time() >= second, "the next second")
        since = {"consumeTimestamp": time.strftime("%Y%m%d%H%M%S", time.localtime(second))}
        with java.push_consumer(unique("last"), address, [topic], consume_from="CONSUME_FROM_LAST_OFFSET") as last:
            eventually(lambda: len(_queues(last, topic)) == 4, "its queues")
            producer.send_all(numbered(topic, 8, 16))
            assert sorted(map(int, bodies(last.wait(8)))) == list(range(8, 16))
    for start, options, first in ("FIRST_OFFSET", {}, 0), ("TIMESTAMP", since, 8):
        with java.push_consumer(
            unique("consumers"), address, [topic], consume_from=f"CONSUME_FROM_{start}", options=options
        ) as consumer:
            assert sorted(map(int, bodies(consumer.wait(16 - first)))) == list(range(first, 16))


def test_offsets_outlive_consumer_and_broker(own_cluster: Cluster, java_533: JavaPeer, unique: Unique) -> None:
    topic, group, address = unique("topic"), unique("consumers"), own_cluster.address
    with java_533.producer(unique("producers"), address) as producer:
        producer.send_all(numbered(topic, 0, 8))
        with java_533.push_consumer(group, address, [topic]) as consumer, AdminClient(address) as admin:
            consumer.wait(8)
            # Its handler has returned, or is about to: a shutdown right now would leave the last message unconsumed.
            eventually(lambda: sum(at or 0 for at in admin.offsets.get(group, topic).values()) == 8, "eight committed")
        producer.send_all(numbered(topic, 8, 12))
    own_cluster.broker.restart()
    with java_533.push_consumer(group, address, [topic]) as again:
        assert sorted(map(int, bodies(again.wait(4)))) == [8, 9, 10, 11]


def _queues(consumer: PushConsumer, topic: str) -> set[Queue]:
    return {queue for queue in consumer.assigned() if queue.topic == topic}


def _seen(*consumers: PushConsumer) -> set[bytes]:
    return {body for consumer in consumers for body in bodies(consumer.received())}
