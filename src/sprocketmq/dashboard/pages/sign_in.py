"""Signing in and out, and the choice of light or dark."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from sprocketmq.client.errors import Refused
from sprocketmq.dashboard.web.forms import read_form
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.visit import THEME_COOKIE, THEMES, Visit

_YEAR_S = 365 * 24 * 3600


async def sign_in(visit: Visit) -> Response:
    return visit.render("sign_in.html", next=_inside(visit.query("next")), wrong="", access_key="")


async def signed_in(visit: Visit) -> Response:
    form = await read_form(visit.request)
    access_key, secret_key = form.text("access_key"), form.raw("secret_key")
    try:
        seat = await visit.console.sign_in(access_key, secret_key)
    except Refused as error:
        visit.refused("sign in", access_key, error.remark)
        wrong = f"The broker does not let {access_key} in: {error.remark}"
        return visit.render("sign_in.html", 403, next=_inside(form.text("next")), wrong=wrong, access_key=access_key)
    visit.request.session.clear()  # nothing from before goes on: not the token either
    visit.request.session["seat"] = seat
    visit.console.audit.note(access_key, visit.peer, "sign in", access_key)
    return RedirectResponse(_inside(form.text("next")), 303)


async def sign_out(visit: Visit) -> Response:
    await read_form(visit.request)
    await visit.console.leave(visit.request.session.get("seat", ""))
    visit.request.session.clear()
    return RedirectResponse("/sign-in", 303)


async def theme(visit: Visit) -> Response:
    form = await read_form(visit.request)
    answer = RedirectResponse(_inside(form.text("next")), 303)
    chosen = form.text("theme")
    if chosen in THEMES:
        answer.set_cookie(THEME_COOKIE, chosen, max_age=_YEAR_S, samesite="lax", httponly=True)
    return answer


def _inside(path: str) -> str:
    """A path of ours; anything that could lead elsewhere is the first page."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and "\n" not in path and "\r" not in path
    return path if ours else "/"


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/sign-in", sign_in),
    ("POST", "/sign-in", signed_in),
    ("POST", "/sign-out", sign_out),
    ("POST", "/theme", theme),
]
