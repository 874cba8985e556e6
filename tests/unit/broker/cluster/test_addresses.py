from __future__ import annotations

import ipaddress

import pytest

from sprocketmq.broker.cluster.addresses import own_address, packed_host
from sprocketmq.errors import ConfigError


def test_there_is_always_an_address_to_tell() -> None:
    assert ipaddress.ip_address(own_address())


@pytest.mark.parametrize(
    ("host", "packed"),
    [
        ("10.0.0.7", bytes([10, 0, 0, 7])),
        ("::1", bytes(15) + b"\1"),
        ("[::1]", bytes(15) + b"\1"),
        ("localhost", bytes([127, 0, 0, 1])),
    ],
)
def test_hosts_as_records_hold_them(host: str, packed: bytes) -> None:
    found = packed_host(host, 10911)
    assert found[-4:] == (10911).to_bytes(4, "big")
    assert found[:-4] == packed or (host == "localhost" and ipaddress.ip_address(found[:-4]).is_loopback)


def test_a_name_that_nobody_knows_is_named() -> None:
    with pytest.raises(ConfigError, match=r"brokerIP1='no\.such\.host\.invalid'"):
        packed_host("no.such.host.invalid", 1)
