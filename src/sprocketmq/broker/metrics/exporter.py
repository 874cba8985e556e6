"""A small HTTP server for one page: `GET /metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.logs import Events

events = Events("sprocketmq.broker.exporter")

_MAX_REQUEST_BYTES = 8192
_REQUEST_SECONDS = 5.0
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """`text` makes the page; port 0 takes a free one."""

    def __init__(self, text: Callable[[], str], host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._text = text
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.host, self.port, limit=_MAX_REQUEST_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]
        events.info("metrics ready", address=f"{self.host}:{self.port}")

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass  # it was no HTTP, or nobody waits for the answer any more
        finally:
            writer.close()

    def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method != b"GET":
            return _page("405 Method Not Allowed", "only GET\n")
        if path != b"/metrics":
            return _page("404 Not Found", "the page is /metrics\n")
        return _page("200 OK", self._text())


def _page(status: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {_CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
