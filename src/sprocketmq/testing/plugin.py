"""pytest fixtures, found by pytest itself once the package is installed.

    def test_orders(rocketmq_producer, rocketmq_consumer, rocketmq_topic):
        rocketmq_producer.send(Message(rocketmq_topic, b"one apple"))
        assert rocketmq_consumer.poll()[0].body == b"one apple"

    @pytest.mark.rocketmq(flushDiskType="SYNC_FLUSH")       entries of broker.conf, for this test
    def test_safely(rocketmq): ...

The cluster is started when a test first asks for it and serves the whole run: use topics and groups of your own, or
`rocketmq.clear()`. Each set of entries has a cluster of its own, which serves the whole run as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sprocketmq.client.sync import Producer, PullConsumer
    from sprocketmq.testing.cluster import EmbeddedCluster
    from sprocketmq.testing.faulty_cluster import FaultyCluster

MARKER = "rocketmq"
Entries = tuple[tuple[str, str], ...]

_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(**entries): entries of broker.conf for the cluster of this test")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A marked test gets the cluster of its entries; the session's own fixture brings it, so that it is shared."""
    entries = _entries(metafunc.definition)
    if entries and "rocketmq" in metafunc.fixturenames:
        name = ",".join(f"{key}={value}" for key, value in entries)
        metafunc.parametrize("rocketmq", [pytest.param(entries, id=name)], indirect=True, scope="session")


def _entries(item: pytest.Item) -> Entries:
    marks = list(item.iter_markers(MARKER))
    if any(mark.args for mark in marks):
        raise pytest.UsageError(f"{item.nodeid}: {MARKER} takes entries of broker.conf by name: KEY=VALUE")
    given = [mark.kwargs for mark in reversed(marks)]
    merged = {key: _text(value) for kwargs in given for key, value in kwargs.items()}
    return tuple(sorted(merged.items()))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(scope="session")
def _rocketmq_clusters() -> Iterator[dict[Entries, EmbeddedCluster]]:
    clusters: dict[Entries, EmbeddedCluster] = {}
    yield clusters
    for cluster in clusters.values():
        cluster.stop()


@pytest.fixture(scope="session")
def rocketmq(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    _rocketmq_clusters: dict[Entries, EmbeddedCluster],
) -> EmbeddedCluster:
    """A nameserver and a broker inside the test process; `rocketmq.nameserver` is where clients connect."""
    from sprocketmq.testing import EmbeddedCluster

    entries: Entries = getattr(request, "param", ())
    if entries not in _rocketmq_clusters:
        made = EmbeddedCluster(tmp_path_factory.mktemp("rocketmq"), dict(entries))
        _rocketmq_clusters[entries] = made.start()
    return _rocketmq_clusters[entries]


@pytest.fixture
def rocketmq_topic() -> str:
    """The name of a topic that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def rocketmq_group() -> str:
    """The name of a group that no other test uses."""
    return f"group-{next(_numbers)}"


@pytest.fixture
def rocketmq_producer(rocketmq: EmbeddedCluster, rocketmq_group: str) -> Iterator[Producer]:
    """A started producer whose calls wait."""
    from sprocketmq.client.sync import Producer

    with Producer(rocketmq_group, rocketmq.nameserver) as producer:
        yield producer


@pytest.fixture
def rocketmq_consumer(rocketmq: EmbeddedCluster, rocketmq_group: str, rocketmq_topic: str) -> Iterator[PullConsumer]:
    """A started pull consumer that reads `rocketmq_topic`, which it creates, from its beginning."""
    from sprocketmq.client.settings import PullSettings
    from sprocketmq.client.sync import PullConsumer
    from sprocketmq.client.sync.admin import AdminClient

    with AdminClient(rocketmq.nameserver) as admin:
        admin.topics.create(rocketmq_topic)
    settings = PullSettings(consume_from="first")
    with PullConsumer(rocketmq_group, rocketmq.nameserver, settings=settings) as consumer:
        consumer.subscribe(rocketmq_topic)
        yield consumer


@pytest.fixture
def rocketmq_faults(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FaultyCluster]:
    """A cluster of this test's own, whose broker can be stopped, killed, paused and given a slow disk."""
    from sprocketmq.testing.faulty_cluster import FaultyCluster

    with FaultyCluster(tmp_path_factory.mktemp("rocketmq-faults"), dict(_entries(request.node))) as cluster:
        yield cluster
