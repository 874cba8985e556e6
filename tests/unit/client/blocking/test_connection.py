from __future__ import annotations

from typing import NoReturn

import pytest

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.errors import Offline, Unreachable
from sprocketmq.client.options import ClientOptions


def test_a_nameserver_that_cannot_be_reached_is_named_once() -> None:
    with BlockingCluster(ClientOptions.of("127.0.0.1:1"), retries=0) as cluster, pytest.raises(Offline) as caught:
        cluster.route("orders")
    assert str(caught.value).count("127.0.0.1:1") == 1
    assert "nameserver 127.0.0.1:1 cannot be reached: " in str(caught.value)


def test_nameservers_that_are_away_are_insisted_on_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for a route insists as well, and each of its tries would wait for all of theirs."""
    tries: list[str] = []

    def connect(_cluster: BlockingCluster, address: str) -> NoReturn:
        tries.append(address)
        raise Unreachable(address, "refused")

    monkeypatch.setattr(BlockingCluster, "connection", connect)
    with BlockingCluster(ClientOptions.of("127.0.0.1:1"), retries=2, pause=0) as cluster:
        with pytest.raises(Offline, match=r"nameserver 127\.0\.0\.1:1 cannot be reached: refused"):
            cluster.insist(lambda: cluster.route("orders"))
        assert len(tries) == 3
