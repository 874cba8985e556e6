"""Who may change things when there are no accounts: this machine, and the networks that `adminAllowFrom` lists."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.remoting.peer import Peer

if TYPE_CHECKING:
    from sprocketmq.protocol.command import Command
    from sprocketmq.remoting.connection import Connection
    from sprocketmq.remoting.handlers import Handler, Reply

events = Events("sprocketmq.remoting.access")


class AdminAccess:
    """`allow_from` is a list such as `10.0.0.0/8, 192.168.1.5`; `*` is everyone."""

    def __init__(self, allow_from: str = "") -> None:
        self._networks = tuple(_network(text) for text in allow_from.replace(";", ",").split(",") if text.strip())

    def allows(self, peer: Peer) -> bool:
        if peer.is_local:
            return True
        address = ip_address(peer.host)
        return any(network is None or address in network for network in self._networks)

    def check(self, connection: Connection, request: Command) -> None:
        """RequestRefused when the peer may not change things."""
        if not self.allows(connection.peer):
            events.warning("change refused", code=request.code, peer=connection.peer)
            remark = f"{connection.peer.host} may not change this server; its adminAllowFrom does not list it"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)

    def guard(self, handler: Handler) -> Handler:
        """`handler`, for those who are allowed."""

        def guarded(connection: Connection, request: Command) -> Reply:
            self.check(connection, request)
            return handler(connection, request)

        return guarded


def _network(text: str) -> IPv4Network | IPv6Network | None:
    """None stands for every network."""
    if text.strip() == "*":
        return None
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(
            f"adminAllowFrom={text.strip()!r}: expected an address or a network such as 10.0.0.0/8"
        ) from None
