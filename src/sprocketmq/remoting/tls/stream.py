"""The same question of the first byte, for ports that speak no frames: the HA stream's.

Its protocol is any of asyncio's whose peer speaks first. It hears of a connection once that is known, and sees no
difference between the two kinds. Who may not come is turned away before: strangers take no place of those who may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from sprocketmq.logs import Events
from sprocketmq.remoting.peer import Peer, peer_of
from sprocketmq.remoting.tls.config import TlsMode
from sprocketmq.remoting.tls.first_byte import HANDSHAKE
from sprocketmq.remoting.tls.layer import TlsTransport
from sprocketmq.remoting.tls.names import reason_of

if TYPE_CHECKING:
    from sprocketmq.remoting.tls.service import ServerTls

events = Events("sprocketmq.remoting.tls")

#: For the first byte and the handshake.
OPENING_SECONDS = 10.0
#: Connections of one port that have not said enough yet; one more is closed.
MAX_OPENING = 64


#: Why a peer may not come; None when it may.
Refusal = Callable[[Peer], str | None]


def behind_tls(
    make: Callable[[], asyncio.Protocol], tls: ServerTls | None, refusal: Refusal
) -> Callable[[], asyncio.Protocol]:
    """A factory for `create_server`: what `make` gives, over TLS or plain, as the server's mode is.

    Without TLS what `make` gives asks itself who may come.
    """
    if tls is None:
        return make
    waiting: set[StreamOpening] = set()
    return lambda: StreamOpening(make(), tls, waiting, refusal)


class StreamOpening(asyncio.Protocol):
    def __init__(
        self, protocol: asyncio.Protocol, tls: ServerTls, waiting: set[StreamOpening], refusal: Refusal
    ) -> None:
        self._protocol = protocol
        self._tls = tls
        self._waiting = waiting
        self._refusal = refusal
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        reason = self._refusal(self._peer)
        if reason is None and len(self._waiting) >= MAX_OPENING:
            reason = f"{MAX_OPENING} others have not begun"
        if reason is not None:
            self._refuse(reason)
            return
        self._waiting.add(self)
        self._deadline = asyncio.get_running_loop().call_later(OPENING_SECONDS, self._refuse, "nothing came in time")

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if data[0] == HANDSHAKE:
            TlsTransport(self._tls.context, self._transport, self, self._opened).begin(data)
        elif self._tls.mode is TlsMode.enforcing:
            self._refuse("plain where TLS is enforced")
        else:
            self._done()
            self._transport.set_protocol(self._protocol)
            self._protocol.connection_made(self._transport)
            self._protocol.data_received(data)

    def _opened(self, transport: TlsTransport, failure: Exception | None) -> None:
        if failure is None:
            self._done()
            transport.set_protocol(self._protocol)
            self._protocol.connection_made(transport)
        elif self in self._waiting:
            self._refuse(f"TLS handshake: {reason_of(failure)}")

    def _refuse(self, reason: str) -> None:
        self._done()
        assert self._transport is not None
        events.info("connection refused", peer=self._peer, reason=reason)
        self._transport.close()

    @property
    def _peer(self) -> Peer:
        assert self._transport is not None
        return peer_of(self._transport.get_extra_info("peername"), self._transport.get_extra_info("sockname"))

    def _done(self) -> None:
        self._waiting.discard(self)
        if self._deadline is not None:
            self._deadline.cancel()
