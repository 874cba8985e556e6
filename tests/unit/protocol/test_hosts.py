from __future__ import annotations

import pytest

from sprocketmq.errors import CommandError
from sprocketmq.protocol.hosts import encode_host, host_text, parse_host


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("7f000001 00002a9f", "127.0.0.1:10911"),
        ("c0a80114 0000c3cb", "192.168.1.20:50123"),
        ("20010db8000000000000000000000001 00002a9f", "[2001:db8:0:0:0:0:0:1]:10911"),
        ("00000000000000000000000000000001 00000001", "[0:0:0:0:0:0:0:1]:1"),
    ],
)
def test_both_ways(raw: str, text: str) -> None:
    assert host_text(bytes.fromhex(raw)) == text
    assert parse_host(text) == bytes.fromhex(raw)


def test_any_spelling_of_an_address_is_taken() -> None:
    assert encode_host("::1", 5) == encode_host("[0:0:0:0:0:0:0:1]", 5) == encode_host("::1%lo", 5)


def test_a_name_is_no_address() -> None:
    with pytest.raises(ValueError, match="localhost"):
        encode_host("localhost", 5)


def test_only_two_lengths_are_hosts() -> None:
    with pytest.raises(CommandError, match="host of 7 bytes"):
        host_text(bytes(7))
