"""Our own files: the style, the script, the icon. They are named by their contents, so browsers may keep them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from sprocketmq.dashboard.console import STATIC, Console

_KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}


async def style(request: Request) -> Response:
    console: Console = request.app.state.console
    return Response(console.style, media_type="text/css", headers=_KEEP)


async def script(request: Request) -> Response:
    console: Console = request.app.state.console
    return Response(console.script, media_type="text/javascript", headers=_KEEP)


async def icon(_request: Request) -> Response:
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml", headers=_KEEP)


async def health(_request: Request) -> Response:
    """For whoever looks after the process; says nothing of the cluster and asks nothing of it."""
    return PlainTextResponse("ok\n")


ROUTES: list[BaseRoute] = [
    Route("/assets/console.css", style),
    Route("/assets/console.js", script),
    Route("/assets/icon.svg", icon),
    Route("/favicon.ico", icon),
    Route("/health", health),
]
