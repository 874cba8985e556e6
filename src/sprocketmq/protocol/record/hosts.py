"""A host as records and message ids hold it: 4 or 16 address bytes, then the port as an int32.

As text an IPv4 host is `1.2.3.4:5`, an IPv6 host `[2001:db8:0:0:0:0:0:1]:5`: all eight groups, as Java prints them.
"""

from __future__ import annotations

import ipaddress
import struct

from sprocketmq.errors import CommandError

IPV4_SIZE, IPV6_SIZE = 8, 20

_GROUPS = struct.Struct(">8H")


def encode_host(address: str, port: int) -> bytes:
    """`address` is numeric, IPv4 or IPv6 in any spelling, with brackets or without; not a name."""
    packed = ipaddress.ip_address(address.strip("[]").partition("%")[0]).packed
    return packed + port.to_bytes(4, "big", signed=True)


def decode_host(host: bytes) -> tuple[str, int]:
    if len(host) not in (IPV4_SIZE, IPV6_SIZE):
        raise CommandError(f"a host of {len(host)} bytes")
    return str(ipaddress.ip_address(host[:-4])), int.from_bytes(host[-4:], "big", signed=True)


def host_text(host: bytes) -> str:
    if len(host) == IPV6_SIZE:
        groups = ":".join([f"{group:x}" for group in _GROUPS.unpack_from(host)])
        return f"[{groups}]:{int.from_bytes(host[16:], 'big', signed=True)}"
    address, port = decode_host(host)
    return f"{address}:{port}"
