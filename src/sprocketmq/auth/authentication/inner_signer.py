"""What a server signs with when it asks other servers: `innerClientAuthenticationCredentials`.

Always with time, number and code, and only towards addresses that the configuration names, or has in its networks of
brokers. Any other that was learnt from a route may be a stranger's, who would have a super user's signed requests to
pass on.
"""

from __future__ import annotations

from collections.abc import Iterable

from sprocketmq.auth.config import Credential
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import RequestStamps, with_signature
from sprocketmq.remoting.allowed_peers import AllowedPeers
from sprocketmq.remoting.peer import parse_address, peer_of


class InnerSigner:
    """A hook of a RemotingClient."""

    def __init__(self, credential: Credential, addresses: Iterable[str]) -> None:
        self._credential = credential
        self._addresses = set(addresses)
        self._stamps = RequestStamps()

    def trust(self, address: str) -> None:
        """Sign towards this address as well: the configuration names it."""
        self._addresses.add(address)

    def learn(self, address: str, brokers: AllowedPeers) -> None:
        """Sign towards an address that a nameserver has told, where `brokers` allows it."""
        try:
            host, port = parse_address(address)
            if brokers.allows(peer_of((host, port))):
                self._addresses.add(address)
        except ValueError:  # a name instead of an address is in no network
            return

    def sign(self, address: str, command: Command) -> None:
        if self._credential and address in self._addresses:
            fields = self._stamps.stamped(command.ext_fields or {}, command.code)
            command.ext_fields = with_signature(
                fields, command.body, access_key=self._credential.name, secret_key=self._credential.secret
            )
