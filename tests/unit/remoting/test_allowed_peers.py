from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from sprocketmq.errors import ConfigError
from sprocketmq.remoting import allowed_peers
from sprocketmq.remoting.allowed_peers import AllowedPeers, Networks
from sprocketmq.remoting.peer import peer_of


@pytest.mark.parametrize(
    ("allow_from", "host", "allowed"),
    [
        ("", "127.0.0.1", True),
        ("", "::1", True),
        ("", "192.0.2.1", False),
        ("192.0.2.0/24", "192.0.2.1", True),
        ("192.0.2.0/24", "192.0.3.1", False),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "192.0.2.77", True),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "fd00::5", True),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "10.0.0.2", False),
        ("*", "203.0.113.9", True),
    ],
)
def test_who_may_change_things(allow_from: str, host: str, allowed: bool) -> None:
    assert AllowedPeers(Networks("adminAllowFrom", allow_from)).allows(peer_of((host, 1))) is allowed


def test_a_list_that_is_none() -> None:
    with pytest.raises(ConfigError, match="adminAllowFrom='everyone'"):
        Networks("adminAllowFrom", "everyone")


def test_this_machine_is_one_of_many_behind_a_local_proxy() -> None:
    local = peer_of(("127.0.0.1", 1))
    assert not AllowedPeers(Networks("adminAllowFrom", ""), local=False).allows(local)
    assert AllowedPeers(Networks("adminAllowFrom", "127.0.0.1"), local=False).allows(local)


def test_any_of_several_lists_is_enough() -> None:
    access = AllowedPeers(Networks("adminAllowFrom", "192.0.2.1"), Networks("brokerAllowFrom", "192.0.2.2"))
    assert [access.allows(peer_of((f"192.0.2.{last}", 1))) for last in (1, 2, 3)] == [True, True, False]


def test_an_address_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not is asked about with each request that it makes."""
    asked: list[str] = []

    def counted(host: str) -> IPv4Address | IPv6Address:
        asked.append(host)
        return ip_address(host)

    monkeypatch.setattr(allowed_peers, "ip_address", counted)
    access = AllowedPeers(Networks("adminAllowFrom", "192.0.2.0/24"))
    stranger, friend = peer_of(("203.0.113.9", 1)), peer_of(("192.0.2.1", 1))
    for _ in range(10):
        assert not access.allows(stranger)
        assert access.allows(friend)
    assert asked == ["203.0.113.9", "192.0.2.1"]
