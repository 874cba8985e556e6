"""Consumer groups: the list, one of them, and one of its members."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sprocketmq.client.admin.core import if_known
from sprocketmq.dashboard.cluster import groups
from sprocketmq.dashboard.cluster.view import known
from sprocketmq.dashboard.draw.lines import lines
from sprocketmq.dashboard.pages.overview import masked
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.paging import page_of
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.message_queue import MessageQueue

_OWNERS_S = 5.0


async def listing(visit: Visit) -> Response:
    by = "lag" if visit.query("by") == "lag" else ""
    names = await (groups.by_lag(visit.view) if by else groups.names(visit.view))
    page = page_of(names, visit.query("q"), visit.query("page", "1"), by=by)
    return visit.render("groups.html", page=page, rows=await groups.rows(visit.view, list(page.items)))


async def group(visit: Visit) -> Response:
    name = visit.path("group")
    shown = await _figures(visit, name)
    config = await if_known(visit.view.admin.groups.config(name))
    if config is None and not shown["figures"].topics and not shown["figures"].members.connection_set:
        raise PageNotThere(f"No broker knows a group {name}.")
    return visit.render("group.html", config=config or {}, **shown)


async def live(visit: Visit) -> Response:
    name = visit.path("group")

    async def part() -> str:
        return visit.text("group_live.html", **await _figures(visit, name))

    return visit.stream(part)


async def _figures(visit: Visit, name: str) -> dict[str, Any]:
    view = visit.view
    found = await groups.figures(view, name)
    return {
        "group": name,
        "figures": found,
        "arriving": await groups.rate_in(view, name, found),
        "owners": await _owners(visit, name) if found.members.connection_set else {},
        "lag_chart": lines(view.history.series(("lag", name)), f"Lag of {name}"),
        "rate_chart": lines(
            view.history.series(("rate", name)),
            f"Messages per second into the topics of {name}, and consumed by it",
            "/s",
        ),
    }


async def _owners(visit: Visit, name: str) -> dict[MessageQueue, str]:
    """Which member has which queue; nothing when one of them does not tell."""
    owners = visit.view.admin.groups.owners
    found = await visit.view.snapshots.get(("owners", name), _OWNERS_S, lambda: known(owners(name)))
    return {} if isinstance(found, SprocketError) else found


async def member(visit: Visit) -> Response:
    """One consumer: what it has, how fast it is, and where its threads are."""
    name, client = visit.path("group"), visit.path("client")
    info = await visit.view.admin.groups.running_info(name, client, stacks=visit.query("stacks") == "1")
    return visit.render(
        "member.html",
        group=name,
        client=client,
        info=info,
        properties={key: masked(key, value) for key, value in sorted(info.properties.items())},
        stacks=visit.query("stacks") == "1",
    )


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/groups", listing),
    ("GET", "/groups/{group}", group),
    ("GET", "/groups/{group}/members/{client:path}", member),  # a client names itself as it likes, with slashes too
    ("GET", "/live/groups/{group}", live),
]
