"""Topics: their names and kinds, and for those that are shown, what they hold."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Literal

from sprocketmq.client.admin.topics import TopicFigures
from sprocketmq.dashboard.cluster.view import ClusterView, known
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.names import is_dlq_topic, is_retry_topic, is_system_topic

Kind = Literal["yours", "retry", "dead", "system"]
KINDS: dict[Kind, str] = {"yours": "User", "retry": "Retry", "dead": "Dead letters", "system": "System"}

_NAMES_S = 5.0
_FIGURES_S = 1.5
_SOON_S = 0.1
_MOST_S = 120.0
#: So few that pages which come meanwhile hardly wait for it.
_COUNTED_AT_ONCE = 4


async def names(view: ClusterView) -> dict[Kind, list[str]]:
    return await view.snapshots.get("topics", _NAMES_S, lambda: _names(view))


async def _names(view: ClusterView) -> dict[Kind, list[str]]:
    cluster = await view.cluster()
    own = cluster.broker_addr_table.keys() | cluster.cluster_addr_table.keys()
    found: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    for name in await view.admin.topics.names(everything=True):
        found["system" if name in own else kind_of(name)].append(name)
    return found


def kind_of(name: str) -> Kind:
    if is_retry_topic(name):
        return "retry"
    if is_dlq_topic(name):
        return "dead"
    return "system" if is_system_topic(name) or name.endswith("_REPLY_TOPIC") else "yours"


async def figures(view: ClusterView, topic: str) -> TopicFigures:
    """Also notes the rate for the topic's chart."""
    found = await view.snapshots.get(("figures", topic), _FIGURES_S, lambda: view.admin.topics.figures(topic))
    view.history.note(("topic", topic), {"in": found.rate})
    return found


async def rows(view: ClusterView, topics: list[str]) -> dict[str, TopicFigures | SprocketError]:
    return await view.each(topics, lambda topic: figures(view, topic))


@dataclass(frozen=True, slots=True)
class SortedTopics:
    """`counted` of them have their place; the others come behind until they were asked for."""

    names: list[str]
    counted: int

    @property
    def is_complete(self) -> bool:
        return self.counted == len(self.names)


async def by_figure(view: ClusterView, kind: Kind, by: str) -> SortedTopics:
    """All of a kind, the one with the most first, as far as it is known soon: a page does not wait for thousands."""
    found, counts = (await names(view))[kind], view.topic_counts[kind]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SOON_S):
            await view.snapshots.get(("counts", kind), counts.fresh_s, lambda: _count(view, kind))
    return SortedTopics(counts.sort(found, by), counts.counted(found))


async def _count(view: ClusterView, kind: Kind) -> None:
    """Given up when a broker hangs; a topic that no broker tells of counts as an empty one."""
    found, counts = (await names(view))[kind], view.topic_counts[kind]

    async def one(topic: str) -> None:
        answer = await known(view.admin.topics.figures(topic))
        counts.note(topic, TopicFigures(0.0, {}) if isinstance(answer, SprocketError) else answer)

    counts.begin(found)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_MOST_S):
            await view.each(found, one, _COUNTED_AT_ONCE)
    counts.end()
