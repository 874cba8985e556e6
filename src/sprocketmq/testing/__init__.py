"""A cluster for tests: nameserver and broker inside the test process, on free ports, in a temporary directory.

The pytest plugin offers it as the fixture `rocketmq`; `EmbeddedCluster` is the same without pytest. It is imported when
it is first used: pytest loads the plugin in every run, and a run that does not use it pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.testing.cluster import EmbeddedCluster as EmbeddedCluster

__all__ = ["EmbeddedCluster"]


def __getattr__(name: str) -> Any:
    if name != "EmbeddedCluster":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sprocketmq.testing.cluster import EmbeddedCluster

    return EmbeddedCluster
