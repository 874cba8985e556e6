"""One cluster for all tests of the console; each uses names of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.dashboard.site import Site, site_of

from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="session")
def console_cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def site(console_cluster: EmbeddedCluster) -> Iterator[Site]:
    """A console that may change things."""
    client, console = site_of(console_cluster, write=True)
    with client:
        yield Site(client, console, console_cluster)


@pytest.fixture(scope="session")
def admin(console_cluster: EmbeddedCluster) -> Iterator[AdminClient]:
    with AdminClient(console_cluster.nameserver) as client:
        yield client


@pytest.fixture(scope="session")
def producer(console_cluster: EmbeddedCluster) -> Iterator[Producer]:
    with Producer("console-tests", console_cluster.nameserver) as started:
        yield started
