"""Brokers that were here and are not any more: a nameserver forgets one at once, those who look should not.

A set is complete as long as it has as many members as it ever had; one that comes back at another address fills the
gap. What was lost longer ago than an hour was meant to go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from time import time

_REMEMBERED_S = 3600.0


@dataclass(frozen=True, slots=True)
class LostBroker:
    name: str
    address: str
    seconds: float
    #: Whether nobody of its set is left.
    was_last: bool


class LostBrokers:
    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._complete: dict[str, tuple[frozenset[str], float]] = {}
        self._clock = clock

    def note(self, here: Mapping[str, Set[str]]) -> list[LostBroker]:
        """Addresses by broker name as they are now; who is missing among those that were."""
        now = self._clock()
        for name, addresses in here.items():
            if len(addresses) >= len(self._complete.get(name, ((), 0.0))[0]):
                self._complete[name] = frozenset(addresses), now
        old = [name for name, (_, seen) in self._complete.items() if now - seen > _REMEMBERED_S]
        for name in old:
            del self._complete[name]
        return [
            LostBroker(name, address, now - seen, not here.get(name))
            for name, (addresses, seen) in sorted(self._complete.items())
            for address in sorted(addresses - here.get(name, frozenset()))
        ]
