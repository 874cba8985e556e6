"""Who lives, by what brokers say to this controller. Each controller has a view of its own.

    heartbeat   904, each with the time after which its sender wants to be missed
    closed      a connection that ends makes suspects of the brokers that last spoke through it; whether they are gone
                is for the caller to find out. It is the broker that is judged and never the socket: one that has
                spoken through another connection since then is no suspect
    address     is part of who speaks: of two brokers with one id, say after a store was copied, only the one at the
                address that is registered counts
    lease       a master that was granted one counts as living until it is over, unless its connection closed
    confirmed   the most that a replica has said of its log is kept while it is away: one that comes back with less
                has lost what it answered for. A log that was cut under a newer epoch is another log, and begins anew

Clocks only decide how soon an election begins: that nothing promised is lost rests on epochs and the in-sync set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from sprocketmq.controller.decisions import ReplicaStanding

Clock = Callable[[], float]
K = TypeVar("K")
V = TypeVar("V")

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

    @property
    def replica(self) -> tuple[str, str, int]:
        """The same wherever it runs."""
        return self[:3]


@dataclass(slots=True)
class _Heard:
    session: object
    standing: ReplicaStanding
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
        #: The newest epoch of a replica's log, and how far that log was confirmed.
        self._confirmed: dict[tuple[str, str, int], tuple[int, int]] = {}

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
        self._heard[identity] = _Heard(session, standing or ReplicaStanding(), self._clock() + timeout, leased_until)
        self._lost.pop(identity, None)
        self._note_confirmed(identity, standing or ReplicaStanding(), confirm_offset)
        return before is None

    def _note_confirmed(self, identity: LiveIdentity, standing: ReplicaStanding, confirm_offset: int) -> None:
        known = self._confirmed.pop(identity.replica, (-1, -1))
        _make_room(self._confirmed)
        self._confirmed[identity.replica] = max(known, (standing.epoch, min(confirm_offset, standing.max_offset)))

    def lives(self, identity: LiveIdentity) -> bool:
        heard = self._heard.get(identity)
        return heard is not None and self._clock() <= heard.missed_at

    def living(self, cluster: str, name: str, addresses: Mapping[int, str]) -> dict[int, ReplicaStanding]:
        """Those of these ids that live where they are registered, and what they said of themselves."""
        known = (LiveIdentity(cluster, name, each, at) for each, at in addresses.items())
        return {each.broker_id: self._standing(each) for each in known if self.lives(each)}

    def _standing(self, identity: LiveIdentity) -> ReplicaStanding:
        said = self._heard[identity].standing
        return replace(said, lost=self.has_lost(identity, said.epoch, said.max_offset))

    def has_lost(self, identity: LiveIdentity, epoch: int | None, max_offset: int | None) -> bool:
        """Whether a log that ends there lacks what this replica had confirmed; not, where that is not said."""
        known_epoch, confirmed = self._confirmed.get(identity.replica, (-1, -1))
        return epoch is not None and max_offset is not None and epoch <= known_epoch and 0 <= max_offset < confirmed

    def confirmed(self, identity: LiveIdentity) -> int:
        """How far the log of this replica was confirmed when it said so last; -1 when it never did."""
        return self._confirmed.get(identity.replica, (-1, -1))[1]

    def forgive(self, identity: LiveIdentity) -> None:
        """It is known to have lost what it had: from now on it answers for what it has."""
        self._confirmed.pop(identity.replica, None)

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
        _make_room(self._lost)
        self._lost[identity] = closed


def _make_room(table: dict[K, V]) -> None:
    """For one more: the oldest goes."""
    while len(table) >= MAX_BROKERS:
        table.pop(next(iter(table)))
