"""A plain slave that is made the master by hand, of a master of the other kind: what rested there goes on here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.peers import probe
from tests.peers.apache import ApacheBroker
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Subscription, bodies
from tests.peers.patience import LONG
from tests.peers.process import eventually
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker
from tests.peers.toolchain import needs_tools

from sprocketmq.codes import RequestCode

pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(600),
    LONG,
]

TOPIC, POPPED, GROUP = "resting", "popped", "takers"
#: Longer than it takes to change the master on a quiet machine; on a busy one some are delivered before.
SECONDS = 15
CONF = {"messageDelayLevel": f"1s {SECONDS}s", "slaveReadEnable": "true", "defaultTopicQueueNums": "1"}
MASTER, SLAVE = {"brokerRole": "ASYNC_MASTER", "brokerId": "0"}, {"brokerRole": "SLAVE", "brokerId": "1"}
DELAYED = [b"%s %d" % (kind, number) for kind in (b"level", b"timer") for number in range(3)]
TAKEN = [b"taken %d" % number for number in range(3)]


@pytest.fixture
def start(tmp_path: Path, nameserver: NameServer) -> Iterator[Callable[[type[Broker], dict[str, str]], Broker]]:
    started: list[Broker] = []

    def start(make: type[Broker], role: dict[str, str]) -> Broker:
        started.append(make(tmp_path / f"broker-{len(started)}", nameserver.address, CONF | role))
        with needs_tools():
            return started[-1].start()

    yield start
    for broker in started:
        broker.kill()


def runtime(broker: Broker) -> str:
    return probe.ask(broker.address, RequestCode.GET_BROKER_RUNTIME_INFO)[1].decode()


def log_end(broker: Broker) -> str:
    return runtime(broker).split('"commitLogMaxOffset":"')[1].split('"')[0]


def has_topics(broker: Broker) -> bool:
    told = probe.ask(broker.address, RequestCode.GET_ALL_TOPIC_CONFIG)[1]
    return all(f'"{topic}"'.encode() in told for topic in (TOPIC, POPPED))


def pop(broker: Broker) -> bytes:
    header = {
        "consumerGroup": GROUP, "topic": POPPED, "queueId": "-1", "maxMsgNums": "32", "pollTime": "0", "bornTime": "0",
        "invisibleTime": str(SECONDS * 1000), "initMode": "0", "expType": "TAG", "exp": "*", "order": "false",
    }  # fmt: skip
    return probe.ask(broker.address, RequestCode.POP_MESSAGE, header)[1]


def leave_resting(java: JavaPeer, nameserver: NameServer, master: Broker) -> None:
    with java.producer("senders", nameserver.address) as producer:
        producer.send_all([Outgoing(POPPED, body) for body in TAKEN])
        given = [Outgoing(TOPIC, body, delay_level=2) for body in DELAYED[:3]]
        producer.send_all(given + [Outgoing(TOPIC, body, delay_sec=SECONDS) for body in DELAYED[3:]])
    found = b""
    while not all(body in found for body in TAKEN):
        found += pop(master)


@pytest.mark.parametrize(
    ("makes_master", "makes_slave"), [(ApacheBroker, SprocketBroker), (SprocketBroker, ApacheBroker)]
)
def test_what_rests_goes_on(
    nameserver: NameServer, java_533: JavaPeer, start: Callable[[type[Broker], dict[str, str]], Broker],
    makes_master: type[Broker], makes_slave: type[Broker],
) -> None:  # fmt: skip
    master, slave = start(makes_master, MASTER), start(makes_slave, SLAVE)
    leave_resting(java_533, nameserver, master)
    eventually(lambda: has_topics(slave) and log_end(slave) == log_end(master), "the slave has all of it")
    master.kill()
    slave.stop()
    slave.conf |= MASTER
    slave.start()
    with java_533.push_consumer("readers", nameserver.address, [Subscription(TOPIC)]) as consumer:
        received = consumer.wait_bodies(DELAYED, 180)
    assert sorted(bodies(received)) == sorted(DELAYED)
    found = bytearray()

    def are_back() -> bool:
        found.extend(pop(slave))
        return all(body in found for body in TAKEN)

    eventually(are_back, "what was taken comes back")
