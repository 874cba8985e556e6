"""Two controllers on one engine: the real rules, elections and liveness; an engine that compares and sets.

What a controller remembers is a copy that may be old. A change is sent to the engine and counts when its answer is
back; in between anything may happen, the end of its leadership too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.flaws import Flaw
from tests.unit.controller.support import CLUSTER, NAME, address_of

from sprocketmq.controller import elections, rules
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Outcome, ReplicaStanding, Rule
from sprocketmq.controller.liveness import LiveIdentity, Liveness

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

LEASE_MS = 3000
_RENEW_MS, _LOOK_MS, _ENGINE_MS = 700, 250, 1000


class Engine:
    """etcd, as far as it matters: one record, one key of leadership with a lease, transactions that are guarded."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.record: BrokerSet | None = None
        self.revision = 0
        self.leader = ""
        self.term = 0
        self.fence = 0
        self.lease_ends = 0

    def contend(self, who: str) -> int:
        """The term of who asks when it leads, else 0. Asking renews."""
        now = self._cluster.time.now
        if self.leader == who or now > self.lease_ends:
            if self.leader != who or now > self.lease_ends:
                self.leader, self.term = who, self.term + 1
            self.lease_ends = now + LEASE_MS
            return self.term
        return 0

    def raise_fence(self) -> None:
        """What was sent before and has not come yet never counts."""
        if self._cluster.flaw is not Flaw.LATE_WRITES:
            self.fence += 1

    def swap(self, term: int, fence: int, revision: int, new: BrokerSet | None) -> int:
        """The new revision; 0 when nothing was written."""
        guarded = self._cluster.flaw is not Flaw.DEPOSED_WRITES
        if guarded and (term != self.term or fence != self.fence or revision != self.revision):
            return 0
        self.record, self.revision = new, self.revision + 1
        return self.revision


