"""A broker of a controlled set, as a state machine: its life, its role, and what it asks of the controller.

The in-sync set, the epochs and the point up to which two logs agree are the real ones; the stream to and from other
brokers is in `streams.py`. The way of a request for another set is that of
`broker/controller_mode/sync_state_changes.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.simulation.disk import Entry, LogDisk
from tests.simulation.flaws import Flaw
from tests.simulation.in_sync import SimulatedSet
from tests.simulation.streams import MasterSide, ReplicaSide
from tests.unit.controller.support import alter, elect, register

from sprocketmq.broker.controller_mode.sync_state_changes import OLD_VIEW, REFUSALS
from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Outcome, ReplicaStanding

if TYPE_CHECKING:
    from tests.simulation.clients import Sending
    from tests.simulation.cluster import Cluster
    from tests.simulation.controllers import ControllerModel

_HEARTBEAT_MS, _POLL_MS, _CALL_MS = 500, 600, 1000


class BrokerModel:
    def __init__(self, cluster: Cluster, broker_id: int) -> None:
        self.cluster = cluster
        self.id = broker_id
        self.name = f"b{broker_id}"
        self.life = 0
        self.alive = False
        self.paused = False
        self.unclean = self.wiped = self.set_back = False
        self.clock_ahead = 0.0
        self.disk = LogDisk()
        self.consumed: dict[int, int] = {}
        self.start()

    @property
    def flaw(self) -> Flaw | None:
        return self.cluster.flaw

    def clock(self) -> float:
        """Seconds of this machine."""
        return self.cluster.time.now / 1000 + self.clock_ahead

    # -- life

    def start(self) -> None:
        self.alive, self.life, self.lost_power = True, self.life + 1, False
        self.epoch, self.master, self.registered = 0, 0, False
        self.confirmed = 0
        self.in_sync = SimulatedSet(self.disk, lambda: self.confirmed, self.clock, self.flaw)
        self.in_sync.on_change = lambda: self.later(0, self.look_at_set)
        self.gives, self.follows = MasterSide(self), ReplicaSide(self)
        self.waiting: list[tuple[int, Sending]] = []
        self.controller = self.cluster.time.random.choice(self.cluster.controllers)
        self._syncing = self._asking = False
        self.written()
        for beat, turn in ((_HEARTBEAT_MS, self._heartbeat), (_POLL_MS, self._poll)):
            self.later(beat, turn, beat)

    def stop(self, *, power: bool = False) -> None:
        """A killed process leaves its log; a power cut takes what was not synced, or a part of it."""
        self.alive = False
        self.lost_power = power
        if power:
            self.disk.lose_power(self.cluster.time.random)
            self.unclean = not self.cluster.sync_flush
            self.clamp_consumed()
        network, silent = self.cluster.network, power and self.cluster.time.random.random() < 0.5
        for controller in self.cluster.controllers:
            network.send(self.name, controller.name, controller.closed, self.id, self.life)
        for broker in self.cluster.brokers if not silent else ():  # without power nobody closes a connection
            network.send(self.name, broker.name, broker.lost, self.id)

    def wipe(self) -> None:
        """Its disk is another one, and its id was kept elsewhere."""
        self.disk, self.consumed = LogDisk(), {}
        self.unclean = self.wiped = True

    def go_back(self, end: int) -> None:
        """Its disk is as it once was, and it knows nothing of that."""
        self.disk.cut(end)
        self.clamp_consumed()
        self.set_back = True

    def clamp_consumed(self) -> None:
        self.consumed = {queue: min(at, len(self.disk.visible(queue))) for queue, at in self.consumed.items()}

    def lost(self, peer: int) -> None:
        self.gives.lost(peer)
        self.follows.lost(peer)

    def later(self, delay: int, act: Any, *args: Any) -> None:
        """Something of this life; a paused broker does it when it wakes."""
        life = self.life

        def turn() -> None:
            if self.life != life or not self.alive:
                return
            if self.paused:
                self.cluster.time.after(50, turn)
            else:
                act(*args)

        self.cluster.time.after(delay, turn)

    # -- the controller

    def _heartbeat(self, beat: int) -> None:
        """Not before it has told of a lost tail: it could be elected. A disk that has failed is as good as dead."""
        self.later(beat, self._heartbeat, beat)
        hasty = self.flaw is Flaw.HASTY_HEARTBEAT or not self.unclean
        if self.disk.failed or (not self.registered and not hasty):
            return
        for controller in self.cluster.controllers:
            self.cluster.network.send(
                self.name, controller.name, controller.heard, self.id, self.standing, self.confirmed, self.life,
                self.cluster.time.now,
            )  # fmt: skip

    @property
    def standing(self) -> ReplicaStanding:
        last = self.disk.epochs.last
        return ReplicaStanding(-1 if last is None else last.epoch, len(self.disk.log))

    def _ask(self, rule: Any, answer: Any, done: Any = lambda: None) -> None:
        """The controller that is thought to lead, where it is `done`; another when it does not. Requests through one
        connection keep their order."""
        controller, life, network = self.controller, self.life, self.cluster.network

        def answered(outcome: Outcome | None) -> None:
            if outcome is not None:
                done()
            network.send(controller.name, self.name, back, outcome)

        def back(outcome: Outcome | None) -> None:
            if not self.alive or self.life != life:
                return
            if outcome is None:
                self._try_another(controller)
            else:
                self.later(0, answer, outcome)

        stream = (self.id, life, controller.name)
        network.send(self.name, controller.name, controller.change, rule, answered, stream=stream)

    def _try_another(self, controller: ControllerModel) -> None:
        """Any of them; in peace not the same one again, for a broker asks each of them who leads."""
        others = [each for each in self.cluster.controllers if not self.cluster.ended or each is not controller]
        self.controller = self.cluster.time.random.choice(others)

    def _poll(self, beat: int) -> None:
        self.later(beat, self._poll, beat)
        if self.cluster.time.random.random() < 0.2:
            self.controller = self.cluster.time.random.choice(self.cluster.controllers)
        if not self.registered:
            told = self.unclean and self.flaw is not (Flaw.EMPTY_BOOT if self.wiped else Flaw.SILENT_BOOT)
            self._ask_to_register(self.controller, self.standing, told)
        else:
            self.look()
        if self.is_master:
            self.look_at_set()
        else:
            self.follows.tick()

    def _ask_to_register(self, controller: ControllerModel, standing: ReplicaStanding, unclean: bool) -> None:
        sent_at = self.cluster.time.now

        def is_whole() -> bool:
            return not unclean and not controller.has_lost(self.id, standing, sent_at)

        def rule(record: BrokerSet, living: Any) -> Outcome:
            return self._register(record, living, unclean=not is_whole())

        def done() -> None:
            if not is_whole():
                controller.forgive(self.id)

        self._ask(rule, self._registered, done)

    def _register(self, record: BrokerSet, living: Any, unclean: bool) -> Outcome:
        outcome = register(record, self.id, living, unclean_boot=unclean)
        if self.flaw is Flaw.OLD_EPOCH_AGAIN and outcome.record is not None and outcome.record.master == self.id:
            outcome = Outcome(replace(outcome.record, master_epoch=record.master_epoch), outcome.answer)
        return outcome

    def look(self) -> None:
        """A notice of an election is a reason to ask, and nothing more."""
        if self.alive and self.registered:
            self._ask(lambda record, _: Outcome(record, _NOTHING), self._informed)

    def _registered(self, outcome: Outcome) -> None:
        if outcome.answer.code == ResponseCode.SUCCESS:
            if self.unclean:
                self.cluster.faults.was_distrusted(self)
            self.registered, self.unclean, self.wiped, self.set_back = True, False, False, False
            self._ask(lambda record, living: elect(record, self.id, living), self._informed)

    def _informed(self, outcome: Outcome) -> None:
        """Only what is newer counts."""
        record = outcome.record
        if record is None or record.master is None:
            self.registered = False  # come up once more: an election that was asked for may have been lost on its way
            return
        if record.master_epoch > self.epoch:
            self._take_role(record)
        elif record.master_epoch == self.epoch and self.is_master:
            self.in_sync.adopt(record.in_sync, record.in_sync_epoch)
            self.promise()

    @property
    def is_master(self) -> bool:
        return self.master == self.id

    def _take_role(self, record: BrokerSet) -> None:
        assert record.master is not None
        for _, sending in self.waiting:
            sending.unknown()
        self.waiting = []
        self.gives.drop_all()
        self.epoch, self.master = record.master_epoch, record.master
        if not self.is_master:
            self.follows.connect()
            return
        self.follows.up = None
        if self.flaw is Flaw.CUT_AT_PROMOTION:
            self.disk.cut(self.confirmed)
        if self.flaw is Flaw.OFFSETS_TO_END:
            self.consumed = {queue: len(self.disk.visible(queue)) for queue in range(2)}
        self.disk.lead(self.epoch)
        self.in_sync.begin(self.id, record.in_sync, record.in_sync_epoch, self.disk.epoch_start)
        self.cluster.led(self)
        self.promise()

    # -- the in-sync set

    def look_at_set(self) -> None:
        """One request at a time; one that is not answered in time is given up, and may be granted all the same."""
        if not self.is_master or self._asking:
            return
        wanted = self.in_sync.wanted()
        self.promise()
        if wanted is None:
            return
        self._asking = True
        epoch, set_epoch, over = self.epoch, self.in_sync.epoch, [False]
        self.in_sync.requesting(wanted)

        def give_up() -> None:
            if not over[0]:
                over[0], self._asking = True, False

        def answered(outcome: Outcome) -> None:
            if not over[0]:
                over[0], self._asking = True, False
                self._answered(outcome, epoch, wanted)

        self.later(_CALL_MS, give_up)
        self._ask(
            lambda record, living: alter(
                record, wanted, living, master=self.id, epoch=epoch,
                set_epoch=set_epoch,
            ),
            answered,
        )  # fmt: skip

    def _answered(self, outcome: Outcome, epoch: int, wanted: frozenset[int]) -> None:
        if self.epoch != epoch or not self.is_master:
            return  # another reign has begun meanwhile
        if outcome.answer.code == ResponseCode.SUCCESS:
            assert outcome.record is not None
            self.in_sync.adopt(outcome.record.in_sync, outcome.record.in_sync_epoch)
        elif outcome.answer.code in REFUSALS or self.flaw is Flaw.FORGET_COPIES:
            self.in_sync.refused(wanted)
        elif outcome.answer.code in OLD_VIEW:
            self.look()
        self.promise()

    def promise(self) -> None:
        """What every one that is needed has, and this disk too under SYNC_FLUSH; it never goes back in one reign."""
        if not self.is_master or self.disk.failed:
            return
        self.in_sync.count()
        own = self.disk.synced if self.cluster.sync_flush else len(self.disk.log)
        self.confirmed = max(self.confirmed, min(own, self.in_sync.offset))
        done = [sending for at, sending in self.waiting if at < self.confirmed]
        self.waiting = [(at, sending) for at, sending in self.waiting if at >= self.confirmed]
        for sending in done:
            sending.promised(self)

    # -- clients

    def append(self, entry: Entry, sending: Sending) -> None:
        """Entries of a master; `sending` hears when they are promised."""
        if not self.is_master or self.disk.broken:
            sending.refused()
            return
        twice = 2 if self.flaw is Flaw.STORE_TWICE and entry.queue >= 0 and not entry.ends else 1
        for _ in range(twice):
            self.disk.log.append(Entry(self.epoch, entry.uid, entry.queue, entry.ends))
        self.written()
        self.wait_for(len(self.disk.log) - 1, sending)
        self.gives.appended()

    def wait_for(self, at: int, sending: Sending) -> None:
        sending.at = at
        self.waiting.append((at, sending))
        self.promise()

    def readable(self, queue: int) -> list[str]:
        ahead = self.flaw is Flaw.READ_AHEAD
        return self.disk.visible(queue, None if ahead else self.confirmed)

    def is_ended(self, uid: str) -> bool:
        return any(entry.ends == uid for entry in self.disk.log) and self.flaw is not Flaw.DECIDE_TWICE

    # -- the disk

    def written(self) -> None:
        """What was written is synced a little later."""
        if not self._syncing:
            self._syncing = True
            self.later(self.cluster.sync_ms, self._sync)

    def _sync(self) -> None:
        self._syncing = False
        if self.disk.failed:
            return
        self.disk.sync()
        self.promise()
        if self.cluster.sync_flush:
            self.follows.report()


class _Nothing:
    code = ResponseCode.SUCCESS


_NOTHING: Any = _Nothing()
