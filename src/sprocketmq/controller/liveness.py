"""Who lives, by what brokers say to this controller. Each controller has a view of its own.

    heartbeat   904, each with the time after which its sender wants to be missed
    closed      a connection that ends makes suspects of the brokers that last spoke through it; whether they are gone
                is for the caller to find out. It is the broker that is judged and never the socket: one that has
                spoken through another connection since then is no suspect
    address     is part of who speaks: of two brokers with one id, say after a store was copied, only the one at the
                address that is registered counts
    lease       a master that was granted one counts as living until it is over, unless its connection closed

Clocks only decide how soon an election begins: that nothing promised is lost rests on epochs and the in-sync set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sprocketmq.controller.decisions import ReplicaStanding

Clock = Callable[[], float]

#: What RocketMQ takes when a broker names no time.
DEFAULT_TIMEOUT_MS = 10_000
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 100, 600_000
#: A longer lease is not granted. A controller that begins to lead waits so long for what its predecessor granted.
MAX_LEASE_MS = 5_000
#: Brokers that may be known at once; a stranger's heartbeat beyond that is not kept.
MAX_BROKERS = 10_000


class LiveIdentity(NamedTuple):
    cluster: str
    name: str
    broker_id: int
    address: str


@dataclass(slots=True)
class _Heard:
    session: object
    standing: ReplicaStanding
    confirm_offset: int
    silent_at: float
    leased_until: float = 0.0

    @property
    def missed_at(self) -> float:
        return max(self.silent_at, self.leased_until)


class Liveness:
    """`clock` counts seconds and never goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard: dict[LiveIdentity, _Heard] = {}
        #: Who lived and was lost, and whether its connection was seen to end.
        self._lost: dict[LiveIdentity, bool] = {}

    def __len__(self) -> int:
        return len(self._heard)

    def heartbeat(
        self,
        identity: LiveIdentity,
        session: object,
        *,
        timeout_ms: int | None = None,
        standing: ReplicaStanding | None = None,
        confirm_offset: int = -1,
    ) -> bool:
        """Whether the broker was not living before."""
        before = self._heard.get(identity)
        if before is None and len(self._heard) >= MAX_BROKERS:
            return False
        timeout = min(max(timeout_ms or DEFAULT_TIMEOUT_MS, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS) / 1000
        leased_until = 0.0 if before is None else before.leased_until
        self._heard[identity] = _Heard(
            session, standing or ReplicaStanding(), confirm_offset, self._clock() + timeout, leased_until
        )
        self._lost.pop(identity, None)
        return before is None

    def lives(self, identity: LiveIdentity) -> bool:
        heard = self._heard.get(identity)
        return heard is not None and self._clock() <= heard.missed_at

    def living(self, cluster: str, name: str, addresses: Mapping[int, str]) -> dict[int, ReplicaStanding]:
        """Those of these ids that live where they are registered, and what they said of themselves."""
        known = ((each, self._heard.get(LiveIdentity(cluster, name, each, at))) for each, at in addresses.items())
        now = self._clock()
        return {each: heard.standing for each, heard in known if heard is not None and now <= heard.missed_at}

    def confirm_offset(self, identity: LiveIdentity) -> int:
        return -1 if (heard := self._heard.get(identity)) is None else heard.confirm_offset

    def lease(self, identity: LiveIdentity, millis: int) -> bool:
        """Leave a living broker in its role for so long from now; whether that is granted. 0 ends a lease."""
        heard = self._heard.get(identity)
        if heard is None or not 0 <= millis <= MAX_LEASE_MS or not self.lives(identity):
            return False
        heard.leased_until = self._clock() + millis / 1000 if millis else 0.0
        return millis > 0

    def suspects(self, session: object) -> list[LiveIdentity]:
        """Who spoke last through a connection that has ended."""
        return [identity for identity, heard in self._heard.items() if heard.session is session]

    def gone(self, identity: LiveIdentity, session: object) -> bool:
        """A suspect that does not answer is gone, unless it spoke again in the meantime; whether it is."""
        heard = self._heard.get(identity)
        if heard is None or heard.session is not session:
            return False
        self._forget(identity, closed=True)
        return True

    def expire(self) -> list[LiveIdentity]:
        """Who has been silent for too long."""
        now = self._clock()
        silent = [identity for identity, heard in self._heard.items() if now > heard.missed_at]
        for identity in silent:
            self._forget(identity, closed=False)
        return silent

    def next_expiry(self) -> float | None:
        """When the next one will be missed, if it stays silent."""
        return min((heard.missed_at for heard in self._heard.values()), default=None)

    def saw_end_of(self, identity: LiveIdentity) -> bool:
        """It lived, and its connection was seen to end: no lease of an earlier leader binds it any more."""
        return self._lost.get(identity, False)

    def _forget(self, identity: LiveIdentity, *, closed: bool) -> None:
        del self._heard[identity]
        while len(self._lost) >= MAX_BROKERS:
            self._lost.pop(next(iter(self._lost)))
        self._lost[identity] = closed
