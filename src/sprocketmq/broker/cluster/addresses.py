"""The addresses a broker gives out: what clients are told, and what its records and message ids carry."""

from __future__ import annotations

import ipaddress
import socket

from sprocketmq.errors import ConfigError
from sprocketmq.protocol.record.hosts import encode_host


def own_address() -> str:
    """This machine's address towards the others; loopback when it has no other."""
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:  # connecting a datagram socket sends nothing
                probe.connect((target, 9))
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return "127.0.0.1"


def packed_host(host: str, port: int) -> bytes:
    """`host` and port as records hold them; a name is looked up."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        try:
            host = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]  # type: ignore[assignment]
        except OSError as error:
            raise ConfigError(f"brokerIP1={host!r}: {error.strerror}") from None
    return encode_host(host, port)
