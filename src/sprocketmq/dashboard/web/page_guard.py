"""Who a request is from, and what becomes of one that fails: every page is behind this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sprocketmq.client.errors import InvalidMessage, InvalidName, NoBroker, NoRoute, Refused, TimedOut, Unreachable
from sprocketmq.codes import ResponseCode
from sprocketmq.dashboard.console import Console
from sprocketmq.dashboard.web.forms import BadForm, Forged
from sprocketmq.dashboard.web.visit import ReadOnly, Visit
from sprocketmq.errors import ConfigError, FilterError, SprocketError
from sprocketmq.logs import Events

Handler = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]

events = Events("sprocketmq.dashboard")

SIGN_IN = "/sign-in"
_NOT_THERE = (ResponseCode.NO_MESSAGE, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)


class PageNotThere(SprocketError):
    """Nothing in the cluster goes by that name."""


def page(handler: Handler, *, open_to_all: bool = False) -> Endpoint:
    """The endpoint of a page; `open_to_all` is for the pages that come before a sign-in."""

    async def endpoint(request: Request) -> Response:
        console: Console = request.app.state.console
        visit = Visit(request, console, console.open_view, None)
        try:
            found = await _admitted(visit, open_to_all)
            return await handler(visit) if found is None else found
        except Exception as error:  # noqa: BLE001
            return _failed(visit, error)

    return endpoint


async def _admitted(visit: Visit, open_to_all: bool) -> Response | None:
    """None when the visitor may see the page; their seat is taken then."""
    console = visit.console
    seat = console.seat(visit.request.session.get("seat"))
    if seat is not None:
        visit.view, visit.account = seat.view, seat.account
        return None
    if open_to_all:
        return None
    if await console.has_access_control():
        if visit.request.method != "GET":
            return RedirectResponse(SIGN_IN, 303)
        return RedirectResponse(f"{SIGN_IN}?next={quote(visit.here)}", 303)
    if not console.config.is_local:
        raise ConfigError("the cluster has no access control, so its console can only be used from its own machine")
    return None


def _failed(visit: Visit, error: Exception) -> HTMLResponse:
    status, said = verdict(error)
    if status == 500:
        events.error("page failed", error, path=visit.request.url.path)
    if visit.request.method == "POST" and status != 500:
        visit.refused(visit.request.url.path, "", said)
    return visit.render("error.html", status, status=status, text=said)


def verdict(error: Exception) -> tuple[int, str]:
    """The status of an answer that failed so, and what it says."""
    match error:
        case Forged():
            return (
                403,
                "This form does not carry the token of your session. Reload the page it came from and try again.",
            )
        case ReadOnly():
            return 403, "This console is read-only. Start it with --dashboard-write to allow changes."
        case ClientDisconnect():
            return 400, "The form did not arrive completely."
        case BadForm() | InvalidMessage() | InvalidName() | FilterError():
            return 400, str(error)
        case ConfigError():
            return 403, str(error)
        case PageNotThere():
            return 404, str(error)
        case NoRoute() if not isinstance(error, NoBroker):
            return 404, str(error)
        case Refused() if error.code in _NOT_THERE:
            return 404, error.remark or str(error)
        case Refused():
            return (403 if error.code == ResponseCode.NO_PERMISSION else 502), str(error)
        case Unreachable() | TimedOut() | NoBroker():
            return 503, str(error)
        case SprocketError():
            return 502, str(error)
    return 500, "Internal error in the console; see its log."
