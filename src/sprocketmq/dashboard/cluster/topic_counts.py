"""What every topic holds and gets, for a list that is sorted by it.

No broker tells this of all its topics in one answer, so each topic is asked for. Of thousands that takes seconds: the
list is sorted by what is known so far, and by what was known before while it is asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from sprocketmq.client.admin.topics import TopicFigures
from sprocketmq.dashboard.cluster.snapshots import fresh_after

_FRESH_S, _OLD_S = 15.0, 600.0

SORTS: dict[str, Callable[[TopicFigures], float]] = {
    "messages": lambda figures: figures.messages,
    "rate": lambda figures: figures.rate,
}


class TopicCounts:
    def __init__(self) -> None:
        self._known: dict[str, dict[str, float]] = {}
        self._began = self._took = 0.0

    @property
    def fresh_s(self) -> float:
        return min(fresh_after(self._took, _FRESH_S), _OLD_S)

    def begin(self, names: Iterable[str]) -> None:
        """What is not there any more is forgotten."""
        self._began = asyncio.get_running_loop().time()
        self._known = {name: self._known[name] for name in names if name in self._known}

    def note(self, topic: str, found: TopicFigures) -> None:
        self._known[topic] = {by: value(found) for by, value in SORTS.items()}

    def end(self) -> None:
        self._took = asyncio.get_running_loop().time() - self._began

    def sort(self, names: Sequence[str], by: str) -> list[str]:
        """The one with the most first; equal ones by name, and last those that were not asked yet."""
        return sorted(names, key=lambda name: (-self._known.get(name, {}).get(by, -1.0), name))

    def counted(self, names: Sequence[str]) -> int:
        return sum(name in self._known for name in names)
