"""The transport: RocketMQ's remoting protocol over asyncio, the same `Connection` for servers and clients.

    server        listening sockets
    client        calls, over one connection per address
    connection    one connection: its life, its calls and their answers
    traffic       what its bytes go through: frames, handlers, answers
    handlers      request code to handler, and errors to answers
    turns         long work and many requests share the event loop
    limits        every bound on what a peer may hold or ask
    tls           encrypted connections

Names are imported when they are first used: a client does not pay for the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from sprocketmq.remoting.client import RemotingClient as RemotingClient
    from sprocketmq.remoting.connection import Connection as Connection
    from sprocketmq.remoting.handlers import Handler as Handler
    from sprocketmq.remoting.handlers import ProcessorTable as ProcessorTable
    from sprocketmq.remoting.handlers import Reply as Reply
    from sprocketmq.remoting.handlers import SlowHandler as SlowHandler
    from sprocketmq.remoting.handlers import Steps as Steps
    from sprocketmq.remoting.limits import Limits as Limits
    from sprocketmq.remoting.peer import Peer as Peer
    from sprocketmq.remoting.server import RemotingServer as RemotingServer
    from sprocketmq.remoting.turns import each as each

_HOMES = {
    "sprocketmq.remoting.client": ("RemotingClient",),
    "sprocketmq.remoting.connection": ("Connection",),
    "sprocketmq.remoting.handlers": ("Handler", "ProcessorTable", "Reply", "SlowHandler", "Steps"),
    "sprocketmq.remoting.limits": ("Limits",),
    "sprocketmq.remoting.peer": ("Peer",),
    "sprocketmq.remoting.server": ("RemotingServer",),
    "sprocketmq.remoting.turns": ("each",),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
