"""TLS of a connection that this side has made."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from sprocketmq.remoting.tls.layer import TlsTransport
from sprocketmq.remoting.tls.names import certificate_name, reason_of

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection


class HandshakeFailed(ConnectionError):
    """The other side answers, but the two do not agree on TLS."""


async def secure(connection: Connection, context: ssl.SSLContext, host: str) -> None:
    """Shake hands over a connection that is new; an OSError says why that failed, and the connection is closed."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def opened(transport: TlsTransport, failure: Exception | None) -> None:
        if failure is None:
            connection.end_handshake(transport, certificate_name(transport.tls))
        if done.done():
            return
        if failure is None:
            done.set_result(None)
        else:
            disagree = isinstance(failure, ssl.SSLError) and not isinstance(failure, ssl.SSLEOFError)
            kind = HandshakeFailed if disagree else ConnectionError
            done.set_exception(kind(f"TLS handshake: {reason_of(failure)}"))

    connection.begin_tls(context, opened, server_name=host)
    try:
        await done
    except BaseException:
        connection.close()
        raise
