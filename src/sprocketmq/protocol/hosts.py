"""A host as records and message ids hold it: 4 or 16 address bytes, then the port as an int32."""

from __future__ import annotations

import ipaddress

from sprocketmq.errors import CommandError

IPV4_SIZE, IPV6_SIZE = 8, 20


def encode_host(address: str, port: int) -> bytes:
    """`address` is numeric, IPv4 or IPv6."""
    return ipaddress.ip_address(address).packed + port.to_bytes(4, "big", signed=True)


def decode_host(host: bytes) -> tuple[str, int]:
    if len(host) not in (IPV4_SIZE, IPV6_SIZE):
        raise CommandError(f"a host of {len(host)} bytes")
    return str(ipaddress.ip_address(host[:-4])), int.from_bytes(host[-4:], "big", signed=True)


def host_text(host: bytes) -> str:
    """`127.0.0.1:10911` or `[::1]:10911`."""
    address, port = decode_host(host)
    return f"[{address}]:{port}" if len(host) == IPV6_SIZE else f"{address}:{port}"
