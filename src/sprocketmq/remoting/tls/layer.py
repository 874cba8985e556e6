"""TLS between a transport and a connection: ciphertext below, plain frames above.

Ours instead of the loop's. A server looks at the first byte before it knows whether TLS is spoken, and no loop takes
back a byte that was read. A handshake is a connection from its first byte on, counted and bounded as one. Nothing is
kept twice: what the peer has not read lies in the transport below, with the bounds of a plain connection.

A record is decrypted when it is whole, all that came in one read are handed up together, and what is written in one go
leaves in one write. There is no renegotiation (TLS 1.3 has none, and for 1.2 it is off), so that reads never wait for
writes nor the other way round.

To shake hands takes a server more time than most requests, and so do records that bring no frame: new keys, as often as
a peer likes, ten thousand in one read. So both wait for a turn of the loop, and are charged to the address that they
came from (costs.py), a handshake when no request has followed it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from sprocketmq.remoting.tls.names import reason_of

#: A record holds at most so much.
_RECORD = 16 * 1024
#: What is decrypted between two looks at the clock; and behind records that took long and brought no frame: a
#: millisecond of the smallest that there are.
_PIECE, _SMALL_PIECE = 16 * 1024, 1024
#: What takes longer, and is next to no frame, waits for a turn: several times what a piece of a large frame takes.
SHARE_NS = 75_000


class AwaitTurn(Protocol):
    """Calls `go_on` in a later turn of the loop, when the peer has earned `cost_ns`."""

    def __call__(self, go_on: Callable[[], object], cost_ns: int = 0) -> None: ...


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The protocol of the transport below, and the transport of the connection above.

    `on_open` is called when the handshake is done, with what went wrong or None; the connection gets data afterwards.
    `wait` is for peers that are not trusted; without it nothing waits.
    """

    def __init__(
        self, context: ssl.SSLContext, below: asyncio.Transport, protocol: asyncio.Protocol,
        on_open: OnOpen, *, server_name: str | None = None, wait: AwaitTurn | None = None,
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
        #: What the handshake has taken on this side.
        self.handshake_ns = 0
        self._wait = wait
        self._waits = False
        self._waiting = b""  # what was read and has not been looked at
        self._piece = _PIECE

    def begin(self, data: bytes = b"") -> None:
        """Take the place of the transport's protocol; `data` was read before."""
        self._below.set_protocol(self)
        if self._wait is None:
            self.data_received(data)
        else:
            self._waiting = data
            self._put_off()

    # -- from below -----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if self._waits:  # a loop may deliver one more read after the pause
            self._waiting += data
            return
        parts: list[bytes] = []
        at = self._piece
        has_ended = self._take(data[:at], parts)
        while at < len(data) and not (has_ended or self._closing or self._waits):
            begin, at = at, at + self._piece
            has_ended = self._take(data[begin:at], parts)
        self._waiting = data[at:]
        if parts:
            self._protocol.data_received(b"".join(parts))
        if self._outgoing.pending and not self._below.is_closing():  # answers of TLS itself, such as new keys
            self._below.write(self._outgoing.read())
        if has_ended:
            self.close()

    def _take(self, piece: bytes, parts: list[bytes]) -> bool:
        """Add the frames of it to `parts`; whether the peer has said that it ends."""
        before, is_open, has_ended = len(parts), self._on_open is None, False
        began = time.perf_counter_ns()
        self._incoming.write(piece)
        if is_open or self._shake_hands():
            has_ended = self._decrypt(parts)
        took = time.perf_counter_ns() - began
        if not is_open:
            self.handshake_ns += took
        elif took > SHARE_NS and self._wait is not None and 3 * sum(map(len, parts[before:])) < len(piece):
            self._piece = _SMALL_PIECE
            self._put_off(took)
        elif len(parts) > before:
            self._piece = _PIECE
        return has_ended

    def _put_off(self, cost_ns: int = 0) -> None:
        assert self._wait is not None
        self._waits = True
        self._wait(self._go_on, cost_ns)

    def _go_on(self) -> None:
        self._waits = False
        data, self._waiting = self._waiting, b""
        if data:
            self.data_received(data)

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

    def _decrypt(self, parts: list[bytes]) -> bool:
        """Add what can be read to `parts`; whether the peer has said that it ends."""
        try:
            while data := self.tls.read(_RECORD):
                parts.append(data)
                if not self._incoming.pending and not self.tls.pending():  # cheaper than to be told so by an exception
                    return False
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:  # an alert, or what came is not TLS any more
            self._failure = ConnectionResetError(reason_of(error))
        return True

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
