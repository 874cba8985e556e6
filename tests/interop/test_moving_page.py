"""docs/moving.md step by step, with the commands that it prints: from Apache RocketMQ 5.3.3 to ours, and back."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cli.commands import sprocket
from tests.e2e.processes import Sprocket, running
from tests.peers.apache import apache_cluster
from tests.peers.fixtures import Unique
from tests.peers.process import eventually, free_port
from tests.peers.servers import Cluster
from tests.peers.toolchain import needs_tools

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[2] / "docs" / "moving.md").read_text()


def printed(begin: str, **here: object) -> list[str]:
    """The words behind `sprocket` of the command that begins so, with places and names of this machine."""
    found = re.search(rf"sprocket ({re.escape(begin)}[^`\n]*)", PAGE)
    assert found is not None, begin
    line = found[1]
    for there, own in here.items():
        assert PLACES[there] in line
        line = line.replace(PLACES[there], str(own))
    return shlex.split(line)


PLACES = {
    "nameservers": "ns1:9876;ns2:9876", "data": "/var/lib/sprocketmq/store", "store": "/path/to/store",
    "conf": "broker.conf",
}  # fmt: skip
#: Ports of this machine are not one's own in a test.
OWN = ("--set=metricsPromExporterPort=0", "--set=brokerIP1=127.0.0.1")


@pytest.fixture
def apaches(tmp_path: Path) -> Iterator[Cluster]:
    made = apache_cluster(tmp_path / "apache")
    try:
        with needs_tools():
            yield made.start()
    finally:
        made.kill()


def bodies(nameserver: str, topic: str, count: int) -> list[bytes]:
    done = sprocket(nameserver, "consume", topic, "--from", "first", "-c", count, "-f", "%s\n")
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def end(server: Sprocket) -> None:
    code, errors = server.end(signal.SIGTERM)
    assert code == 0, errors


def test_there_and_back(apaches: Cluster, tmp_path: Path, unique: Unique) -> None:
    topic, group, nameserver = unique("moved"), unique("movers"), apaches.address
    with AdminClient(nameserver) as admin, Producer("moving", nameserver) as producer:
        admin.topics.create(topic, queues=1)
        for number in range(3):
            producer.send(Message(topic, b"%d" % number))
        admin.groups.create(SubscriptionGroupConfig(group_name=group))
        admin.offsets.reset(group, topic, 2)
        clients_first(nameserver)
        beside(admin, nameserver, tmp_path, unique("shared"))
        apaches.broker.stop()
    verified = sprocket(nameserver, *printed("store verify", store=apaches.broker.store))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    with running(*printed("broker --config", conf=apaches.broker.write_conf()), OWN[0]) as ours:
        ours.ready(apaches.broker.name)
        holds(nameserver, topic, group, 3)
        with Producer("moving", nameserver) as producer:
            producer.send(Message(topic, b"3"))
        end(ours)
    apaches.broker.start()
    holds(nameserver, topic, group, 4)


def clients_first(nameserver: str) -> None:
    for command in (printed("cluster"), [*printed("check"), "--disk-warning=101", "--disk-critical=101"]):
        done = sprocket(nameserver, *command)
        assert (done.returncode, done.stderr) == (0, b""), command


def beside(admin: AdminClient, nameserver: str, folder: Path, topic: str) -> None:
    port = free_port(-2, 1)
    command = printed("broker --nameserver", nameservers=nameserver, data=folder / "beside")
    with running(*command, f"--port={port}", *OWN) as ours:
        ours.ready("broker-py")
        assert sorted(admin.topics.create(topic, queues=1)) == ["broker-a", "broker-py"]
        with Producer("moving", nameserver, route_interval=0.5) as producer:
            both = {"broker-a", "broker-py"}
            eventually(lambda: {_place(producer, topic) for _ in range(4)} == both, "sends to both brokers")
        end(ours)


def _place(producer: Producer, topic: str) -> str:
    return producer.send(Message(topic, b"shared")).queue.broker_name


def holds(nameserver: str, topic: str, group: str, count: int) -> None:
    """Every message, and how far the group is."""
    assert bodies(nameserver, topic, count) == [b"%d" % number for number in range(count)]
    with AdminClient(nameserver) as admin:
        assert [*admin.offsets.get(group, topic).values()] == [2]
