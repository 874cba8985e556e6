"""The application: its routes, and what every request passes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sprocketmq.dashboard.console import Console
from sprocketmq.dashboard.pages import (
    access,
    assets,
    dead_letters,
    group_changes,
    groups,
    jobs,
    messages,
    overview,
    pipeline,
    send,
    sign_in,
    store,
    topic_changes,
    topics,
    waiting,
)
from sprocketmq.dashboard.web.hosts import KnownHosts
from sprocketmq.dashboard.web.page_guard import PageNotThere, page
from sprocketmq.dashboard.web.safe_headers import SafeHeaders
from sprocketmq.dashboard.web.visit import Visit

_DAY_S = 24 * 3600
_PAGES = (
    overview, topics, topic_changes, messages, send, groups, group_changes, dead_letters, waiting, store, jobs,
    pipeline, access,
)  # fmt: skip


def make_app(console: Console) -> Starlette:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await console.start()
        try:
            yield
        finally:
            await console.stop()

    app = Starlette(
        routes=_routes(),
        middleware=[
            Middleware(SafeHeaders),
            Middleware(KnownHosts, names=console.config.host_names),
            Middleware(
                SessionMiddleware, secret_key=secrets.token_urlsafe(32), max_age=_DAY_S, same_site="lax",
                session_cookie=f"sprocket_console_{console.config.port}",
            ),
        ],
        exception_handlers={404: _nothing_there},
        lifespan=lifespan,
    )  # fmt: skip
    app.state.console = console
    return app


def _routes() -> list[BaseRoute]:
    routes: list[BaseRoute] = [*assets.ROUTES]
    routes += [
        Route(path, page(handler, open_to_all=True), methods=[method], name=handler.__name__)
        for method, path, handler in sign_in.ROUTES
    ]
    for module in _PAGES:
        routes += [Route(path, page(handler), methods=[method]) for method, path, handler in module.ROUTES]
    return routes


async def _nothing_there(request: Request, _error: Exception) -> Response:
    async def say(_visit: Visit) -> Response:
        raise PageNotThere(f"There is no page {request.url.path}.")

    return await page(say)(request)
