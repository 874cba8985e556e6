"""The PROXY protocol: a proxy that is trusted (`proxyProtocolFrom`) says first whom it brings.

    v1    PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT \\r\\n      or  PROXY UNKNOWN ... \\r\\n
    v2    signature:12  version_command:u8  family:u8  length:u16  addresses ...

A peer of such an address must begin so; what it says is who the connection counts as, never "this machine". Any other
peer is taken for what it is, and a header of his is no frame. The specification is HAProxy's, doc/proxy-protocol.txt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import ip_address
from typing import Protocol, cast

from sprocketmq.logs import Events
from sprocketmq.remoting.allowed_peers import Networks
from sprocketmq.remoting.peer import Peer, peer_of

events = Events("sprocketmq.remoting.proxy")

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
HEADER_SECONDS = 10.0
_MAX_V1 = 107
_MAX_V2 = 4096
_PROXY, _LOCAL = 1, 0
_ADDRESS_BYTES = {0x11: 4, 0x21: 16}

#: Makes the protocol of a connection that counts as this peer; None is whoever the socket says.
Factory = Callable[[Peer | None], asyncio.Protocol]


class Gates(Protocol):
    """Counts connections of which nobody knows yet whose they are."""

    unnamed: int

    def has_room_for_unnamed(self) -> bool: ...


class BadHeader(Exception):
    pass


class ProxyGate(asyncio.Protocol):
    """Stands before a connection until it is known who comes; then the connection has the transport to itself."""

    def __init__(self, make: Factory, proxies: Networks, gates: Gates) -> None:
        self._make = make
        self._proxies = proxies
        self._gates = gates
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if _socket_peer(self._transport).host not in self._proxies:
            self._hand_over(None)
            return
        if not self._gates.has_room_for_unnamed():
            self._refuse("too many have not said whom they bring")
            return
        self._gates.unnamed += 1
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HEADER_SECONDS, self._refuse, "no PROXY header came in time")

    def data_received(self, data: bytes) -> None:
        self._data += data
        try:
            found = read_header(self._data)
        except BadHeader as bad:
            self._refuse(str(bad))
            return
        if found is not None and self._transport is not None:
            size, named = found
            rest = self._data[size:]
            connection = self._hand_over(named or _far(_socket_peer(self._transport)))
            if rest:
                connection.data_received(rest)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._gates.unnamed -= 1

    def _hand_over(self, peer: Peer | None) -> asyncio.Protocol:
        self._leave()
        assert self._transport is not None
        connection = self._make(peer)
        self._transport.set_protocol(connection)
        connection.connection_made(self._transport)
        return connection

    def _refuse(self, reason: str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            events.warning("proxy refused", reason=reason, peer=_socket_peer(self._transport))
            self._transport.abort()


def read_header(data: bytes) -> tuple[int, Peer | None] | None:
    """How long the header is and whom it names; None while it is not whole. It names nobody for a health check."""
    if data[:1] == SIGNATURE[:1]:
        return _read_v2(data)
    line, end, _ = data.partition(b"\r\n")
    if not b"PROXY ".startswith(data[:6]) or len(line) > _MAX_V1 - 2:
        raise BadHeader("it does not begin with a PROXY header")
    return (len(line) + 2, _read_v1(line)) if end else None


def _read_v1(line: bytes) -> Peer | None:
    try:
        words = line.decode("ascii").split(" ")
        if words[1] == "UNKNOWN":
            return None
        _, family, source, _, port, _ = words
        peer = _peer(source, int(port))
    except (ValueError, IndexError):
        raise BadHeader("a PROXY header that cannot be read") from None
    if family not in ("TCP4", "TCP6"):
        raise BadHeader("a PROXY header of another protocol")
    return peer


def _read_v2(data: bytes) -> tuple[int, Peer | None] | None:
    if not SIGNATURE.startswith(data[:12]):
        raise BadHeader("it does not begin with a PROXY header")
    if len(data) < 16:
        return None
    size = 16 + int.from_bytes(data[14:16], "big")
    if data[12] >> 4 != 2 or data[12] & 15 not in (_LOCAL, _PROXY) or size > _MAX_V2:
        raise BadHeader("a PROXY header that cannot be read")
    if len(data) < size:
        return None
    if data[12] & 15 == _LOCAL or data[13] not in _ADDRESS_BYTES:
        return size, None
    width = _ADDRESS_BYTES[data[13]]
    if size < 16 + 2 * width + 4:
        raise BadHeader("a PROXY header that is too short")
    port = int.from_bytes(data[16 + 2 * width : 18 + 2 * width], "big")
    return size, _peer(str(ip_address(data[16 : 16 + width])), port)


def _peer(host: str, port: int) -> Peer:
    if not 0 <= port < 1 << 16:
        raise ValueError(port)
    return _far(peer_of((host, port)))


def _far(peer: Peer) -> Peer:
    """Whoever comes through a proxy is not this machine."""
    return Peer(peer.host, peer.port, peer.packed, is_local=False)


def _socket_peer(transport: asyncio.Transport) -> Peer:
    return peer_of(transport.get_extra_info("peername"))
