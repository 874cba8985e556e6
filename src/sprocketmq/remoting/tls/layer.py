"""TLS between a transport and a connection: ciphertext below, plain frames above.

Ours instead of the loop's. A server looks at the first byte before it knows whether TLS is spoken, and no loop takes
back a byte that was read. A handshake is a connection from its first byte on, counted and bounded as one. Nothing is
kept twice: what the peer has not read lies in the transport below, with the bounds of a plain connection.

A record is decrypted when it is whole, all that came in one read are handed up together, and what is written in one go
leaves in one write. There is no renegotiation (TLS 1.3 has none, and for 1.2 it is off), so that reads never wait for
writes nor the other way round.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable
from typing import Any, cast

from sprocketmq.remoting.tls.names import reason_of

#: A record holds at most so much.
_RECORD = 16 * 1024


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The protocol of the transport below, and the transport of the connection above.

    `on_open` is called when the handshake is done, with what went wrong or None; the connection gets data afterwards.
    """

    def __init__(
        self, context: ssl.SSLContext, below: asyncio.Transport, protocol: asyncio.Protocol,
        on_open: OnOpen, *, server_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        calling = server_name is not None
        self.tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=not calling, server_hostname=server_name
        )
        self._below = below
        self._protocol = protocol
        self._on_open: OnOpen | None = on_open
        self._closing = False
        self._failure: Exception | None = None

    def begin(self, data: bytes = b"") -> None:
        """Take the place of the transport's protocol; `data` was read before."""
        self._below.set_protocol(self)
        self.data_received(data)

    # -- from below -----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._incoming.write(data)
        if self._on_open is not None and not self._shake_hands():
            return
        plain, has_ended = self._decrypt()
        if plain:
            self._protocol.data_received(plain)
        if self._outgoing.pending:  # answers of TLS itself, such as new keys
            self._below.write(self._outgoing.read())
        if has_ended:
            self.close()

    def eof_received(self) -> None:
        return  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if self._on_open is not None:
            self._opened(exc or ConnectionResetError("the peer has ended it"))
        self._protocol.connection_lost(exc or self._failure)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def _shake_hands(self) -> bool:
        """Whether the handshake is done."""
        failure: Exception | None = None
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            self._below.write(self._outgoing.read())
            return False
        except ssl.SSLError as error:
            failure = error
            self._closing = True
        self._below.write(self._outgoing.read())  # when it failed, the alert that says so
        self._opened(failure)
        return failure is None

    def _opened(self, failure: Exception | None) -> None:
        callback, self._on_open = self._on_open, None
        if callback is not None:
            callback(self, failure)

    def _decrypt(self) -> tuple[bytes, bool]:
        """What can be read, and whether the peer has said that it ends."""
        parts: list[bytes] = []
        try:
            while True:
                parts.append(self.tls.read(_RECORD))
                if not parts[-1]:
                    return b"".join(parts), True
                if not self._incoming.pending and not self.tls.pending():  # cheaper than to be told so by an exception
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:  # an alert, or what came is not TLS any more
            self._failure = ConnectionResetError(reason_of(error))
            return b"".join(parts), True
        return b"".join(parts) if len(parts) != 1 else parts[0], False

    # -- from above -----------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._closing:
            self.tls.write(data)
            self._below.write(self._outgoing.read())

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        if not self._closing:
            for data in list_of_data:
                if data:
                    self.tls.write(data)
            self._below.write(self._outgoing.read())

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Who hears of what comes from now on."""
        self._protocol = cast(asyncio.Protocol, protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._say_goodbye()
        self._below.close()

    def abort(self) -> None:
        self._closing = True
        self._below.abort()

    def is_closing(self) -> bool:
        return self._closing or self._below.is_closing()

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.tls if name == "ssl_object" else self._below.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def _say_goodbye(self) -> None:
        """Announce the end, and do not wait for the peer's announcement: a frame says itself whether it is whole."""
        with contextlib.suppress(ssl.SSLError):
            self.tls.unwrap()
        if self._outgoing.pending and not self._below.is_closing():
            self._below.write(self._outgoing.read())


#: What is told when the handshake has ended.
OnOpen = Callable[[TlsTransport, Exception | None], None]
