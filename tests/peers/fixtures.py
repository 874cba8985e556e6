"""pytest fixtures over the peers.  A test directory's conftest.py takes them with `from tests.peers.fixtures import *`.

JVMs are slow to start and cheap to share: each is started once, when a test first asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer, JavaVersion, Serialization
from tests.peers.mqadmin import MqAdmin, Ran
from tests.peers.toolchain import needs_tools

__all__ = ["ApacheRocketMQ", "apache_rocketmq", "go_peer", "java_498", "java_533", "java_peer", "mqadmin", "unique"]

GetJavaPeer = Callable[[JavaVersion, Serialization], JavaPeer]

_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class ApacheRocketMQ:
    """A running nameserver and broker, shared: use names of your own (`unique`), and stop nothing."""

    nameserver: str
    broker: str
    broker_name: str
    cluster: str


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names for topics and groups that no other test uses."""
    return lambda prefix: f"{prefix}-{next(_NUMBERS)}"


@pytest.fixture(scope="session")
def apache_rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheRocketMQ]:
    """A real Apache RocketMQ 5.3.3 for the whole run."""
    directory = tmp_path_factory.mktemp("apache")
    with needs_tools():
        nameserver = ApacheNameServer(directory / "nameserver").start()
    broker = ApacheBroker(directory / "broker", nameserver.address)
    try:
        broker.start()
        yield ApacheRocketMQ(nameserver.address, broker.address, broker.name, broker.cluster)
    finally:
        broker.kill()  # a clean stop takes Apache's broker 17 s
        nameserver.kill()


@pytest.fixture(scope="session")
def java_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GetJavaPeer]:
    """A JVM per client version and header form, each started when first asked for."""
    started: dict[tuple[JavaVersion, Serialization], JavaPeer] = {}

    def get(version: JavaVersion, serialization: Serialization) -> JavaPeer:
        key = version, serialization
        if key not in started:
            directory: Path = tmp_path_factory.mktemp(f"java-{version}-{serialization}")
            with needs_tools():
                started[key] = JavaPeer(version, directory, serialization)
        return started[key]

    yield get
    for peer in started.values():
        peer.close()


@pytest.fixture(scope="session")
def java_498(java_peer: GetJavaPeer) -> JavaPeer:
    """The 4.9.8 client with JSON headers, its default."""
    return java_peer("4.9.8", "JSON")


@pytest.fixture(scope="session")
def java_533(java_peer: GetJavaPeer) -> JavaPeer:
    """The 5.3.3 client with binary headers."""
    return java_peer("5.3.3", "ROCKETMQ")


@pytest.fixture(scope="session")
def go_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoPeer]:
    """The Go client, v2."""
    with needs_tools():
        peer = GoPeer(tmp_path_factory.mktemp("go"))
    yield peer
    peer.close()


@pytest.fixture(scope="session")
def mqadmin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Ran]]:
    """`mqadmin("5.3.3", "clusterList", "-n", address)` in a JVM per version."""
    started: dict[JavaVersion, MqAdmin] = {}

    def run(version: JavaVersion, *arguments: str, timeout: float = 60) -> Ran:
        if version not in started:
            started[version] = MqAdmin(version, tmp_path_factory.mktemp(f"mqadmin-{version}"))
        with needs_tools():
            return started[version].run(*arguments, timeout=timeout)

    yield run
    for tool in started.values():
        tool.close()
