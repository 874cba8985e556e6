"""Serves a console until it is stopped: a service beside nameservers and brokers, in their kind of loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import uvicorn

from sprocketmq.dashboard.app import make_app
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console
from sprocketmq.dashboard.web.bounded_http import BoundedHttp

_BACKLOG = 128


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the business of whoever runs us."""
        yield


class DashboardServer:
    name = "dashboard"

    def __init__(self, config: ConsoleConfig) -> None:
        self._config = config
        self._socket: socket.socket | None = None
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.console: Console | None = None

    @property
    def port(self) -> int:
        assert self._socket is not None, "not started"
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        host = self._config.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def start(self) -> None:
        """Raises OSError when another program listens there."""
        family = socket.AF_INET6 if ":" in self._config.host else socket.AF_INET
        self._socket = socket.create_server((self._config.host, self._config.port), family=family, backlog=_BACKLOG)
        self.console = Console(self._config)
        self._server = _Server(
            uvicorn.Config(
                make_app(self.console), log_config=None, access_log=False, server_header=False, lifespan="on",
                timeout_graceful_shutdown=2, ws="none", http=BoundedHttp,
            )
        )  # fmt: skip
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            if self._serving.done():
                self._serving.result()
                raise OSError("the console did not start; its log says why")
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self._server is None or self._serving is None:
            return
        if self.console is not None:
            self.console.live.stop()
        self._server.should_exit = True
        await self._serving
        if self._socket is not None:
            self._socket.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.stop()
