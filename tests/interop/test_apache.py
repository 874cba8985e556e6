"""The harness itself: the real clients and tools against the real Apache RocketMQ 5.3.3."""

from __future__ import annotations

import time

import pytest
from tests.peers.fixtures import GetJavaPeer, Peer, RunMqAdmin, Unique
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JAVA_VERSIONS, JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, Subscription, bodies
from tests.peers.servers import Cluster

pytestmark = pytest.mark.interop


def test_sends_are_consumed(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with peer.producer(unique("producers"), address) as producer:
        sent = producer.send(Outgoing(topic, "körper".encode(), tags="A", keys="k1 k2", properties={"name": "värde"}))
        producer.send_all([Outgoing(topic, b"async")], "async")
        producer.send_all([Outgoing(topic, b"oneway")], "oneway")
        producer.send_batch([Outgoing(topic, b"batch-1"), Outgoing(topic, b"batch-2")])
        with peer.push_consumer(unique("consumers"), address, [topic]) as consumer:
            messages = consumer.wait_bodies(["körper".encode(), b"async", b"oneway", b"batch-1", b"batch-2"])
    first = next(message for message in messages if message.tags == "A")
    assert sent.status == "SEND_OK"
    assert (first.msg_id, first.queue_id, first.queue_offset) == (sent.msg_id, sent.queue.queue_id, sent.queue_offset)
    assert first.keys == "k1 k2"
    assert first.properties["name"] == "värde"


def test_tag_and_sql_subscriptions(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with peer.producer(unique("producers"), address) as producer:
        producer.send_all([Outgoing(topic, b"%d" % n, tags="ABC"[n % 3], properties={"n": str(n)}) for n in range(9)])
    by_tag = [Subscription(topic, "A || B")]
    by_sql = [Subscription(topic, sql="n > 6")]
    with peer.push_consumer(unique("group"), address, by_tag) as tagged:
        assert {m.tags for m in tagged.wait(6)} == {"A", "B"}
    with peer.push_consumer(unique("group"), address, by_sql) as chosen:
        assert sorted(bodies(chosen.wait(2))) == [b"7", b"8"]


def test_refusals_carry_their_code(apache_rocketmq: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic = unique("topic")
    with java.producer(unique("producers"), apache_rocketmq.address) as producer:
        producer.send(Outgoing(topic, b"makes the topic"))
        with pytest.raises(PeerError) as refused:
            producer.send(Outgoing(topic, b"x"), queue=Queue(topic, apache_rocketmq.broker.name, 99))
    assert (refused.value.kind, refused.value.code) == ("MQBrokerException", 29)


def test_transactions_end_as_scripted(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with peer.producer(unique("producers"), address) as plain:
        plain.send(Outgoing(topic, b"makes the topic"))
    with peer.producer(unique("producers"), address, transactional=True) as producer:
        producer.answer_checks("UNKNOW", by_key={"late": ["UNKNOW", "COMMIT_MESSAGE"], "never": ["ROLLBACK_MESSAGE"]})
        committed = producer.transact(Outgoing(topic, b"committed"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"rolled back"), "ROLLBACK_MESSAGE")
        producer.transact(Outgoing(topic, b"late", keys="late"), "UNKNOW")
        producer.transact(Outgoing(topic, b"never", keys="never"), "UNKNOW")
        assert committed.local_state == "COMMIT_MESSAGE"
        with peer.push_consumer(unique("consumers"), address, [topic]) as consumer:
            producer.wait_checks(3)
            messages = consumer.wait_bodies([b"committed", b"late"])
    assert set(bodies(messages)) == {b"makes the topic", b"committed", b"late"}


def test_failed_messages_come_again(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with peer.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"again"))
    script = {"failTimes": 1, "delayLevel": 1}
    with peer.push_consumer(unique("consumers"), address, [topic], script=script) as consumer:
        assert [message.reconsume_times for message in consumer.wait(2)] == [0, 1]


def test_delays(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with peer.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"delayed", delay_level=1))
        with peer.push_consumer(unique("consumers"), address, [topic]) as consumer:
            (message,) = consumer.wait(1)
    assert message.store_timestamp - message.born_timestamp >= 900


def test_timers(apache_rocketmq: Cluster, java_533: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with java_533.producer(unique("producers"), address) as producer:
        producer.send_all([Outgoing(topic, b"ms", delay_ms=1500), Outgoing(topic, b"sec", delay_sec=1)])
        at = int(time.time() * 1000) + 1500
        producer.send(Outgoing(topic, b"at", deliver_ms=at))
        with java_533.push_consumer(unique("consumers"), address, [topic]) as consumer:
            messages = consumer.wait_bodies([b"ms", b"sec", b"at"])
    for message in messages:
        assert message.store_timestamp >= (at - 600 if message.body == b"at" else message.born_timestamp + 900)


def test_orderly_keeps_the_order(apache_rocketmq: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    expected = [b"%d" % number for number in range(20)]
    with peer.producer(unique("producers"), address) as producer:
        sent = producer.send_all([Outgoing(topic, body) for body in expected], shard="one key")
    assert len({one.queue for one in sent}) == 1
    with peer.push_consumer(unique("consumers"), address, [topic], orderly=True) as consumer:
        assert bodies(consumer.wait(20)) == expected


def test_request_and_reply(apache_rocketmq: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with java.producer(unique("producers"), address) as asking, java.producer(unique("producers"), address) as replying:
        replying.send(Outgoing(topic, b"makes the topic"))
        with java.push_consumer(unique("consumers"), address, [topic]) as consumer:
            consumer.wait(1)
            consumer.reply_with(replying, b"answer")
            assert asking.request(Outgoing(topic, b"question")).body == b"answer"


def test_lite_pull_seeks(apache_rocketmq: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    queue = Queue(topic, apache_rocketmq.broker.name, 0)
    with java.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"0"))
        start = producer.send(Outgoing(topic, b"0"), queue=queue).queue_offset
        producer.send_all([Outgoing(topic, b"%d" % number) for number in range(1, 5)], queue=queue)
    with java.lite_pull_consumer(unique("consumers"), address) as consumer:
        assert queue in consumer.queues(topic)
        consumer.assign(queue)
        consumer.poll_up_to(queue, start + 5)
        consumer.seek(queue, start + 3)
        assert bodies(consumer.poll(10)) == [b"3", b"4"]
        consumer.seek_to_begin(queue)
        assert consumer.poll(10)[0].queue_offset == 0
        consumer.commit()
        assert consumer.committed(queue) == start + 5


def test_pull_and_queries(apache_rocketmq: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, address = unique("topic"), apache_rocketmq.address
    with java.producer(unique("producers"), address) as producer:
        sent = producer.send(Outgoing(topic, b"found", keys="key-1"))
    with java.pull_consumer(unique("consumers"), address) as consumer:
        consumer.wait_visible(topic, "key-1")
        result = consumer.pull(sent.queue, 0)
        assert result["pullStatus"] == "FOUND"
        assert bodies(result["messages"]) == [b"found"]
        assert (consumer.min_offset(sent.queue), consumer.max_offset(sent.queue)) == (0, 1)
        assert sent.offset_msg_id is not None
        for message_id in sent.msg_id, sent.offset_msg_id:
            assert consumer.view_message(topic, message_id).body == b"found"
        assert bodies(consumer.query_message(topic, "key-1")) == [b"found"]


def test_go_pull_consumer(apache_rocketmq: Cluster, go_peer: GoPeer, unique: Unique) -> None:
    topic, group, address = unique("topic"), unique("consumers"), apache_rocketmq.address
    with go_peer.producer(unique("producers"), address) as producer:
        sent = producer.send(Outgoing(topic, b"polled"))
    with go_peer.pull_consumer(group, address, [topic]) as consumer:
        assert bodies(consumer.poll(60)) == [b"polled"]
        result = consumer.pull(sent.queue, sent.queue_offset)
        assert (result["pullStatus"], bodies(result["messages"])) == ("FOUND", [b"polled"])


def test_pop(apache_rocketmq: Cluster, java_peer: GetJavaPeer, unique: Unique) -> None:
    java_533 = java_peer("5.3.3", "JSON")  # binary headers hold request codes of 16 bits, and POP's do not fit
    topic, group, address = unique("topic"), unique("consumers"), apache_rocketmq.address
    with java_533.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"popped"))
    with java_533.admin(address) as admin:
        admin.call("setMessageRequestMode", apache_rocketmq.broker.address, topic, group, "POP", 8, 5000)
    with java_533.push_consumer(group, address, [topic], options={"clientRebalance": False}) as consumer:
        (message,) = consumer.wait(1)
    assert message.body == b"popped"
    assert "POP_CK" in message.properties


def test_admin_answers_are_json(apache_rocketmq: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, group, address = unique("topic"), unique("consumers"), apache_rocketmq.address
    with java.producer(unique("producers"), address) as producer:
        producer.send(Outgoing(topic, b"counted"))
    with java.admin(address) as admin, java.push_consumer(group, address, [topic]) as consumer:
        consumer.wait(1)
        statistics = admin.call("examineTopicStats", topic)["offsetTable"]
        assert sum(entry["value"]["maxOffset"] for entry in statistics) == 1
        connection = admin.call("examineConsumerConnectionInfo", group)
        assert [one["clientId"] for one in connection["connectionSet"]] == [consumer.client_id]
        running = admin.call("getConsumerRunningInfo", group, consumer.client_id, False)
        assert topic in {entry["key"]["topic"] for entry in running["mqTable"]}
        with pytest.raises(PeerError) as refused:
            admin.call("examineTopicStats", unique("absent"))
        assert refused.value.code == 17


def test_mqadmin_runs_and_survives_bad_use(apache_rocketmq: Cluster, mqadmin: RunMqAdmin) -> None:
    for version in JAVA_VERSIONS:
        ran = mqadmin(version, "clusterList", "-n", apache_rocketmq.address)
        assert apache_rocketmq.broker.address in ran.stdout
        assert ran.exit == 0
        bad = mqadmin(version, "clusterList", "--no-such-option")
        assert "usage: mqadmin clusterList" in bad.stdout
        assert mqadmin(version, "topicList", "-n", apache_rocketmq.address).exit == 0
