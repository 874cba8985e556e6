"""Every way that three brokers and a controller can go, up to a depth: the rules are the real ones, brokers are models.

A broker is its log (the epochs of its entries), what it knows of its reign, and who acknowledged its whole log. The
controller's opinion of who lives is any set of brokers, right or wrong: a broker that is thought dead goes on, as one
that is cut off does. Requests for another set lie on the wire until they are taken or for ever, and answers get lost.

The one rule: what was promised is a prefix of the log of every member of the in-sync set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from tests.unit.controller.support import alter, elect, kept, register, three

from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Outcome, ReplicaStanding

IDS = (1, 2, 3)
Ids = frozenset[int]


@dataclass(frozen=True)
class Node:
    log: tuple[int, ...] = ()
    epoch: int = 0
    is_master: bool = False
    known: Ids = frozenset()
    known_epoch: int = 0
    asked: Ids = frozenset()  # everyone in any set that was asked for at this set epoch
    acked: Ids = frozenset()

    @property
    def needed(self) -> Ids:
        return self.known | self.asked


@dataclass(frozen=True)
class Wire:
    """A request of `sender` for another set, on its way."""

    sender: int
    epoch: int
    set_epoch: int
    wanted: Ids


@dataclass(frozen=True)
class World:
    record: BrokerSet
    nodes: tuple[Node, ...]
    alive: Ids = frozenset(IDS)
    promised: tuple[int, ...] = ()
    wires: frozenset[Wire] = frozenset()

    def node(self, at: int) -> Node:
        return self.nodes[at - 1]

    def with_node(self, at: int, node: Node) -> World:
        return replace(self, nodes=(*self.nodes[: at - 1], node, *self.nodes[at:]))

    def fault(self) -> str | None:
        """What the rule forbids."""
        for each in self.record.in_sync:
            if self.node(each).log[: len(self.promised)] != self.promised:
                return f"{self.promised} was promised, and {each} of {set(self.record.in_sync)} has not got it"
        return None


@dataclass(frozen=True)
class Rules:
    """What a test may replace by something wrong."""

    alter: Callable[..., Outcome] = alter
    elect: Callable[..., Outcome] = elect
    register: Callable[..., Outcome] = register
    #: Whether a master goes on to wait for everyone it asked for, until it knows a newer set.
    waits_for_asked: bool = True
    #: Whether a master that finds a set it did not ask for forgets what those outside it acknowledged.
    forgets_acks: bool = True
    #: Whether a broker tells that a power cut may have cost it its tail.
    tells_of_power: bool = True


def start() -> World:
    """The first reigns, with the second in sync; the third is empty as well, and may join."""
    record = three()
    first = Node(epoch=1, is_master=True, known=record.in_sync, known_epoch=record.in_sync_epoch, acked=frozenset({2}))
    return World(record, (first, Node(epoch=1), Node(epoch=1)))


def steps(world: World, rules: Rules) -> Iterator[World]:
    """Everything that can happen next."""
    for at in IDS:
        yield from _of_node(world, at, rules)
    for wire in world.wires:
        yield from _delivered(world, wire, rules)
    alive = _living(world.alive, world)
    elected = rules.elect(world.record, -1, alive)
    yield replace(world, record=kept(elected))
    for at in IDS:
        yield replace(world, alive=world.alive ^ {at})


def _of_node(world: World, at: int, rules: Rules) -> Iterator[World]:
    node = world.node(at)
    if world.record.in_sync != {at}:  # of what one alone has, and has not synced, a power cut takes the only copy
        yield _power_cut(world, at, rules)
    if world.record.master_epoch > node.epoch:
        yield _informed(world, at)
    if not node.is_master:
        return
    if world.record.master_epoch == node.epoch and world.record.in_sync_epoch > node.known_epoch:
        yield _reread(world, at, rules)
    if len(node.log) < 2:
        yield world.with_node(at, replace(node, log=(*node.log, node.epoch), acked=frozenset()))
    for other in IDS:
        if other != at and world.node(other).epoch <= node.epoch:
            yield _copied(world, at, other)
        if other != at and other in node.acked | node.needed:
            yield _asked(world, at, node.known ^ {other}, rules)
    if node.needed - {at} <= node.acked:
        yield replace(world, promised=_longer(world.promised, node.log))


def _informed(world: World, at: int) -> World:
    record, node = world.record, world.node(at)
    if record.master != at:
        return world.with_node(at, Node(log=node.log, epoch=record.master_epoch))
    reign = Node(node.log, record.master_epoch, True, record.in_sync, record.in_sync_epoch)
    return world.with_node(at, reign)


def _reread(world: World, at: int, rules: Rules) -> World:
    """The master learns of a set that it was never told of: the answer was lost, or the controller changed it.

    In the second case somebody may have lost its tail; what those outside the set acknowledged counts no more.
    """
    record, node = world.record, world.node(at)
    acked = node.acked & record.in_sync if rules.forgets_acks else node.acked
    learned = replace(node, known=record.in_sync, known_epoch=record.in_sync_epoch, asked=frozenset(), acked=acked)
    return world.with_node(at, learned)


def _copied(world: World, at: int, to: int) -> World:
    """A slave of this reign takes the master's log as it is, and acknowledges it."""
    master = world.node(at)
    world = world.with_node(to, Node(log=master.log, epoch=master.epoch))
    return world.with_node(at, replace(master, acked=master.acked | {to}))


