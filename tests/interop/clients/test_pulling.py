"""Real pull consumers: by queue and offset, seeking, and the questions they ask."""

from __future__ import annotations

import pytest
from tests.peers.clients import Producer
from tests.peers.fixtures import Unique
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, Sent, Subscription, bodies
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop


def fill(producer: Producer, queue: Queue, count: int) -> list[Sent]:
    """`count` numbered messages at the front of one queue of a new topic."""
    elsewhere = Queue(queue.topic, queue.broker_name, queue.queue_id + 1)
    for _ in range(2):  # the first send makes the topic, wherever it goes
        producer.send(Outgoing(queue.topic, b"elsewhere"), queue=elsewhere)
    messages = [Outgoing(queue.topic, b"%d" % n, tags="ab"[n % 2], keys=f"key-{n}") for n in range(count)]
    return producer.send_all(messages, queue=queue)


def test_pull_by_offset(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    queue = Queue(unique("topic"), cluster.broker.name, 0)
    with java.producer(unique("producers"), cluster.address) as producer:
        fill(producer, queue, 50)
    with java.pull_consumer(unique("consumers"), cluster.address) as consumer:
        consumer.wait_visible(queue.topic, "key-49")
        first = consumer.pull(queue, 0)
        assert (first["pullStatus"], first["nextBeginOffset"], first["maxOffset"]) == ("FOUND", 32, 50)
        assert bodies(first["messages"]) == [b"%d" % n for n in range(32)]
        tagged = consumer.pull(queue, 40, tags="b")
        assert bodies(tagged["messages"]) == [b"41", b"43", b"45", b"47", b"49"]
        assert consumer.pull(queue, 0, tags="none")["pullStatus"] == "NO_MATCHED_MSG"
        beyond = consumer.pull(queue, 60)
        assert (beyond["pullStatus"], beyond["nextBeginOffset"]) == ("OFFSET_ILLEGAL", 50)


def test_offsets_by_question(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    queue = Queue(unique("topic"), cluster.broker.name, 0)
    with java.producer(unique("producers"), cluster.address) as producer:
        fill(producer, queue, 5)
    with java.pull_consumer(unique("consumers"), cluster.address) as consumer:
        consumer.wait_visible(queue.topic, "key-4")
        assert queue in consumer.queues(queue.topic)
        assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 5)
        stored = [message.store_timestamp for message in consumer.pull(queue, 0)["messages"]]
        assert consumer.earliest_store_time(queue) <= stored[0]
        assert stored[consumer.search_offset(queue, stored[-1])] == stored[-1]
        assert consumer.search_offset(queue, stored[0] - 1000) == 0
        assert consumer.search_offset(queue, stored[-1] + 60_000) in (4, 5)


def test_lite_pull_assign_seek_commit(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    queue = Queue(unique("topic"), cluster.broker.name, 0)
    with java.producer(unique("producers"), cluster.address) as producer:
        fill(producer, queue, 10)
    with java.lite_pull_consumer(unique("consumers"), cluster.address, options={"autoCommit": False}) as consumer:
        consumer.assign(queue)
        consumer.poll_up_to(queue, 10)
        consumer.seek(queue, 7)
        assert bodies(consumer.poll(20)) == [b"7", b"8", b"9"]
        consumer.seek_to_begin(queue)
        assert bodies(consumer.poll(20))[:1] == [b"0"]
        consumer.seek_to_end(queue)
        assert consumer.offset_for_timestamp(queue, 0) == 0
        consumer.seek(queue, 4)
        assert consumer.poll(20)[-1].body == b"9"
        consumer.commit()
        assert consumer.committed(queue) == 10


def test_lite_pull_subscribes(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    queue = Queue(unique("topic"), cluster.broker.name, 0)
    with java.producer(unique("producers"), cluster.address) as producer:
        fill(producer, queue, 10)
    tagged = [Subscription(queue.topic, "a")]
    with java.lite_pull_consumer(unique("consumers"), cluster.address, tagged) as consumer:
        found: list[bytes] = []
        for _ in range(20):
            found += bodies(consumer.poll(2))
            if len(found) == 5:
                break
        assert sorted(found) == [b"0", b"2", b"4", b"6", b"8"]


def test_queries_by_id_and_key(cluster: Cluster, java: JavaPeer, unique: Unique) -> None:
    queue = Queue(unique("topic"), cluster.broker.name, 0)
    with java.producer(unique("producers"), cluster.address) as producer:
        sent = fill(producer, queue, 3)[1]
    assert sent.offset_msg_id is not None
    with java.pull_consumer(unique("consumers"), cluster.address) as consumer:
        consumer.wait_visible(queue.topic, "key-2")
        for message_id in sent.msg_id, sent.offset_msg_id:
            assert consumer.view_message(queue.topic, message_id).body == b"1"
        assert bodies(consumer.query_message(queue.topic, "key-1")) == [b"1"]
        with pytest.raises(PeerError):
            consumer.query_message(queue.topic, "no such key")
        with pytest.raises(PeerError):
            consumer.query_message(queue.topic, "key-1", begin_ms=1, end_ms=2)


def test_go_polls_and_pulls(cluster: Cluster, go_peer: GoPeer, unique: Unique) -> None:
    topic = unique("topic")
    with go_peer.producer(unique("producers"), cluster.address) as producer:
        sent = producer.send(Outgoing(topic, b"polled"))
    with go_peer.pull_consumer(unique("consumers"), cluster.address, [topic]) as consumer:
        assert bodies(consumer.poll(60)) == [b"polled"]
        result = consumer.pull(sent.queue, sent.queue_offset)
        assert (result["pullStatus"], bodies(result["messages"])) == ("FOUND", [b"polled"])
