"""A bare peer for tests: a plain socket that speaks frames, and does wrong what a test wants done wrong."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame


class BarePeer:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._decoder = FrameDecoder()
        self._ready: list[Command] = []

    @classmethod
    async def connect(cls, port: int, receive_buffer: int | None = None, source: str = "127.0.0.1") -> BarePeer:
        sock = socket.socket()
        sock.bind((source, 0))
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        except OSError:
            sock.close()
            raise
        return cls(sock)

    async def write(self, *commands: Command) -> None:
        await self.write_bytes(b"".join(map(encode_frame, commands)))

    async def write_bytes(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def read(self) -> Command | None:
        """The next command, or None when the connection has ended."""
        while not self._ready:
            try:
                data = await asyncio.get_running_loop().sock_recv(self.sock, 65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self._ready = self._decoder.feed(data)
        return self._ready.pop(0)

    async def is_dropped(self) -> bool:
        return await self.read() is None

    def close(self) -> None:
        self.sock.close()


async def until(is_true: Callable[[], object]) -> None:
    """Let the loop turn until `is_true`; the test's own timeout is the bound."""
    while not is_true():  # noqa: ASYNC110 - the state belongs to the code under test, which has no event for it
        await asyncio.sleep(0)


async def turn(times: int) -> None:
    """Let the loop poll its sockets so many times."""
    for _ in range(times):
        await asyncio.sleep(0)
