"""Topics: the list, and one of them with its queues, its route, its configuration and its groups."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from sprocketmq.client.admin.core import if_known
from sprocketmq.client.cluster.route import Route
from sprocketmq.dashboard.cluster import topics
from sprocketmq.dashboard.cluster.brokers import settings
from sprocketmq.dashboard.cluster.topic_counts import SORTS
from sprocketmq.dashboard.draw.lines import lines
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.paging import page_of
from sprocketmq.dashboard.web.visit import Visit

PERMS = {0: "nothing", 2: "write", 4: "read", 6: "read and write"}


async def listing(visit: Visit) -> Response:
    return visit.render("topics.html", **await _listed(visit))


async def live_listing(visit: Visit) -> Response:
    """While the order is not complete."""

    async def part() -> str:
        return visit.text("topics_live.html", **await _listed(visit))

    return visit.stream(part)


async def _listed(visit: Visit) -> dict[str, Any]:
    view = visit.view
    kind: topics.Kind = next((each for each in topics.KINDS if each == visit.query("kind")), "yours")
    by = visit.query("by") if visit.query("by") in SORTS else ""
    names = await topics.names(view)
    found = await topics.by_figure(view, kind, by) if by else topics.SortedTopics(names[kind], len(names[kind]))
    page = page_of(found.names, visit.query("q"), visit.query("page", "1"), kind, by)
    return {
        "page": page,
        "sorted": found,
        "rows": await topics.rows(view, list(page.items)),
        "kinds": {each: (label, len(names[each])) for each, label in topics.KINDS.items()},
    }


async def topic(visit: Visit) -> Response:
    name = visit.path("topic")
    admin = visit.view.admin
    shown, route, config, consumers = await asyncio.gather(
        _figures(visit, name), admin.topics.route(name), if_known(admin.topics.config(name)),
        if_known(admin.topics.groups(name)),
    )  # fmt: skip
    return visit.render(
        "topic.html",
        topic=name,
        kind=topics.kind_of(name),
        route=route,
        config=config or {},
        perms=PERMS,
        groups=consumers,
        retention=await _retention(visit, route),
        **shown,
    )


async def live(visit: Visit) -> Response:
    name = visit.path("topic")

    async def part() -> str:
        return visit.text("topic_live.html", topic=name, **await _figures(visit, name))

    return visit.stream(part)


async def _figures(visit: Visit, name: str) -> dict[str, Any]:
    found = await topics.figures(visit.view, name)
    series = visit.view.history.series(("topic", name))
    return {"figures": found, "chart": lines(series, f"Messages per second into {name}", "/s")}


async def _retention(visit: Visit, route: Route) -> dict[str, str]:
    """For how many hours each of the topic's brokers keeps messages."""
    found = {}
    for name in sorted(route.addresses):
        address = route.master(name)
        config = await if_known(settings(visit.view, address)) if address else None
        if config is not None and config.get("fileReservedTime"):
            found[name] = config["fileReservedTime"]
    return found


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/topics", listing),
    ("GET", "/live/topics", live_listing),
    ("GET", "/topics/{topic}", topic),
    ("GET", "/live/topics/{topic}", live),
]
