"""The pages of rocketmq-dashboard about single messages: who consumed them, dead letters, traces, threads, figures."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

import pytest
from tests.interop.pages import Scene, scene
from tests.peers.clients import PushConsumer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, Sent
from tests.peers.process import eventually

__all__ = ["scene"]

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"


@pytest.fixture(scope="module")
def traced(scene: Scene, java_533: JavaPeer) -> Iterator[Sent]:
    """A message of a producer that traces; the client sends its traces after 5 s."""
    with java_533.producer(scene.new("producers"), scene.cluster.address, trace=True) as producer:
        yield producer.send(Outgoing(scene.topic, b"traced", tags="B", keys="traced"))


@pytest.fixture(scope="module")
def failing(scene: Scene, java_533: JavaPeer) -> Iterator[PushConsumer]:
    """A consumer that gives up on everything at once."""
    script = {"failTimes": 99}
    options = {"maxReconsumeTimes": 0}
    with java_533.push_consumer(
        scene.new("consumers"), scene.cluster.address, [scene.topic], options=options, script=script
    ) as consumer:
        yield consumer


@pytest.mark.usefixtures("traced")
def test_who_has_consumed_a_message(scene: Scene) -> None:
    """The living consumer commits on its own now and then, also what it was at before: so it is told until it is so."""
    sent = scene.producer.send(Outgoing(scene.topic, b"tracked", keys="tracked"))
    scene.consumer.wait_bodies([b"tracked"])

    def track(committed: int) -> dict[str, str]:
        scene.call("updateConsumeOffset", scene.broker, scene.group, sent.queue, committed)
        return scene.admin.track(scene.topic, sent.msg_id)

    offline = scene.new("consumers")
    scene.call("createAndUpdateSubscriptionGroupConfig", scene.broker, {"groupName": offline})
    scene.call("updateConsumeOffset", scene.broker, offline, sent.queue, 0)
    eventually(lambda: track(sent.queue_offset + 1)[scene.group] == "CONSUMED", "that it is consumed")
    assert track(sent.queue_offset + 1)[offline] == "UNKNOWN"
    eventually(lambda: track(sent.queue_offset)[scene.group] == "NOT_CONSUME_YET", "that it is not")
    scene.call("deleteSubscriptionGroup", scene.broker, offline, True)


def test_messages_of_a_topic_by_time(scene: Scene, java_533: JavaPeer) -> None:
    """The page asks each queue for the offsets of two times, and pulls what is between them."""
    with java_533.pull_consumer(scene.new("lookers"), scene.cluster.address) as puller:
        queues = puller.queues(scene.topic)
        found = []
        for queue in queues:
            begin, end = puller.search_offset(queue, 0), puller.search_offset(queue, 2**42)
            if begin < end:
                found += puller.pull(queue, begin, limit=32)["messages"]
    assert scene.sent.msg_id in {message.msg_id for message in found}


def test_dead_letters_are_shown_and_sent_again(scene: Scene, failing: PushConsumer, java_533: JavaPeer) -> None:
    scene.producer.send(Outgoing(scene.topic, b"poison", tags="A", keys="poison"))
    failing.wait_bodies([b"poison"])
    graves = f"%DLQ%{failing.group}"
    queue = Queue(graves, scene.cluster.broker.name, 0)
    with java_533.pull_consumer(scene.new("lookers"), scene.cluster.address) as puller:
        eventually(lambda: has_route(scene, graves), "a route of the dead letters")
        eventually(lambda: "poison" in {m.keys for m in puller.pull(queue, 0)["messages"]}, "the dead letter")
        dead = next(message for message in puller.pull(queue, 0)["messages"] if message.keys == "poison")
    assert (dead.body, dead.tags, dead.properties["RETRY_TOPIC"]) == (b"poison", "A", scene.topic)
    assert scene.call("viewMessage", graves, dead.offset_msg_id)["keys"] == "poison"
    assert [m["msgId"] for m in scene.call("queryMessage", graves, "poison", 64, 0, 2**62)["messageList"]] == [
        dead.msg_id
    ]
    failing.script(failTimes=0)
    types = ["String", "String", "String", "String"]
    arguments = (failing.group, failing.client_id, graves, dead.offset_msg_id)
    assert scene.call("consumeMessageDirectly", *arguments, types=types)["consumeResult"] == "CR_SUCCESS"
    assert failing.received()[-1].body == b"poison"


def has_route(scene: Scene, topic: str) -> bool:
    try:
        return bool(scene.call("examineTopicRouteInfo", topic)["queueDatas"])
    except PeerError:
        return False


def test_threads_of_a_consumer(scene: Scene) -> None:
    running = scene.call("getConsumerRunningInfo", scene.group, scene.consumer.client_id, True)
    assert "ConsumeMessageThread" in running["jstack"]
    assert running["properties"]["PROP_CONSUMER_START_TIMESTAMP"].isdigit()
    assert scene.topic in {subscription["topic"] for subscription in running["subscriptionSet"]}


def test_statistics_under_all_their_keys(scene: Scene) -> None:
    """Apache's broker, asked with the same keys, knows them too, save those of single queues."""
    queue, topic, group = scene.queue.queue_id, scene.topic, scene.group
    asked = [
        ("TOPIC_PUT_NUMS", topic), ("TOPIC_PUT_SIZE", topic), ("QUEUE_PUT_NUMS", f"{topic}@{queue}"),
        ("QUEUE_PUT_SIZE", f"{topic}@{queue}"), ("GROUP_GET_NUMS", f"{topic}@{group}"),
        ("GROUP_GET_SIZE", f"{topic}@{group}"), ("QUEUE_GET_NUMS", f"{topic}@{queue}@{group}"),
        ("QUEUE_GET_SIZE", f"{topic}@{queue}@{group}"), ("TOPIC_PUT_LATENCY", f"{queue}@{topic}"),
        ("GROUP_GET_LATENCY", f"{queue}@{topic}@{group}"), ("BROKER_PUT_NUMS", "DefaultCluster"),
        ("BROKER_GET_NUMS", "DefaultCluster"),
    ]  # fmt: skip
    unknown = {name for name, key in asked if not has_figure(scene, name, key)}
    assert unknown == (set() if scene.cluster.kind == "sprocket" else {name for name, _ in asked if "QUEUE" in name})


def has_figure(scene: Scene, name: str, key: str) -> bool:
    """A latency may be 0 milliseconds; Apache's sums are of samples, ten seconds apart."""
    try:
        item = scene.call("viewBrokerStatsData", scene.broker, name, key)["statsDay"]
    except PeerError:
        return False
    return item["sum"] > 0 or name.endswith("_LATENCY") or scene.cluster.kind == "apache"


def test_a_commit_for_an_unknown_group_is_refused(scene: Scene) -> None:
    with pytest.raises(PeerError) as refused:
        scene.call("updateConsumeOffset", scene.broker, scene.new("consumers"), scene.queue, 1)
    assert refused.value.code == 26


def test_trace_page(scene: Scene, traced: Sent) -> None:
    def bodies() -> list[str]:
        try:
            found = scene.call("queryMessage", TRACE_TOPIC, traced.msg_id, 64, 0, 2**62)["messageList"]
        except PeerError:  # no such message yet
            return []
        return [message["body"] for message in found]

    eventually(lambda: bool(bodies()), "the trace of a message")
    (text,) = {line for body in bodies() for line in decoded(body).split("\x02") if traced.msg_id in line}
    fields = text.split("\x01")
    assert (fields[0], fields[4], fields[6], fields[7]) == ("Pub", scene.topic, "B", "traced")


def decoded(body: str) -> str:
    return b64decode(body).decode()