class ControllerModel:
    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self.name = name
        self.clock_ahead = 0.0
        self.liveness = Liveness(lambda: cluster.time.now / 1000 + self.clock_ahead)
        self.term = 0
        self._heard_in: dict[int | None, object] = {}
        self._heard_at: dict[int, int] = {}
        self.record: BrokerSet | None = None
        self._revision = self._fence = 0
        self._busy = self._is_in_doubt = False
        self._waiting: list[tuple[Rule, Callable[[Outcome | None], None]]] = []
        cluster.time.after(1, self._renew)
        cluster.time.after(1, self._look)

    # -- leadership

    def _renew(self) -> None:
        self._cluster.time.after(_RENEW_MS, self._renew)
        in_doubt = self._is_in_doubt

        def contend(engine: Engine) -> tuple[int, int, BrokerSet | None, int]:
            term = engine.contend(self.name)
            if term and in_doubt:
                engine.raise_fence()
            return term, engine.fence, engine.record, engine.revision

        self._to_engine(lambda told: self._contended(*told, is_fenced=in_doubt), contend)

    def _contended(self, term: int, fence: int, record: BrokerSet | None, revision: int, *, is_fenced: bool) -> None:
        if self._is_in_doubt and not is_fenced and term:
            return  # it was asked before the change was given up for lost
        if term != self.term or not term:
            self._fail_waiting()
            self.record, self._revision, self._busy, self._is_in_doubt = record, revision, False, False
        elif not self._busy and revision > self._revision:
            self.record, self._revision = record, revision
        self.term, self._fence = term, max(fence, self._fence)

    def _to_engine(self, answer: Callable[[Any], None], ask: Callable[[Engine], Any]) -> None:
        network, engine = self._cluster.network, self._cluster.engine

        def asked() -> None:
            network.send("etcd", self.name, answer, ask(engine))

        network.send(self.name, "etcd", asked)

    # -- changes, one after the other

    def change(self, rule: Rule, answer: Callable[[Outcome | None], None]) -> None:
        """None is the answer of a controller that does not lead, or does not know."""
        if not self.term:
            answer(None)
        elif self._busy:
            self._waiting.append((rule, answer))
        else:
            self._change(rule, answer)

    def living(self) -> dict[int, ReplicaStanding]:
        addresses = {} if self.record is None else self.record.addresses
        living = self.liveness.living(CLUSTER, NAME, addresses)
        return {each: replace(said, lost=said.lost and not self._is_blind) for each, said in living.items()}

    def _change(self, rule: Rule, answer: Callable[[Outcome | None], None]) -> None:
        outcome = rule(self.record, self.living())
        if outcome.record == self.record:
            answer(outcome)
            self._next()
            return
        self._busy = True
        if outcome.elected and outcome.record is not None:
            self._crown(outcome.record.master)
        term, fence, revision = self.term, self._fence, self._revision

        over: list[bool] = []

        def late() -> None:
            """Nobody knows what the engine keeps: all is read anew."""
            if not over and term == self.term:
                over.append(True)
                self.term, self._is_in_doubt = 0, True
                self._cluster.faults.change_was_given_up(outcome.record)
                answer(None)
                self._fail_waiting()

        def swapped(new: int) -> None:
            if over or term != self.term or revision != self._revision:
                return
            over.append(True)
            self._busy = False
            if not new:
                self.term = 0  # deposed, or the record is another one: all is read anew
                answer(None)
                self._fail_waiting()
                return
            self.record, self._revision = outcome.record, new
            if outcome.elected and outcome.record is not None:
                self._crown(outcome.record.master)
                self._notify()
            answer(outcome)
            self._next()

        self._cluster.time.after(_ENGINE_MS, late)
        self._to_engine(swapped, lambda engine: engine.swap(term, fence, revision, outcome.record))

    def _next(self) -> None:
        if self._waiting and not self._busy:
            self._change(*self._waiting.pop(0))

    def _fail_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, answer in waiting:
            answer(None)

    # -- who lives

    def heard(self, broker_id: int, standing: ReplicaStanding, confirmed: int, session: object, sent_at: int) -> None:
        """Through one connection, as all that a broker says: what was overtaken is nothing any more."""
        if sent_at < self._heard_at.get(broker_id, 0):
            return
        self._heard_at[broker_id] = sent_at
        identity = _identity(broker_id)
        self._heard_in[broker_id] = session
        self.liveness.heartbeat(identity, session, timeout_ms=1500, standing=standing, confirm_offset=confirmed)
        if self.term and self.has_lost(broker_id, standing, sent_at):
            self.change(partial(rules.distrust, broker_id=broker_id), partial(self._distrusted, broker_id))

    @property
    def _is_blind(self) -> bool:
        """What it finds out by itself would hide that a broker keeps silent."""
        silent = (Flaw.EMPTY_BOOT, Flaw.SILENT_BOOT, Flaw.HASTY_HEARTBEAT)
        return self._cluster.flaw in (Flaw.LESS_LOG_AGAIN, *silent)

    def has_lost(self, broker_id: int, standing: ReplicaStanding, sent_at: int) -> bool:
        if self._is_blind or sent_at < self._heard_at.get(broker_id, 0):
            return False
        return self.liveness.has_lost(_identity(broker_id), standing.epoch, standing.max_offset)

    def _distrusted(self, broker_id: int, outcome: Outcome | None) -> None:
        if outcome is not None:
            self.forgive(broker_id)

    def forgive(self, broker_id: int) -> None:
        self.liveness.forgive(_identity(broker_id))
        self._elect_if_needed()

    def confirmed(self, broker_id: int) -> int:
        return self.liveness.confirmed(_identity(broker_id))

    def closed(self, broker_id: int, session: object) -> None:
        if self.liveness.gone(_identity(broker_id), session):
            self._elect_if_needed()

    def _look(self) -> None:
        self._cluster.time.after(_LOOK_MS, self._look)
        self.liveness.expire()
        self._elect_if_needed()

    def _elect_if_needed(self) -> None:
        unclean = self._cluster.flaw is Flaw.ELECT_ANYONE
        if self.term and self.record and elections.needs_master(self.record, self.living(), unclean=unclean):
            self.change(lambda record, living: elections.by_controller(record, living, unclean=unclean), lambda _: None)

    def _crown(self, broker_id: int | None) -> None:
        self._cluster.crown(broker_id, self._heard_in.get(broker_id))

    def _notify(self) -> None:
        for broker in self._cluster.brokers:
            self._cluster.network.send(self.name, broker.name, broker.look)


def _identity(broker_id: int) -> LiveIdentity:
    return LiveIdentity(CLUSTER, NAME, broker_id, address_of(broker_id))
