"""The first byte of a connection says whether it begins with TLS: a handshake begins with 0x16, and no frame does, for
that would be one of 369 million bytes.

    mode        0x16            anything else
    disabled    is no frame     plain               every byte goes straight to the connection
    permissive  TLS             plain
    enforcing   TLS             closed

The connection is counted, and may be refused, from accept on. Once it is known what is spoken, this protocol is out of
the way: of plain frames, only the first read pays for the question.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from sprocketmq.remoting.tls.config import TlsMode
from sprocketmq.remoting.tls.names import certificate_name, reason_of

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection
    from sprocketmq.remoting.tls.layer import TlsTransport
    from sprocketmq.remoting.tls.service import ServerTls

HANDSHAKE = 0x16


class Opening(asyncio.Protocol):
    def __init__(self, connection: Connection, tls: ServerTls) -> None:
        self._connection = connection
        self._tls = tls
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connection.connection_made(transport)
        if self._tls.mode is TlsMode.enforcing:
            self._connection.begin_handshake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if data[0] == HANDSHAKE:
            self._connection.begin_tls(self._tls.context, self._opened, data=data)
        elif self._tls.mode is TlsMode.enforcing:
            self._connection.refuse("a plain frame where TLS is enforced")
        else:
            self._transport.set_protocol(self._connection)
            self._connection.data_received(data)

    def _opened(self, transport: TlsTransport, failure: Exception | None) -> None:
        if failure is None:
            self._connection.end_handshake(transport, certificate_name(transport.tls))
        else:
            self._connection.refuse(f"TLS handshake: {reason_of(failure)}")
