"""Static topics over two brokers: the real mqadmin makes and moves one, the real client sends to it and reads it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.peers.apache import ApacheBroker
from tests.peers.fixtures import RunMqAdmin, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Queue, Sent
from tests.peers.servers import Broker
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.client import PullConsumer, PullSettings

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

#: Who broker-a and broker-b are. With Apache's the test proves itself, and that both kinds forward to each other;
#: their start takes longer than all the rest, so that is done when asked for.
OURS = (SprocketBroker, SprocketBroker)
WITH_APACHE = ((ApacheBroker, ApacheBroker), (ApacheBroker, SprocketBroker), (SprocketBroker, ApacheBroker))
KINDS = (OURS, *WITH_APACHE) if os.environ.get("STATIC_TOPICS_ON_APACHE") else (OURS,)
LOGICAL = "__syslo__global__"
QUEUES = 4


@dataclass(frozen=True, slots=True)
class TwoBrokers:
    address: str
    a: Broker
    b: Broker


@pytest.fixture(params=KINDS, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
def brokers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TwoBrokers]:
    with ExitStack() as running:
        nameserver = SprocketNameServer(tmp_path / "nameserver").start()
        running.callback(nameserver.kill)
        started = []
        for name, kind in zip(("broker-a", "broker-b"), request.param, strict=True):
            broker = kind(tmp_path / name, nameserver.address, {"brokerName": name})
            running.callback(broker.kill)
            started.append(broker.start())
        yield TwoBrokers(nameserver.address, *started)


def bodies(number: int, first: int = 0) -> list[bytes]:
    return [f"body-{each}".encode() for each in range(first, first + number)]


async def read_by_python(nameserver: str, topic: str, group: str) -> list[bytes]:
    """What our own client finds in the topic, over the move."""
    read: list[bytes] = []
    first = PullSettings(consume_from="first")
    async with asyncio.timeout(120), PullConsumer(group, nameserver, settings=first) as consumer:
        await consumer.subscribe(topic)
        while len(read) < 40:
            read += [message.body for message in await consumer.poll(timeout=1)]
    return sorted(read)


def test_a_topic_moves_and_keeps_its_queues(
    brokers: TwoBrokers, java_533: JavaPeer, mqadmin: RunMqAdmin, unique: Unique
) -> None:
    topic, group, late = unique("static"), unique("group"), unique("late")
    at = ("-t", topic, "-n", brokers.address)
    ran = mqadmin("5.3.3", "updateStaticTopic", "-qn", str(QUEUES), "-b", "broker-a", *at)
    assert ran.exit == 0, ran
    with (
        java_533.producer(unique("producers"), brokers.address) as producer,
        java_533.producer(unique("producers"), brokers.address) as asks_anew,
        java_533.push_consumer(group, brokers.address, [topic]) as consumer,
        java_533.admin(brokers.address) as admin,
    ):
        before = producer.send_all([Outgoing(topic, body) for body in bodies(20)])
        assert {sent.queue.queue_id for sent in before} == set(range(QUEUES))
        consumer.wait_bodies(bodies(20))
        ran = mqadmin("5.3.3", "remappingStaticTopic", "-b", "broker-b", *at)
        assert ran.exit == 0, ran
        after = asks_anew.send_all([Outgoing(topic, body) for body in bodies(20, 20)])
        assert {sent.queue.queue_id for sent in after} == set(range(QUEUES))
        assert min(sent.queue_offset for sent in after) >= 500, "a block above what the old leader holds"
        received = consumer.wait_bodies(bodies(40))
        offsets = {message.body: (message.queue_id, message.queue_offset) for message in received}
        assert all(offsets[f"body-{n}".encode()] == _place(sent) for n, sent in enumerate(before + after))
        queue = Queue(topic, LOGICAL, 0)
        last = max(sent.queue_offset for sent in after if sent.queue.queue_id == 0)
        assert admin.call("maxOffset", queue) == last + 1
        assert admin.call("minOffset", queue) == 0
        assert 0 <= admin.call("searchOffset", queue, 0) <= 1
        assert admin.call("searchOffset", queue, 1 << 60) in (last, last + 1)
        assert admin.call("earliestMsgStoreTime", queue) > 0
    with java_533.push_consumer(late, brokers.address, [topic]) as consumer:
        everything = consumer.wait_bodies(bodies(40))
        assert len(everything) == 40
    assert asyncio.run(read_by_python(brokers.address, topic, unique("python"))) == sorted(bodies(40))
    status = mqadmin("5.3.3", "topicStatus", *at).stdout
    assert len(re.findall(rf"^{LOGICAL}\s", status, re.M)) == QUEUES, status


def _place(sent: Sent) -> tuple[int, int]:
    return sent.queue.queue_id, sent.queue_offset
