from __future__ import annotations

import pytest

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.errors import Offline
from sprocketmq.client.options import ClientOptions


def test_a_nameserver_that_cannot_be_reached_is_named_once() -> None:
    with BlockingCluster(ClientOptions.of("127.0.0.1:1"), retries=0) as cluster, pytest.raises(Offline) as caught:
        cluster.route("orders")
    assert str(caught.value).count("127.0.0.1:1") == 1
    assert "nameserver 127.0.0.1:1 cannot be reached: " in str(caught.value)
