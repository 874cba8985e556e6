"""The overview: is all well, how much goes in and out, who is there, and who copies from whom. A page per broker."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from sprocketmq.client.admin.core import if_known
from sprocketmq.dashboard.cluster import groups, topics
from sprocketmq.dashboard.cluster.brokers import BrokerView, brokers, settings
from sprocketmq.dashboard.cluster.health import findings, line
from sprocketmq.dashboard.draw.lines import lines
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.visit import Visit

_SECRET = ("secret", "password", "passwd", "credential", "accesskey", "token")


async def overview(visit: Visit) -> Response:
    return visit.render("overview.html", **await _shown(visit))


async def live(visit: Visit) -> Response:
    async def part() -> str:
        return visit.text("overview_live.html", **await _shown(visit))

    return visit.stream(part)


async def _shown(visit: Visit) -> dict[str, Any]:
    view = visit.view
    found, names, group_names = await asyncio.gather(brokers(view), topics.names(view), if_known(groups.names(view)))
    lag = await if_known(groups.total_lag(view))  # last: while a broker counts it, other questions wait there
    masters = [broker for broker in found.all if broker.is_master]
    rate_in, rate_out = sum(each.status.rate_in for each in masters), sum(each.status.rate_out for each in found.all)
    view.history.note("overview", {"in": rate_in, "out": rate_out})
    faults = findings(found)
    colour, said = line(faults, len(found.all))
    disks = [broker.disk for broker in found.all if broker.disk is not None]
    return {
        "found": found,
        "faults": faults,
        "colour": colour,
        "health": said,
        "rate_in": rate_in,
        "rate_out": rate_out,
        "puts_today": sum(each.puts_today for each in masters),
        "gets_today": sum(each.gets_today for each in found.all),
        "topic_count": len(names["yours"]),
        "group_count": None if group_names is None else len(group_names),
        "letters": len(names["dead"]),
        "lag": lag,
        "disk": max(disks, default=None),
        "chart": lines(view.history.series("overview"), "Messages per second", "/s"),
    }


async def broker(visit: Visit) -> Response:
    """One broker: its figures, its settings without secrets, its producers."""
    found = await _broker(visit)
    address = found.status.address
    admin = visit.view.admin
    config, producers, replication = await asyncio.gather(
        if_known(settings(visit.view, address)),
        if_known(admin.brokers.producers(address)),
        if_known(admin.brokers.replication(address)),
    )
    return visit.render(
        "broker.html",
        broker=found,
        replication=replication,
        config=None if config is None else {key: masked(key, value) for key, value in sorted(config.items())},
        producers=None if producers is None else producers.data,
        runtime=sorted(found.status.runtime.items()),
    )


def masked(key: str, value: str) -> str:
    """A setting that may hold a secret is shown as being there, and no more."""
    return "••••••" if value and any(word in key.lower() for word in _SECRET) else value


async def _broker(visit: Visit) -> BrokerView:
    name, number = visit.path("name"), visit.path("id")
    for each in (await brokers(visit.view)).all:
        if each.status.name == name and str(each.status.id) == number:
            return each
    raise PageNotThere(f"There is no broker {name} with the id {number}.")


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/", overview),
    ("GET", "/live/overview", live),
    ("GET", "/brokers/{name}/{id}", broker),
]
