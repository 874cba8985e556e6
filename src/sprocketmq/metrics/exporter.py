"""A small HTTP server for three pages that machines read:

GET /metrics    the figures, for Prometheus
GET /health     200 as long as the process answers: for a supervisor that starts the dead again
GET /ready      200 when it can do its work, else 503 and the reasons: for who sends it work
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from sprocketmq.logs import Events
from sprocketmq.remoting.config import MetricsExporter, ServerConfig

events = Events("sprocketmq.metrics.exporter")

_MAX_REQUEST_BYTES = 8192
_REQUEST_SECONDS = 5.0
_FIGURES = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


class Exporter:
    """`text` makes the page of figures, `unready` tells why the server cannot do its work: nothing when it can.

    Port 0 takes a free one. Above `metricsMaxConnections` one more is closed at once. A server whose settings say
    DISABLE has one that never listens.
    """

    def __init__(self, config: ServerConfig, text: Callable[[], str], unready: Callable[[], Sequence[str]]) -> None:
        self.host = config.metrics_prom_exporter_host or config.bind_address
        self.port = config.metrics_prom_exporter_port
        self.refused = 0
        self._disabled = config.metrics_exporter_type is MetricsExporter.DISABLE
        self._text = text
        self._unready = unready
        self._max_connections = config.metrics_max_connections
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. A port that is taken costs these pages, with a warning, and never the start of the server."""
        if self._disabled:
            return
        try:
            self._server = await asyncio.start_server(self._serve, self.host, self.port, limit=_MAX_REQUEST_BYTES)
        except OSError as error:
            events.warning("no metrics page", address=f"{self.host}:{self.port}", reason=error.strerror or error)
            return
        self.port = self._server.sockets[0].getsockname()[1]
        events.info("metrics ready", address=f"{self.host}:{self.port}")

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, in a task of its own. Whatever happens, nobody is left waiting."""
        try:
            task = asyncio.current_task()
            if len(self._serving) >= self._max_connections:
                self.refused += 1
            elif task is not None:
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass  # it was no HTTP, or nobody waits for the answer any more
        except Exception as error:  # noqa: BLE001 - the edge of the task: the next one who asks may be luckier
            events.error("no metrics for one who asked", error)
        finally:
            writer.transport.abort()  # a page that is not read in time would wait for its reader for ever

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_REQUEST_SECONDS):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(self._response(request))
            writer.close()
            await writer.wait_closed()

    def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method not in (b"GET", b"HEAD"):
            return _page("405 Method Not Allowed", "only GET\n", _TEXT)
        page = self._page_of(path)
        return page if method == b"GET" else page[: page.index(b"\r\n\r\n") + 4]

    def _page_of(self, path: bytes) -> bytes:
        if path == b"/metrics":
            return _page("200 OK", self._text(), _FIGURES)
        if path == b"/health":
            return _page("200 OK", json.dumps({"status": "up"}) + "\n", _JSON)
        if path == b"/ready":
            why = list(self._unready())
            text = json.dumps({"ready": not why, "why": why}) + "\n"
            return _page("503 Service Unavailable" if why else "200 OK", text, _JSON)
        return _page("404 Not Found", "the pages are /metrics, /health and /ready\n", _TEXT)


def _page(status: str, text: str, content_type: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Cache-Control: no-store\r\nConnection: close\r\n\r\n" + body
