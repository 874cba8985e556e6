"""Which Host headers are ours."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from sprocketmq.dashboard.web.hosts import KnownHosts

HOSTS = KnownHosts(PlainTextResponse("here"), ("console.shop.example",))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8080", "127.0.0.1", "[::1]:8080", "[::1]", "localhost:8080", "10.1.2.3", "Console.Shop.Example:80"],
)
def test_addresses_and_our_own_names_are_known(host: str) -> None:
    assert HOSTS.is_known(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example:8080", "localhost.evil.example", "[evil]:1"]
)
def test_other_names_are_not(host: str) -> None:
    assert not HOSTS.is_known(host)
