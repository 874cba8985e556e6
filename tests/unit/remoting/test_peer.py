from __future__ import annotations

import pytest

from sprocketmq.remoting.peer import UNKNOWN_PEER, format_address, parse_address, peer_of


def test_peer_has_the_bytes_of_a_born_host() -> None:
    peer = peer_of(("127.0.0.1", 10911))
    assert str(peer) == "127.0.0.1:10911"
    assert peer.packed.hex() == "7f00000100002a9f"
    assert peer.is_local


def test_ipv6_peer() -> None:
    peer = peer_of(("fe80::1%eth0", 5, 0, 2))
    assert str(peer) == "[fe80::1]:5"
    assert len(peer.packed) == 20
    assert not peer.is_local


def test_mapped_ipv4_is_ipv4() -> None:
    assert peer_of(("::ffff:10.0.0.7", 1, 0, 0)) == peer_of(("10.0.0.7", 1))


def test_a_peer_that_calls_from_the_address_it_calls_is_local() -> None:
    assert peer_of(("192.0.2.7", 50000), ("192.0.2.7", 9876)).is_local
    assert peer_of(("::ffff:192.0.2.7", 50000, 0, 0), ("192.0.2.7", 9876)).is_local
    assert not peer_of(("192.0.2.8", 50000), ("192.0.2.7", 9876)).is_local


def test_connection_without_a_name() -> None:
    assert peer_of(None) is UNKNOWN_PEER


@pytest.mark.parametrize("address", ["broker-a:10911", "127.0.0.1:0", "[::1]:65535"])
def test_addresses_round_trip(address: str) -> None:
    assert format_address(*parse_address(address)) == address


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:port", "host:65536", "host:-1"])
def test_other_text_is_not_an_address(address: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        parse_address(address)
