"""pytest fixtures, found by pytest itself once the package is installed.

    def test_orders(rocketmq, rocketmq_topic):
        with Producer("tests", nameserver=rocketmq.nameserver) as producer:
            producer.send(Message(rocketmq_topic, b"one apple"))

The cluster is started when a test first asks for it and serves the whole run: use topics and groups of your own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sprocketmq.testing.cluster import EmbeddedCluster

_numbers = count(1)


@pytest.fixture(scope="session")
def rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A nameserver and a broker inside the test process; `rocketmq.nameserver` is where clients connect."""
    from sprocketmq.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(tmp_path_factory.mktemp("rocketmq")) as cluster:
        yield cluster


@pytest.fixture
def rocketmq_topic() -> str:
    """The name of a topic that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def rocketmq_group() -> str:
    """The name of a group that no other test uses."""
    return f"group-{next(_numbers)}"
