"""One request with all that belongs to it: who asks, what they may, the cluster as they see it, and ways to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sprocketmq.dashboard.cluster.view import known
from sprocketmq.dashboard.web.forms import WebForm, read_form, token_of
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.dashboard.cluster.view import ClusterView
    from sprocketmq.dashboard.console import Console

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "sprocket_theme"

_OVERSEES_S = 15.0


class ReadOnly(Exception):
    """A change that this console does not make for this visitor."""


class Visit:
    def __init__(self, request: Request, console: Console, view: ClusterView, account: str | None) -> None:
        self.request = request
        self.console = console
        self.view = view
        self.account = account

    @property
    def may_write(self) -> bool:
        """Those who signed in may ask for anything, and brokers decide; others only where the operator allowed it."""
        return self.account is not None or self.console.config.write

    async def oversees(self) -> bool:
        """Whether the visitor may see what is of all: records, runs and stores of this machine, which no broker guards.

        That is everyone where nobody signs in, else those to whom the brokers show their users.
        """
        if self.account is None:
            return True
        users = self.view.admin.accounts.users
        found = await self.view.snapshots.get("oversees", _OVERSEES_S, lambda: known(users()))
        return not isinstance(found, SprocketError)

    @property
    def peer(self) -> str:
        client = self.request.client
        return client.host if client is not None else "?"

    @property
    def here(self) -> str:
        """The page as the visitor asked for it: what is decoded once would be cut at a `#` or a `?` of a name."""
        path: bytes = self.request.scope["raw_path"]
        query: bytes = self.request.scope["query_string"]
        return (path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("ascii", "replace")

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default).strip()

    async def form(self) -> WebForm:
        """The form of a change: refused where nothing may be changed, and when no page of ours sent it."""
        form = await read_form(self.request)
        if not self.may_write:
            raise ReadOnly
        return form

    def render(self, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.text(template, **values), status)

    def text(self, template: str, /, **values: Any) -> str:
        return self.console.templates.get_template(template).render(**self._common(), **values)

    def stream(self, make: Callable[[], Awaitable[str]]) -> Response:
        """A part of the page that goes on by itself, as long as the visitor is signed in."""
        seat = self.request.session.get("seat")
        return self.console.live.stream(make, lambda: self.account is None or self.console.is_taken(seat))

    def see(self, url: str, said: str = "") -> Response:
        """After a change: another page, which begins with what was done."""
        if said:
            self.request.session["said"] = said
        return RedirectResponse(url, 303)

    def changed(self, action: str, target: str) -> None:
        """A change was made: noted, and what was known of the cluster is asked for anew."""
        self.console.audit.note(self.account or "-", self.peer, action, target)
        self.view.snapshots.forget()

    def refused(self, action: str, target: str, why: object) -> None:
        self.console.audit.note(self.account or "-", self.peer, action, target, f"refused: {why}")

    def _common(self) -> Mapping[str, Any]:
        theme = self.request.cookies.get(THEME_COOKIE, "auto")
        return {
            "token": token_of(self.request.session),
            "said": self.request.session.pop("said", ""),
            "theme": theme if theme in THEMES else "auto",
            "here": self.request.url.path,
            "back": self.here if self.request.method == "GET" else "/",
            "may_write": self.may_write,
            "account": self.account,
            "nameservers": ";".join(self.console.config.options.nameservers),
            "version": self.console.version,
            "style": self.console.style_hash,
        }
