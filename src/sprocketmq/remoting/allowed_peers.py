"""Who may do what ordinary clients may not, when there are no accounts: this machine, and networks that are listed.

    adminAllowFrom     change things, and read what shows secrets, addresses or other people's data
    brokerAllowFrom    register as a broker, and copy what a slave copies

"This machine" is whoever comes over loopback, or from the very address that it called. Behind a proxy on the same
machine (a sidecar, `ssh -L`, docker's) that is everybody: `adminAllowLocal=false` takes the right from it, so that
only the lists count, and `proxyProtocolFrom` has the proxy tell who its peers are.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.remoting.peer import Peer

if TYPE_CHECKING:
    from sprocketmq.protocol.command import Command
    from sprocketmq.remoting.connection import Connection
    from sprocketmq.remoting.handlers import Handler, Reply

#: Addresses that a list remembers the answer for.
_MAX_HOSTS = 1024


class Networks:
    """A list such as `10.0.0.0/8, 192.168.1.5`; `*` is everyone. `key` names the setting that holds it."""

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        self._networks = tuple(_network(key, part) for part in text.replace(";", ",").split(",") if part.strip())
        # Whoever may not is asked about again and again, and an address takes long to read.
        self._includes = lru_cache(_MAX_HOSTS)(self._look_up)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, host: str) -> bool:
        return self._includes(host)

    def _look_up(self, host: str) -> bool:
        address = ip_address(host)
        return any(network is None or address in network for network in self._networks)


class AllowedPeers:
    """The peers of `lists`, and this machine unless `local` is false."""

    def __init__(self, *lists: Networks, local: bool = True) -> None:
        self._lists = lists
        self._local = local
        self._keys = " and ".join(each.key for each in lists)
        self.refused = 0

    def allows(self, peer: Peer) -> bool:
        return (self._local and peer.is_local) or any(peer.host in each for each in self._lists)

    def check(self, connection: Connection, request: Command) -> None:
        """RequestRefused when the peer may not make this request."""
        if not self.allows(connection.peer):
            self.refused += 1
            remark = f"{connection.peer.host} may not ask this of this server: {self._keys} does not list it"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)

    def guard(self, handler: Handler) -> Handler:
        """`handler`, for those who are allowed."""

        def guarded(connection: Connection, request: Command) -> Reply:
            self.check(connection, request)
            return handler(connection, request)

        return guarded


def _network(key: str, text: str) -> IPv4Network | IPv6Network | None:
    """None stands for every network."""
    if text.strip() == "*":
        return None
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(f"{key}={text.strip()!r}: expected an address or a network such as 10.0.0.0/8") from None
