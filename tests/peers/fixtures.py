"""pytest fixtures over the peers.  A test directory's conftest.py takes them with `from tests.peers.fixtures import *`.

JVMs are slow to start and cheap to share: each is started once, when a test first asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from tests.peers.apache import apache_cluster
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer, JavaVersion, Serialization
from tests.peers.mqadmin import MqAdmin, Ran
from tests.peers.servers import Cluster, NameServer
from tests.peers.sprocket import SprocketNameServer, sprocket_cluster
from tests.peers.toolchain import needs_tools

__all__ = [
    "apache_rocketmq",
    "cluster",
    "go_peer",
    "java",
    "java_498",
    "java_533",
    "java_peer",
    "mqadmin",
    "nameserver",
    "own_cluster",
    "peer",
    "sprocket_rocketmq",
    "start_cluster",
    "unique",
]

MakeCluster = Callable[[Path, Mapping[str, str] | None], Cluster]
StartCluster = Callable[[Mapping[str, str]], Cluster]
CLUSTERS: Mapping[str, MakeCluster] = {"apache": apache_cluster, "sprocket": sprocket_cluster}
Peer = JavaPeer | GoPeer
Unique = Callable[[str], str]
RunMqAdmin = Callable[..., Ran]
GetJavaPeer = Callable[[JavaVersion, Serialization], JavaPeer]

_NUMBERS = count(1)


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Unique:
    """Names for topics and groups that no other test uses."""
    return lambda prefix: f"{prefix}-{next(_NUMBERS)}"


@pytest.fixture(scope="session")
def apache_rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real Apache RocketMQ 5.3.3 for the whole run: use names of your own (`unique`), and stop nothing."""
    yield from _run("apache", tmp_path_factory.mktemp("apache"))


@pytest.fixture(scope="session")
def sprocket_rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Our nameserver and broker for the whole run: use names of your own (`unique`), and stop nothing."""
    yield from _run("sprocket", tmp_path_factory.mktemp("sprocket"))


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The same test against Apache's servers, which proves the test, and against ours."""
    found: Cluster = request.getfixturevalue(f"{request.param}_rocketmq")
    return found


@pytest.fixture(params=CLUSTERS)
def start_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartCluster]:
    """Servers for one test alone, with a configuration of its own."""
    started: list[Cluster] = []

    def start(conf: Mapping[str, str] | None = None) -> Cluster:
        started.append(CLUSTERS[request.param](tmp_path / str(len(started)), conf))
        with needs_tools():
            return started[-1].start()

    yield start
    for running in started:
        running.kill()


@pytest.fixture
def nameserver(tmp_path: Path) -> Iterator[NameServer]:
    """One of ours, for a test that starts its own brokers."""
    server = SprocketNameServer(tmp_path / "nameserver").start()
    yield server
    server.kill()


@pytest.fixture
def own_cluster(start_cluster: StartCluster) -> Cluster:
    """Servers for one test alone, which may stop and kill them."""
    return start_cluster({})


def _run(kind: str, directory: Path) -> Iterator[Cluster]:
    running = CLUSTERS[kind](directory, None)
    try:
        with needs_tools():
            running.start()
        yield running
    finally:
        running.kill()


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


@pytest.fixture(params=["java_498", "java_533", "go_peer"])
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each of the real clients in turn."""
    found: Peer = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["java_498", "java_533"])
def java(request: pytest.FixtureRequest) -> JavaPeer:
    """Both Java clients in turn."""
    found: JavaPeer = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def go_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoPeer]:
    """The Go client, v2."""
    with needs_tools():
        peer = GoPeer(tmp_path_factory.mktemp("go"))
    yield peer
    peer.close()


@pytest.fixture(scope="session")
def mqadmin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunMqAdmin]:
    """`mqadmin("5.3.3", "clusterList", "-n", address)` in a JVM per version."""
    started: dict[JavaVersion, MqAdmin] = {}

    def run(version: JavaVersion, *arguments: str, timeout: float = 120) -> Ran:
        if version not in started:
            started[version] = MqAdmin(version, tmp_path_factory.mktemp(f"mqadmin-{version}"))
        with needs_tools():
            return started[version].run(*arguments, timeout=timeout)

    yield run
    for tool in started.values():
        tool.close()
