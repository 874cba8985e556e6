"""Our nameservers under a real Apache RocketMQ 5.3.3 broker, real Java clients and mqadmin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.peers import probe
from tests.peers.apache import ApacheBroker
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JAVA_VERSIONS, JavaPeer, JavaVersion
from tests.peers.messages import Outgoing
from tests.peers.mqadmin import Ran
from tests.peers.process import Process, free_port
from tests.peers.toolchain import needs_tools

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
Mqadmin = Callable[..., Ran]


class OurNameserver:
    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._directory = directory
        self.process: Process | None = None

    def start(self) -> OurNameserver:
        self._directory.mkdir(parents=True, exist_ok=True)
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--data", str(self._directory)]
        command = [sys.executable, "-m", "sprocketmq", "nameserver", *options]
        self.process = Process(command, self._directory / "console.log", cwd=Path.cwd())
        self.process.wait_until(lambda: probe.answers(self.address), f"nameserver {self.address}")
        return self

    def stop(self) -> None:
        if self.process is not None and self.process.running:
            self.process.stop()


@dataclass(frozen=True, slots=True)
class Cluster:
    nameservers: tuple[OurNameserver, OurNameserver]
    broker: ApacheBroker

    @property
    def address(self) -> str:
        return self.nameservers[0].address

    @property
    def addresses(self) -> str:
        return ";".join(each.address for each in self.nameservers)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nameservers of ours side by side, and Apache's broker registered with both."""
    directory = tmp_path_factory.mktemp("nameserver")
    first, second = (OurNameserver(directory / name).start() for name in ("ns1", "ns2"))
    broker = ApacheBroker(directory / "broker", f"{first.address};{second.address}")
    try:
        with needs_tools():
            broker.start()  # it is ready when both route to it
        yield Cluster((first, second), broker)
    finally:
        broker.kill()
        first.stop()
        second.stop()


@pytest.fixture(params=["java_498", "java_533", "go_peer"])
def peer(request: pytest.FixtureRequest) -> JavaPeer | GoPeer:
    found: JavaPeer | GoPeer = request.getfixturevalue(request.param)
    return found


def test_clients_find_the_broker_and_new_topics(cluster: Cluster, peer: JavaPeer | GoPeer, unique: Unique) -> None:
    topic = unique("ns-topic")
    address = cluster.addresses if isinstance(peer, JavaPeer) else cluster.address  # the Go peer takes one
    with peer.producer(unique("producers"), address) as producer:
        assert producer.send(Outgoing(topic, b"through our route")).status == "SEND_OK"
    with peer.push_consumer(unique("consumers"), cluster.nameservers[1].address, [topic]) as consumer:
        assert consumer.wait(1)[0].body == b"through our route"
    for nameserver in cluster.nameservers:
        assert probe.routes_to(nameserver.address, cluster.broker.address, topic)


@pytest.mark.parametrize("version", JAVA_VERSIONS)
def test_mqadmin_reads(cluster: Cluster, mqadmin: Mqadmin, version: JavaVersion) -> None:
    at = ("-n", cluster.address)
    assert cluster.broker.address in mqadmin(version, "clusterList", *at).stdout
    assert "TBW102" in mqadmin(version, "topicList", *at).stdout
    route = mqadmin(version, "topicRoute", *at, "-t", "TBW102").stdout
    assert cluster.broker.address in route
    assert cluster.broker.cluster in mqadmin(version, "topicClusterList", *at, "-t", "TBW102").stdout
    assert "listenPort" in mqadmin(version, "getNamesrvConfig", *at).stdout


@pytest.mark.parametrize("version", JAVA_VERSIONS)
def test_mqadmin_changes(cluster: Cluster, mqadmin: Mqadmin, version: JavaVersion, unique: Unique) -> None:
    at, key = ("-n", cluster.address), unique("key")
    assert "success" in mqadmin(version, "updateKvConfig", *at, "-s", "space", "-k", key, "-v", "value").stdout
    assert "success" in mqadmin(version, "deleteKvConfig", *at, "-s", "space", "-k", key).stdout
    wiped = mqadmin(version, "wipeWritePerm", *at, "-b", cluster.broker.name).stdout
    assert "wipe write perm" in wiped
    assert "OK" in wiped
    restored = mqadmin(version, "addWritePerm", *at, "-b", cluster.broker.name).stdout
    assert "add write perm" in restored
    changed = mqadmin(version, "updateNamesrvConfig", *at, "-k", "enableTopicList", "-v", "true").stdout
    assert "success" in changed


def test_mqadmin_cannot_set_a_path(cluster: Cluster, mqadmin: Mqadmin) -> None:
    ran = mqadmin("5.3.3", "updateNamesrvConfig", "-n", cluster.address, "-k", "configStorePath", "-v", "/tmp/x")
    assert "configStorePath" in ran.stdout + ran.stderr
    assert "success" not in ran.stdout


def test_a_nameserver_that_comes_back_learns_the_routes_again(cluster: Cluster) -> None:
    first = cluster.nameservers[0]
    first.stop()
    first.start()
    assert first.process is not None
    first.process.wait_until(
        lambda: probe.routes_to(first.address, cluster.broker.address, "TBW102"), "the broker's next registration"
    )


def test_a_dead_broker_leaves_the_route_at_once(cluster: Cluster, tmp_path: Path) -> None:
    other = ApacheBroker(tmp_path / "other", cluster.address, {"brokerName": "broker-other"}).start()
    assert probe.routes_to(cluster.address, other.address, "TBW102")
    other.kill()
    process = cluster.nameservers[0].process
    assert process is not None
    process.wait_until(
        lambda: not probe.routes_to(cluster.address, other.address, "TBW102"), "the route without the dead broker"
    )
    assert probe.routes_to(cluster.address, cluster.broker.address, "TBW102")
