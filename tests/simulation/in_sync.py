"""The real in-sync set of a master, over a simulated log and simulated links; and what a mistake makes of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.simulation.disk import LogDisk
from tests.simulation.flaws import Flaw

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.in_sync_set import InSyncSet

LATE_MS = 1200
_SETTINGS: Any = SimpleNamespace(
    current=SimpleNamespace(
        all_ack_in_sync_state_set=True, in_sync_replicas=1, slave_timeout=3000, ha_max_time_slave_not_catchup=LATE_MS
    )
)


class ReplicaLink(AutoSwitchLink):
    """A replica at its master: one connection, without a socket."""

    def __init__(self, number: int, peer: int, now: float) -> None:
        self.number, self.broker_id, self.caught_up_at = number, peer, now
        self.ack = self.began = -1
        self.learner = False
        self.next = 0

    def close(self, reason: str) -> None:
        """The set has dropped it; what it still says is not heard."""
        self.ack = -1


class SimulatedSet(InSyncSet):
    def __init__(
        self, disk: LogDisk, confirmed: Callable[[], int], now: Callable[[], float], flaw: Flaw | None
    ) -> None:
        self.disk, self.confirmed, self.flaw = disk, confirmed, flaw
        super().__init__(_SETTINGS, self, now)  # type: ignore[arg-type]

    # As a store has it.
    @property
    def log(self) -> LogDisk:
        return self.disk

    def disk_answers(self) -> bool:
        return not self.disk.failed or self.flaw is Flaw.ALONE_ON_BROKEN_DISK

    @property
    def readable(self) -> SimpleNamespace:
        return SimpleNamespace(confirm_offset=self.confirmed())

    @property
    def members(self) -> frozenset[int]:
        if self.flaw is Flaw.PROMISE_ALONE:
            return frozenset({self.broker_id})
        if self.flaw is Flaw.FORGET_REQUESTED:
            return self.known.union(self._joining)
        return super().members

    def _drop(self, links: list[AutoSwitchLink]) -> None:
        super()._drop(links)
        self.links = [link for link in self.links if link not in links]

    def _may_join(self, link: AutoSwitchLink, now: float) -> bool:
        return self.flaw is Flaw.JOIN_BEHIND or super()._may_join(link, now)
