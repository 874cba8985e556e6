"""Masters that hang: the system of their machine takes what is sent, and nothing comes back.

A send waits for its answer until its deadline. Where a broker has slaves, another is the master long before that. So
while sends wait where nothing comes, nameservers are asked. A broker that still is the master may only be slow, and is
waited for. One that is in no route any more is not: its connection is given up, and who waited there tries again, as
after any connection that is lost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sprocketmq.client.cluster.route import MASTER, Route

if TYPE_CHECKING:
    from sprocketmq.client.cluster.instance import ClientInstance
    from sprocketmq.remoting.connection import Connection

_SILENT_S = 0.5
#: Between two questions; one that stays silent is not being replaced, and is asked about less often.
_PAUSE_S, _LONG_PAUSE_S, _LONG_S = 0.2, 2.0, 10.0


class SilentMasters:
    """Those of one client."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance
        self._asking = False

    def look(self) -> bool:
        """Whether sends wait anywhere; where they wait in silence somebody asks, until they do not."""
        waiting = [silence for each in self._connections().values() if (silence := each.silent_for()) > 0]
        if not self._asking and max(waiting, default=0.0) >= _SILENT_S:
            self._asking = True
            self._instance.tasks.spawn(self._ask(), "silent masters")
        return bool(waiting)

    def _connections(self) -> dict[str, Connection]:
        return self._instance.transport.all_connected()

    async def _ask(self) -> None:
        try:
            while silent := self._replaceable():
                await self._refresh(silent)
                known = {address for ids in self._instance.routes.brokers().values() for address in ids.values()}
                for address in silent.keys() - known:
                    silent[address].give_up("another is the master now")
                longest = max(each.silent_for() for each in silent.values())
                await asyncio.sleep(_PAUSE_S if longest < _LONG_S else _LONG_PAUSE_S)
        finally:
            self._asking = False

    def _replaceable(self) -> dict[str, Connection]:
        """Where sends wait in silence: at masters that have slaves, and at who is in no route any more."""
        brokers = self._instance.routes.brokers().values()
        alone = {ids[MASTER] for ids in brokers if set(ids) == {MASTER}}
        return {
            address: each
            for address, each in self._connections().items()
            if address not in alone and each.silent_for() >= _SILENT_S
        }

    async def _refresh(self, silent: dict[str, Connection]) -> None:
        """One topic tells whether there is another master; then those of the others are asked for, too."""
        routes = self._instance.routes
        topics = [topic for topic in routes.topics if silent.keys() & _masters(routes.known(topic))]
        if topics and await self._instance.refresh_routes(topics[:1]):
            await self._instance.refresh_routes(topics[1:])


def _masters(route: Route | None) -> set[str]:
    return set() if route is None else {ids[MASTER] for ids in route.addresses.values() if MASTER in ids}
