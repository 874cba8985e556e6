"""The one rule of failover: whoever the controller may elect has every promise.

A master, its replicas and a controller, with requests that are lost, late, or answered and the answer lost, and with
replicas that lose their tail and whose old connections stay open. Promises are what the set says; at every moment every
member of the controller's set must have them all.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.hypothesis_examples import examples
from tests.unit.broker.support import make_settings
from tests.unit.store.support import open_store, put

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.in_sync_set import InSyncSet

REPLICAS = st.sampled_from([2, 3])


class Failover(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        self.now = 0.0
        self.store = open_store(root / "store")
        self.set = InSyncSet(make_settings(root), self.store, lambda: self.now)
        self.set.begin(1, {1}, 1, 0)
        self.links: dict[int, Any] = {}
        self.has = {1: 0, 2: 0, 3: 0}
        self.promised = 0
        self.members, self.epoch = frozenset({1}), 1
        self.under_way: list[tuple[frozenset[int], int]] = []

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.store.abandon()
            self.folder.cleanup()

    def promise(self) -> None:
        self.set.count()
        self.promised = max(self.promised, self.set.offset)

    @rule(count=st.integers(1, 4))
    def write(self, count: int) -> None:
        for _ in range(count):
            put(self.store)
        self.has[1] = self.store.log.max_offset
        self.promise()

    @rule(replica=REPLICAS)
    def connect(self, replica: int) -> None:
        if replica not in self.links:
            link: Any = AutoSwitchLink.__new__(AutoSwitchLink)
            link.broker_id, link.ack, link.learner, link.caught_up_at = replica, self.has[replica], False, self.now
            link._transport = None
            self.links[replica] = link
            self.set.links.append(link)
            self.set.came(link)
            self.promise()

    @rule(replica=REPLICAS, share=st.floats(0, 1))
    def lose_power(self, replica: int, share: float) -> None:
        """It says so when it comes back, and the controller takes it out; its connection is open at the master."""
        self.links.pop(replica, None)
        self.has[replica] = int(self.has[replica] * share)
        self.members, self.epoch = self.members - {replica}, self.epoch + 1

    @rule(replica=REPLICAS)
    def disconnect(self, replica: int) -> None:
        link = self.links.pop(replica, None)
        if link is not None:
            self.set.links.remove(link)
            self.set.closed(link)
            self.promise()

    @rule(replica=REPLICAS, share=st.floats(0, 1))
    def replicate(self, replica: int, share: float) -> None:
        link = self.links.get(replica)
        if link is not None:
            behind = self.has[1] - self.has[replica]
            self.has[replica] += behind if share > 0.3 else int(behind * share)
            link.ack = self.has[replica]
            link.caught_up_at = self.now
            self.promise()

    @rule(seconds=st.sampled_from([0.1, 0.6, 2.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.promise()

    @rule()
    def ask(self) -> None:
        wanted = self.set.wanted()
        if wanted is not None:
            self.set.requesting(wanted)
            self.under_way.append((wanted, self.set.epoch))
        self.promise()

    @rule(which=st.integers(0, 9), answered=st.booleans())
    def controller_decides(self, which: int, answered: bool) -> None:
        """Any request that is under way may arrive now, and its answer may be lost."""
        if not self.under_way:
            return
        wanted, known = self.under_way.pop(which % len(self.under_way))
        if known == self.epoch and wanted != self.members:
            self.members, self.epoch = wanted, self.epoch + 1
        if answered:
            self.set.adopt(self.members, self.epoch)
        self.promise()

    @rule()
    def look(self) -> None:
        self.set.adopt(self.members, self.epoch)
        self.promise()

    @invariant()
    def whoever_may_be_elected_has_every_promise(self) -> None:
        if hasattr(self, "members"):
            assert all(self.has[each] >= self.promised for each in self.members), (self.has, self.promised)


TestFailover = Failover.TestCase
TestFailover.settings = settings(
    max_examples=examples(150), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
