"""Masters and slaves over RocketMQ's default stream, each ours or Apache's: the logs are the same, byte for byte.

The log files are small, so that several of them, with the blanks at their ends, go over the stream.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.peers import probe
from tests.peers.apache import ApacheBroker
from tests.peers.fixtures import RunMqAdmin
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Subscription
from tests.peers.process import eventually
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker
from tests.peers.toolchain import needs_tools

from sprocketmq.client import ConsumerSettings, PushConsumer, ReceivedMessage
from sprocketmq.codes import RequestCode, ResponseCode

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

TOPIC, GROUP = "copied", "readers"
SIZES = {"mappedFileSizeCommitLog": str(64 << 10), "slaveReadEnable": "true", "defaultTopicQueueNums": "4"}
MASTER = SIZES | {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "slaveTimeout": "30000"}
SLAVE = SIZES | {"brokerRole": "SLAVE", "brokerId": "1"}


@pytest.fixture
def start_brokers(tmp_path: Path, nameserver: NameServer) -> Iterator[Callable[..., Broker]]:
    started: list[Broker] = []

    def start(make: Callable[..., Broker], conf: dict[str, str], **more: str) -> Broker:
        broker = make(tmp_path / f"broker-{len(started)}", nameserver.address, conf, **more)
        started.append(broker)
        with needs_tools():
            return broker.start()

    yield start
    for broker in started:
        broker.kill()


def log_of(broker: Broker) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((broker.store / "commitlog").iterdir()))


def end_of(broker: Broker) -> int:
    """Java's broker fails in its first second, when it has taken no figures yet."""
    ask = partial(probe.ask, broker.address, RequestCode.GET_BROKER_RUNTIME_INFO)
    eventually(lambda: ask()[0] == ResponseCode.SUCCESS, "it tells its figures")
    _code, body = ask()
    return int(body.split(b'"commitLogMaxOffset":"')[1].split(b'"')[0])


def same_logs(master: Broker, slave: Broker) -> None:
    eventually(lambda: end_of(slave) == end_of(master), "the slave has the whole log")
    end = end_of(master)
    assert end > 3 * (64 << 10), "several files must have gone over"
    assert log_of(slave)[:end] == log_of(master)[:end]


def messages(begin: int, end: int) -> Sequence[Outgoing]:
    return [
        Outgoing(TOPIC, b"%d " % number + b"x" * (number * 37 % 3000), keys=f"k{number}")
        for number in range(begin, end)
    ]


def send(java: JavaPeer, nameserver: NameServer, sent: Sequence[Outgoing]) -> None:
    with java.producer("senders", nameserver.address) as producer:
        assert {result.status for result in producer.send_all(sent)} == {"SEND_OK"}


def followed(master: Broker) -> bool:
    _code, body = probe.ask(master.address, RequestCode.GET_BROKER_HA_STATUS)
    return b'"inSyncSlaveNums":1' in body


@pytest.mark.parametrize("version", ["5.3.3", "4.9.7"])
def test_a_java_slave_copies_our_log(
    nameserver: NameServer, start_brokers: Callable[..., Broker], java_533: JavaPeer, mqadmin: RunMqAdmin, version: str
) -> None:
    master = start_brokers(SprocketBroker, MASTER)
    slave = start_brokers(ApacheBroker, SLAVE, version=version)
    eventually(lambda: followed(master), "the slave follows")
    sent = messages(0, 300)
    send(java_533, nameserver, sent)
    same_logs(master, slave)
    if version == "5.3.3":
        told = mqadmin("5.3.3", "haStatus", "-n", nameserver.address, "-b", master.address).stdout
        assert re.search(r"#SlaveNum\t1\b.*#InSyncSlaveNum\t1\b.* OK ", told, re.DOTALL), told


def test_our_slave_copies_a_java_log_and_serves_readers_when_its_master_is_killed(
    nameserver: NameServer, start_brokers: Callable[..., Broker], java_533: JavaPeer
) -> None:
    master = start_brokers(ApacheBroker, MASTER)
    slave = start_brokers(SprocketBroker, SLAVE)
    eventually(lambda: followed(master), "the slave follows")
    sent = messages(0, 300)
    send(java_533, nameserver, sent)
    same_logs(master, slave)
    eventually(lambda: has_topic(slave), "the slave knows the topic")
    master.kill()
    with java_533.push_consumer(GROUP, nameserver.address, [Subscription(TOPIC)]) as consumer:
        consumer.wait_bodies([message.body for message in sent])
    asyncio.run(read_all(nameserver.address, {message.body for message in sent}))


@pytest.mark.parametrize(
    ("makes_master", "makes_slave"),
    [(SprocketBroker, SprocketBroker), (SprocketBroker, ApacheBroker), (ApacheBroker, SprocketBroker)],
)
def test_a_living_java_consumer_goes_on_at_the_slave(
    nameserver: NameServer, start_brokers: Callable[..., Broker], java_533: JavaPeer,
    makes_master: type[Broker], makes_slave: type[Broker],
) -> None:  # fmt: skip
    """It is held while messages come and the master dies: a few at most were on their way to it."""
    master, slave = start_brokers(makes_master, MASTER), start_brokers(makes_slave, SLAVE)
    eventually(lambda: followed(master), "the slave follows")
    few = {"pullBatchSize": 4, "pullThresholdForQueue": 8}
    with java_533.producer("senders", nameserver.address) as producer:
        producer.send(Outgoing(TOPIC, b"first"))
        eventually(lambda: has_topic(slave), "the slave knows the topic")
        with java_533.push_consumer(GROUP, nameserver.address, [Subscription(TOPIC)], options=few) as consumer:
            consumer.wait(1)
            consumer.call("suspend")
            sent = messages(0, 200)
            assert {result.status for result in producer.send_all(sent)} == {"SEND_OK"}
            master.kill()
            assert len(consumer.received()) < len(sent)
            consumer.call("resume")
            consumer.wait_bodies([message.body for message in sent])


def has_topic(broker: Broker) -> bool:
    return f'"{TOPIC}"'.encode() in probe.ask(broker.address, RequestCode.GET_ALL_TOPIC_CONFIG)[1]


async def read_all(nameserver: str, expected: set[bytes]) -> None:
    got: set[bytes] = set()
    done = asyncio.Event()
    settings = ConsumerSettings(consume_from="first")
    async with PushConsumer("python-readers", nameserver, settings=settings) as consumer:

        @consumer.subscribe(TOPIC)
        async def handle(message: ReceivedMessage) -> None:
            got.add(message.body)
            if expected <= got:
                done.set()

        async with asyncio.timeout(120):
            await done.wait()
