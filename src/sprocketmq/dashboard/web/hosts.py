"""Only requests that name us are served.

A page of another site may have its own name resolved to this machine and then read our pages as its own ("DNS
rebinding"). Such a request names that site in its Host header. An address cannot be made to mean another machine, so
addresses are taken; names only when they are ours.
"""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class KnownHosts:
    def __init__(self, app: ASGIApp, names: tuple[str, ...] = ()) -> None:
        self._app = app
        self._names = frozenset({"localhost", *(name.lower() for name in names)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.is_known(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
            return
        said = "this console is not known by that host name; --dashboard-name adds one\n"
        await PlainTextResponse(said, 421)(scope, receive, send)

    def is_known(self, host: str) -> bool:
        name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.rsplit(":", 1)[0]
        return name.lower() in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
