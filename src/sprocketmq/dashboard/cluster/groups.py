"""Consumer groups: their names, and for those that are shown, members, progress and lag."""

from __future__ import annotations

import asyncio
from collections import Counter

from sprocketmq.client.admin.groups import GroupFigures
from sprocketmq.dashboard.cluster import topics
from sprocketmq.dashboard.cluster.snapshots import fresh_after
from sprocketmq.dashboard.cluster.view import ClusterView, GroupLags
from sprocketmq.errors import SprocketError

_NAMES_S = 5.0
_FIGURES_S = 1.5
_LAG_S = 15.0
_SOON_S = 0.05


async def names(view: ClusterView) -> list[str]:
    return await view.snapshots.get("groups", _NAMES_S, view.admin.groups.names)


async def by_lag(view: ClusterView) -> list[str]:
    """All of them, the one with the most messages to consume first; those of equal lag by name."""
    found, told = await names(view), await _lags(view)
    return sorted(found, key=lambda name: (-told.by_group[name], name))


async def figures(view: ClusterView, group: str) -> GroupFigures:
    """Also notes the lag for the group's chart, where it is known."""
    found = await view.snapshots.get(("group", group), _FIGURES_S, lambda: view.admin.groups.figures(group))
    if found.lag is not None:
        view.history.note(("lag", group), {"lag": float(found.lag)})
    return found


async def rate_in(view: ClusterView, group: str, found: GroupFigures) -> float | None:
    """What comes into the group's topics a second, noted beside what goes out; None when none of them tells.

    A question for each topic: for the page of one group, not for a list of them.
    """
    answers = await topics.rows(view, found.topics)
    told = [answer.rate for answer in answers.values() if not isinstance(answer, SprocketError)]
    arriving = sum(told) if told else None
    view.history.note(("rate", group), {"in": arriving or 0.0, "out": found.progress.rate})
    return arriving


async def rows(view: ClusterView, groups: list[str]) -> dict[str, GroupFigures | SprocketError]:
    return await view.each(groups, lambda group: figures(view, group))


async def total_lag(view: ClusterView) -> int | None:
    """Of all groups; None when a broker does not tell, or not soon: the page does not wait for it."""
    try:
        async with asyncio.timeout(_SOON_S):
            told = await _lags(view)
    except TimeoutError:
        told = view.lags
    return told.by_group.total() if told.is_complete else None


async def _lags(view: ClusterView) -> GroupLags:
    """It costs a broker more than other questions, so that it is asked the less often the longer it took."""
    return await view.snapshots.get("lags", fresh_after(view.lags.took, _LAG_S), lambda: _ask_for_lags(view))


async def _ask_for_lags(view: ClusterView) -> GroupLags:
    loop = asyncio.get_running_loop()
    began = loop.time()
    answers = (await view.each((await view.masters()).values(), view.admin.brokers.lags)).values()
    told = [answer for answer in answers if not isinstance(answer, SprocketError)]
    by_group = sum(map(Counter, told), Counter[str]())
    view.lags = GroupLags(by_group, len(told) == len(answers), loop.time() - began)
    return view.lags
