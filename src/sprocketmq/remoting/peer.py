"""Who is at the other end of a connection, in the forms that the protocol needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

_PORT = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Peer:
    host: str
    port: int
    #: Address (4 or 16 bytes) and port (i32), as the born host of a record.
    packed: bytes
    #: It is on this machine: over loopback, or from the very address that it called.
    is_local: bool

    def __str__(self) -> str:
        return format_address(self.host, self.port)


def peer_of(peer_name: Any, own_name: Any = None) -> Peer:
    """The peer behind what `getpeername` and `getsockname` say."""
    if not isinstance(peer_name, tuple):  # a connection that was reset before we asked has no name
        return UNKNOWN_PEER
    address, port = _address(peer_name[0]), peer_name[1]
    is_local = address.is_loopback or (isinstance(own_name, tuple) and _address(own_name[0]) == address)
    return Peer(str(address), port, address.packed + _PORT.pack(port), is_local)


def _address(text: str) -> IPv4Address | IPv6Address:
    """An IPv4 address that came in through an IPv6 socket is IPv4."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`; ValueError names what it cannot read."""
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"not an address: {address!r}, expected HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


UNKNOWN_PEER = Peer("0.0.0.0", 0, bytes(8), False)
