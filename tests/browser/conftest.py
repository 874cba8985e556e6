"""One browser for all tests of a module, and each cluster: the real Apache RocketMQ 5.3.3, and ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.browser.chromium import chromium
from tests.peers.fixtures import *  # noqa: F403
from tests.peers.fixtures import CLUSTERS
from tests.peers.servers import Cluster
from tests.peers.toolchain import needs_tools


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with needs_tools(), chromium() as started:
        yield started


@pytest.fixture(scope="module", params=CLUSTERS)
def where(request: pytest.FixtureRequest) -> Cluster:
    found: Cluster = request.getfixturevalue(f"{request.param}_rocketmq")
    return found
