"""A cluster for tests: nameserver and broker inside the test process, on free ports, in a temporary directory.

The pytest plugin offers it as the fixture `rocketmq`; `EmbeddedCluster` is the same without pytest, and `FaultyCluster`
one whose broker fails when a test wants it to. They are imported when they are first used: pytest loads the plugin in
every run, and a run that does not use it pays nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.testing.cluster import EmbeddedCluster as EmbeddedCluster
    from sprocketmq.testing.faulty_cluster import FaultyCluster as FaultyCluster

_HOMES = {"EmbeddedCluster": "sprocketmq.testing.cluster", "FaultyCluster": "sprocketmq.testing.faulty_cluster"}

__all__ = ["EmbeddedCluster", "FaultyCluster"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sprocketmq.extras import need_linux

    need_linux("a broker in the test process")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
