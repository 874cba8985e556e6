"""Every JSON body, grouped by what it is about, and the codec that reads and writes them.

`bodies.stats` and the other groups are imported when they are first used, as are those of `headers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sprocketmq.protocol.bodies.codec import decode, encode, encode_pretty, encode_standard, from_tree, to_tree

if TYPE_CHECKING:
    from sprocketmq.protocol.bodies import cluster as cluster
    from sprocketmq.protocol.bodies import connections as connections
    from sprocketmq.protocol.bodies import group as group
    from sprocketmq.protocol.bodies import heartbeat as heartbeat
    from sprocketmq.protocol.bodies import offsets as offsets
    from sprocketmq.protocol.bodies import registration as registration
    from sprocketmq.protocol.bodies import route as route
    from sprocketmq.protocol.bodies import running_info as running_info
    from sprocketmq.protocol.bodies import stats as stats
    from sprocketmq.protocol.bodies import topic as topic

__all__ = ["decode", "encode", "encode_pretty", "encode_standard", "from_tree", "to_tree"]

_GROUPS = frozenset({
    "cluster", "connections", "group", "heartbeat", "offsets", "registration", "route", "running_info", "stats",
    "topic",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _GROUPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
