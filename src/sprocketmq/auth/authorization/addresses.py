"""The addresses that a policy entry is limited to: single ones and CIDR blocks, IPv4 and IPv6.

As RocketMQ decides, but for one thing: a single address is compared by its value. RocketMQ compares its text, and a
peer with an IPv6 address has brackets in its text there, so that no entry that names one ever matches.
"""

from __future__ import annotations

import functools
import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_BITS = re.compile(r"[0-9]{1,3}")


@functools.lru_cache(maxsize=4096)
def parse_block(pattern: str) -> tuple[int, int] | None:
    """First and last address, as numbers, of what `pattern` names; None when it names nothing."""
    try:
        if "/" not in pattern:
            value = int(_unmapped(ip_address(pattern)))
            return value, value
        host, _, bits = pattern.partition("/")
        if not _BITS.fullmatch(bits):
            return None
        network = ip_network(f"{_plain(host)}/{bits}", strict=False)
        if (first := _parsed(host)).version != network.version:
            # RocketMQ counts the bits of an IPv4 address in IPv6 clothes as those of IPv4, which has but 32.
            network = ip_network((first, min(int(bits), 32)), strict=False)
    except ValueError:
        return None
    return int(network.network_address), int(network.broadcast_address)


def is_valid(pattern: str) -> bool:
    return parse_block(pattern) is not None


@functools.lru_cache(maxsize=4096)
def covers(pattern: str, address: str) -> bool:
    """Whether the peer at `address` is among those that `pattern` names."""
    block = parse_block(pattern)
    if block is None:
        return False
    try:
        return block[0] <= number(address) <= block[1]
    except ValueError:
        return False


def number(address: str) -> int:
    return int(_parsed(address))


def _parsed(address: str) -> IPv4Address | IPv6Address:
    """Of a peer, or of a block: there IPv6 may stand in brackets."""
    return _unmapped(ip_address(_plain(address)))


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address in IPv6 clothes is IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _plain(address: str) -> str:
    return address.removeprefix("[").removesuffix("]")
