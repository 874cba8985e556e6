"""Topics: their names and kinds, and for those that are shown, what they hold."""

from __future__ import annotations

from typing import Literal

from sprocketmq.client.admin.topics import TopicFigures
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.names import is_dlq_topic, is_retry_topic, is_system_topic

Kind = Literal["yours", "retry", "dead", "system"]
KINDS: dict[Kind, str] = {"yours": "User", "retry": "Retry", "dead": "Dead letters", "system": "System"}

_NAMES_S = 5.0
_FIGURES_S = 1.5


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
