"""What goes wrong: a kind of fault, a victim and a time, as the seed has it.

    kill       a process ends and comes back; its connections close
    power      what was not synced is gone, or a part of it; connections close, or nobody hears of it
    pause      a process stands still and goes on
    cut        a way in one direction or both: between two, of one broker, of a controller to its engine or brokers
    jump       a clock goes forward at once
    full       a disk takes nothing for a while
    dark       the power of all at once, where what was promised is synced
    wipe       a log is gone and its broker comes back with its id
    go back    a log is as it was a while ago, say from a copy of the disk, and its broker does not know
    error      a sync fails: the broker is as good as dead until it is started anew, without what was not synced

Late messages and connections that overtake each other come from the network itself (`timeline.py`). A power cut of the
only one that has unsynced promises takes them by the mode's own terms, so that without SYNC_FLUSH it strikes only while
another member of the set is whole.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.simulation.brokers import BrokerModel
from tests.simulation.controllers import ControllerModel
from tests.simulation.timeline import SLUGGISH

from sprocketmq.controller.broker_set import BrokerSet

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

TROUBLE_MS = 6_000
_FIRST_MS = 1_800
#: Of seeds in which something strikes once that would end all work if it came as often as the rest.
_RARE_SHARE = 0.15


class Faults:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._time, self._random = cluster, cluster.time, cluster.time.random
        #: Between two faults: some seeds are calm enough for work to be done, some are not.
        self._calm = self._random.choice([(80, 700), (300, 1500), (600, 2500)])
        self._powerless: set[int] = set()
        hard = (self._kill, self._kill, self._power, self._power)
        self._kinds = hard if cluster.network.mood is SLUGGISH else (
            *hard, self._pause, self._cut_one_way, self._cut_off, self._cut_controller, self._jump, self._fill,
            self._break_disk,
        )  # fmt: skip
        #: Of its own, so that what it decides changes nothing else.
        self._aim = Random(f"{cluster.seed}/aim")
        self._time.after(_FIRST_MS, self._next)
        rare = Random(f"{cluster.seed}/rare")
        if rare.random() < _RARE_SHARE:
            self._time.after(rare.randint(_FIRST_MS, TROUBLE_MS), rare.choice([self._darken, self._wipe]))
        self._past = Random(f"{cluster.seed}/past")
        if self._past.random() < _RARE_SHARE:
            self._time.after(self._past.randint(_FIRST_MS, TROUBLE_MS), self._go_back)

    def _next(self) -> None:
        if self._time.now >= TROUBLE_MS:
            return
        victim = self._random.choice(self._cluster.brokers)
        strike = self._random.choice(self._kinds)
        strike(victim)
        self._time.after(self._random.randint(*self._calm), self._next)

    def heal(self) -> None:
        self._cluster.network.heal()
        for each in self._cluster.brokers:
            each.paused = each.disk.full = False
            if each.disk.failed:
                self._start_anew(each, each.life)
            self._revive(each)

    # -- processes

    def _kill(self, victim: BrokerModel) -> None:
        if victim.alive and not victim.disk.failed:
            victim.stop()
            self._time.after(self._random.randint(20, 1500), self._revive, victim)

    def _pause(self, victim: BrokerModel) -> None:
        victim.paused = True
        self._time.after(self._random.randint(100, 3000), self._wake, victim)

    def _wake(self, victim: BrokerModel) -> None:
        victim.paused = False

    def _revive(self, victim: BrokerModel) -> None:
        if not victim.alive:
            victim.start()
            self._time.after(100, self._whole_again, victim, victim.life)

    def _whole_again(self, victim: BrokerModel, life: int) -> None:
        """Until it has told the controller, it counts as one whose tail is gone."""
        if victim.life == life and victim.registered:
            self._powerless.discard(victim.id)
        elif victim.life == life:
            self._time.after(100, self._whole_again, victim, life)

    # -- disks

    def _may_lose_tail(self, victim: BrokerModel) -> bool:
        record = self._cluster.engine.record
        others = (record.in_sync if record else frozenset()) - {victim.id} - self._powerless
        return victim.alive and (self._cluster.sync_flush or bool(others))

    def _power(self, victim: BrokerModel) -> None:
        if self._may_lose_tail(victim) and not victim.disk.failed:
            self._powerless.add(victim.id)
            victim.stop(power=True)
            self._time.after(self._random.randint(300, 1500), self._revive, victim)

    def _darken(self) -> None:
        for each in self._cluster.brokers if self._cluster.sync_flush else ():
            self._power(each)

    def _wipe(self) -> None:
        """Of one whose promises another has as well, and who is not the only one left to lose its tail."""
        record = self._cluster.engine.record
        whole = sorted((record.in_sync if record else frozenset()) - self._powerless)
        if len(whole) > 1 and (victim := self._cluster.broker(whole[-1])).alive and not victim.disk.failed:
            self._powerless.add(victim.id)
            victim.stop()
            victim.wipe()
            self._time.after(self._aim.randint(20, 1500), self._revive, victim)

    def _go_back(self) -> None:
        """To before what both controllers have heard of; and those who have more die when it is there again."""
        record = self._cluster.engine.record
        whole = sorted((record.in_sync if record else frozenset()) - self._powerless)
        victim = self._cluster.broker(self._past.choice(whole)) if len(whole) > 1 else None
        if victim is None or not victim.alive or victim.disk.failed:
            return
        heard = min(each.confirmed(victim.id) for each in self._cluster.controllers)
        if heard > 0:
            self._powerless.add(victim.id)
            victim.stop()
            victim.go_back(self._past.randrange(min(heard, len(victim.disk.log))))
            back = self._past.randint(20, 1500)
            self._time.after(back, self._revive, victim)
            for each in whole:
                if each != victim.id:
                    self._time.after(back + self._past.randint(0, 1500), self._kill, self._cluster.broker(each))

    def _break_disk(self, victim: BrokerModel) -> None:
        if self._may_lose_tail(victim) and not victim.disk.failed:
            self._powerless.add(victim.id)
            victim.disk.failed = True
            self._aim_at_broken_disk(victim)
            self._time.after(self._random.randint(100, 2000), self._start_anew, victim, victim.life)

    def _start_anew(self, victim: BrokerModel, life: int) -> None:
        if victim.life == life and victim.alive:
            victim.stop(power=True)
            victim.disk.failed = False
            self._time.after(50, self._revive, victim)

    def _fill(self, victim: BrokerModel) -> None:
        victim.disk.full = True
        self._time.after(self._random.randint(100, 2000), self._empty, victim)

    def _empty(self, victim: BrokerModel) -> None:
        victim.disk.full = False

    # -- faults that are aimed: they strike where a mistake would hurt, in half of the cases

    def tail_was_cut(self, victim: BrokerModel) -> None:
        """A power cut before or after the next sync."""
        if self._aims():
            self._time.after(self._aim.randint(5, 300), self._power, victim)

    def was_distrusted(self, victim: BrokerModel) -> None:
        """It has just told that its tail may be gone: all others die before it has caught up."""
        if self._aims():
            delay = self._aim.randint(20, 900)
            for each in self._cluster.brokers:
                if each is not victim:
                    self._time.after(delay, self._kill, each)

    def change_was_given_up(self, wanted: BrokerSet | None) -> None:
        """It may come into force late: who would be new in the set dies, and the master before that one is back."""
        record = self._cluster.engine.record
        if wanted is None or wanted.master is None or record is None:
            return
        if (joining := sorted(wanted.in_sync - record.in_sync)) and self._aims():
            for each in joining:
                self._kill(self._cluster.broker(each))
            self._time.after(self._aim.randint(500, 3000), self._kill, self._cluster.broker(wanted.master))

    def _aim_at_broken_disk(self, victim: BrokerModel) -> None:
        """A master that cannot sync misses its replicas as well."""
        if victim.is_master and self._aims():
            for each in self._cluster.brokers:
                if each is not victim:
                    self._pause(each)

    def _aims(self) -> bool:
        return self._aim.random() < 0.5 and self._time.now < TROUBLE_MS

    # -- the network and the clocks

    def _cut_one_way(self, victim: BrokerModel) -> None:
        other = self._random.choice(["k0", "k1", "client", *(each.name for each in self._cluster.brokers)])
        self._cut({self._random.choice([(victim.name, other), (other, victim.name)])})

    def _cut_off(self, victim: BrokerModel) -> None:
        others = ["k0", "k1", *(each.name for each in self._cluster.brokers if each is not victim)]
        others = others if self._random.random() < 0.5 else [*others, "client"]
        self._cut({way for each in others for way in ((victim.name, each), (each, victim.name))})

    def _cut_controller(self, _victim: BrokerModel) -> None:
        name = self._random.choice(["k0", "k1"])
        others = self._random.choice([["etcd"], ["etcd", "b1", "b2", "b3"], ["b1", "b2", "b3"]])
        self._cut({way for each in others for way in ((name, each), (each, name))})

    def _cut(self, ways: set[tuple[str, str]]) -> None:
        self._cluster.network.cut |= ways
        self._time.after(self._random.randint(200, 4000), self._cluster.network.cut.difference_update, ways)

    def _jump(self, victim: BrokerModel) -> None:
        clocks: list[BrokerModel | ControllerModel] = [*self._cluster.controllers, victim]
        whose = self._random.choice(clocks)
        whose.clock_ahead += self._random.choice([1.0, 5.0, 60.0])
