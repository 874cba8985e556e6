"""The transport: RocketMQ's remoting protocol over asyncio, the same `Connection` for servers and clients."""

from sprocketmq.remoting.client import RemotingClient
from sprocketmq.remoting.connection import Connection
from sprocketmq.remoting.handlers import Handler, ProcessorTable, Reply, SlowHandler
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.peer import Peer
from sprocketmq.remoting.server import RemotingServer

__all__ = [
    "Connection",
    "Handler",
    "Limits",
    "Peer",
    "ProcessorTable",
    "RemotingClient",
    "RemotingServer",
    "Reply",
    "SlowHandler",
]
