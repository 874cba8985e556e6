"""Listening sockets whose connections share one processor table."""

from __future__ import annotations

import asyncio

from sprocketmq.remoting.allowed_peers import Networks
from sprocketmq.remoting.connection import Connection
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.handlers import ProcessorTable
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.peer import Peer, format_address
from sprocketmq.remoting.proxy_protocol import ProxyGate
from sprocketmq.remoting.tls.first_byte import Opening
from sprocketmq.remoting.tls.service import ServerTls

_BACKLOG = 1024


class RemotingServer:
    """Port 0 takes a free one; `port` tells which, once the server has started.

    `proxies` are those whose connections begin with a PROXY header.
    """

    def __init__(
        self,
        handlers: ProcessorTable,
        host: str = "0.0.0.0",
        port: int = 0,
        limits: Limits | None = None,
        tls: ServerTls | None = None,
        proxies: Networks | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.connections = ConnectionRegistry(limits or Limits())
        #: Files that others of this process need, of those that it may open; None leaves them a quarter.
        self.other_files: int | None = None
        self._handlers = handlers
        self._proxies = proxies
        self._tls = tls
        self._servers: list[asyncio.Server] = []

    @property
    def address(self) -> str:
        return format_address(self.host, self.port)

    async def start(self) -> None:
        self.port = await self._listen(self.port)
        self.connections.fit_to_process(self.other_files)
        self.connections.start()

    async def listen_also(self, port: int) -> None:
        """Serve the same on a second port. Raises OSError when it is taken."""
        await self._listen(port)

    async def _listen(self, port: int) -> int:
        server = await asyncio.get_running_loop().create_server(
            self._accept, self.host, port, backlog=_BACKLOG, reuse_address=True
        )
        self._servers.append(server)
        listening: int = server.sockets[0].getsockname()[1]
        return listening

    def stop_accepting(self) -> None:
        """Take no new connection; those that are there go on."""
        while self._servers:
            self._servers.pop().close()

    async def stop(self, grace: float = 3.0) -> None:
        """Accept nothing more, answer what is in flight within `grace` seconds, close.

        Whoever keeps parked requests (long polls) answers them before, or they are waited for.
        """
        self.stop_accepting()
        await self.connections.close(grace)
        self.connections.stop()

    def _accept(self) -> asyncio.Protocol:
        return ProxyGate(self._connection, self._proxies, self.connections) if self._proxies else self._connection()

    def _connection(self, peer: Peer | None = None) -> asyncio.Protocol:
        connection = Connection(self._handlers, self.connections, peer=peer)
        return connection if self._tls is None else Opening(connection, self._tls)
