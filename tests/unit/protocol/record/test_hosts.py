from __future__ import annotations

import pytest

from sprocketmq.errors import CommandError
from sprocketmq.protocol.record.hosts import decode_host, encode_host, host_text


@pytest.mark.parametrize(
    ("address", "raw"),
    [("127.0.0.1", "7f000001"), ("::1", "00" * 15 + "01"), ("2001:db8::7", "20010db8" + "00" * 11 + "07")],
)
def test_both_ways(address: str, raw: str) -> None:
    host = encode_host(address, 10911)
    assert host.hex() == raw + "00002a9f"
    assert decode_host(host) == (address, 10911)


def test_a_host_is_shown_with_its_port() -> None:
    assert host_text(encode_host("127.0.0.1", 10911)) == "127.0.0.1:10911"
    assert host_text(encode_host("::1", 10911)) == "[0:0:0:0:0:0:0:1]:10911"


@pytest.mark.parametrize("size", [0, 4, 7, 9, 19, 21])
def test_other_sizes_are_no_host(size: int) -> None:
    with pytest.raises(CommandError):
        decode_host(bytes(size))
