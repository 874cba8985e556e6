"""TLS: its settings, its contexts, the layer between transport and connection, and the question who speaks it.

Names are imported when they are first used: a client does not pay for the server's side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from sprocketmq.remoting.tls.config import ClientAuth as ClientAuth
    from sprocketmq.remoting.tls.config import TlsConfig as TlsConfig
    from sprocketmq.remoting.tls.config import TlsMode as TlsMode
    from sprocketmq.remoting.tls.contexts import KeyFiles as KeyFiles
    from sprocketmq.remoting.tls.contexts import client_context as client_context
    from sprocketmq.remoting.tls.contexts import server_context as server_context
    from sprocketmq.remoting.tls.service import ServerTls as ServerTls
    from sprocketmq.remoting.tls.service import TlsService as TlsService

_HOMES = {
    "sprocketmq.remoting.tls.config": ("ClientAuth", "TlsConfig", "TlsMode"),
    "sprocketmq.remoting.tls.contexts": ("KeyFiles", "client_context", "server_context"),
    "sprocketmq.remoting.tls.service": ("ServerTls", "TlsService"),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