def _asked(world: World, at: int, wanted: Ids, rules: Rules) -> World:
    node = world.node(at)
    if not wanted - node.known <= node.acked:  # who is let in has everything
        return world
    wire = Wire(at, node.epoch, node.known_epoch, wanted)
    asked = node.asked | wanted if rules.waits_for_asked else node.asked
    return replace(world.with_node(at, replace(node, asked=asked)), wires=world.wires | {wire})


def _delivered(world: World, wire: Wire, rules: Rules) -> Iterator[World]:
    outcome = rules.alter(
        world.record, wire.wanted, _living(world.alive, world), master=wire.sender, epoch=wire.epoch,
        set_epoch=wire.set_epoch,
    )  # fmt: skip
    after = replace(world, record=kept(outcome), wires=world.wires - {wire})
    yield after  # the answer is lost
    node = world.node(wire.sender)
    if outcome.answer.code == 0 and node.is_master and node.epoch == wire.epoch:
        record = kept(outcome)
        told = replace(node, known=record.in_sync, known_epoch=record.in_sync_epoch, asked=frozenset())
        yield after.with_node(wire.sender, told)


def _power_cut(world: World, at: int, rules: Rules) -> World:
    """The last entry was not synced. The broker comes up with the log it has left and no role, and registers."""
    left = Node(log=world.node(at).log[:-1])
    tells = rules.tells_of_power
    record = kept(rules.register(world.record, at, _living(world.alive, world), unclean_boot=tells))
    return replace(world.with_node(at, left), record=record)


def _longer(promised: tuple[int, ...], log: tuple[int, ...]) -> tuple[int, ...]:
    return log if len(log) > len(promised) else promised


@cache
def _standings(ids: Ids, logs: tuple[tuple[int, ...], ...]) -> dict[int, ReplicaStanding]:
    return {at: ReplicaStanding(max(logs[at - 1], default=0), len(logs[at - 1])) for at in sorted(ids)}


def _living(ids: Ids, world: World) -> dict[int, ReplicaStanding]:
    return _standings(ids, tuple(node.log for node in world.nodes))


def walk(depth: int, rules: Rules | None = None) -> tuple[int, str | None]:
    """How many worlds were seen, and the first fault."""
    rules = rules or Rules()
    seen = {start()}
    edge = [start()]
    for _ in range(depth):
        following = []
        for world in edge:
            for after in steps(world, rules):
                if after not in seen:
                    seen.add(after)
                    following.append(after)
                    if (fault := after.fault()) is not None:
                        return len(seen), fault
        edge = following
    return len(seen), None
