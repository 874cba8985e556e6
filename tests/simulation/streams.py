"""The stream between a master and its replicas, in the order of `broker/replication/auto_switch_stream.py`.

The network is worse than TCP: of one connection something in the middle may be lost, the answer to a handshake too, and
what follows comes all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.disk import Entry
from tests.simulation.flaws import Flaw
from tests.simulation.in_sync import LATE_MS, ReplicaLink

from sprocketmq.protocol.ha.epochs import Epoch, EpochList, consistent_point, is_superseded

if TYPE_CHECKING:
    from tests.simulation.brokers import BrokerModel

_BATCH = 8


def _send(sender: BrokerModel, to: BrokerModel, side: str, method: str, *args: Any, link: int) -> None:
    """To another broker, through one connection; it must be in the life in which it arrives."""
    life = to.life

    def arrive() -> None:
        if to.alive and to.life == life:
            if to.paused:
                sender.cluster.time.after(50, arrive)
            else:
                getattr(getattr(to, side), method)(*args)

    sender.cluster.network.send(sender.name, to.name, arrive, stream=(link, sender.id, to.id))


class MasterSide:
    def __init__(self, broker: BrokerModel) -> None:
        self._broker = broker
        self._greeted: set[int] = set()

    def _links(self) -> list[ReplicaLink]:
        return [link for link in self._broker.in_sync.links if isinstance(link, ReplicaLink)]

    def drop_all(self) -> None:
        self._broker.in_sync.links.clear()

    def lost(self, peer: int) -> None:
        for link in self._links():
            if link.broker_id == peer:
                self._broker.in_sync.links.remove(link)
                self._broker.in_sync.closed(link)
        self._broker.promise()

    def appended(self) -> None:
        for link in self._links():
            self._feed(link)
        self._broker.promise()

    def greeted(self, number: int, replica: int) -> None:
        """A replica connects, and asks until it is answered; what an older connection of it said is over as soon as it
        reports through this one.
        """
        broker = self._broker
        if broker.is_master and number not in self._greeted:
            self._greeted.add(number)
            broker.in_sync.links.append(ReplicaLink(number, replica, broker.clock()))
        if any(link.number == number for link in self._links()):
            mine = EpochList(broker.disk.epochs.all)
            other = broker.cluster.broker(replica)
            _send(broker, other, "follows", "answered", number, broker.epoch, mine, len(broker.disk.log), link=number)

    def reported(self, number: int, have: int, end: int) -> None:
        """It has the log up to `have`, and answers for it up to `end`."""
        broker = self._broker
        link = next((each for each in self._links() if each.number == number), None)
        if link is None or not broker.is_master:
            return
        if have > len(broker.disk.log) or (link.ack >= 0 and have > link.next):
            broker.in_sync.links.remove(link)
            return
        first = link.ack < 0
        if first:
            link.next = have
        link.ack = end
        if end == len(broker.disk.log):
            link.caught_up_at = broker.clock()
        if first:
            broker.in_sync.came(link)
        broker.promise()
        self._feed(link)

    def _feed(self, link: ReplicaLink) -> None:
        if link.ack < 0:
            return
        broker, disk = self._broker, self._broker.disk
        entries = disk.log[link.next : link.next + _BATCH]
        if broker.flaw is Flaw.SWAP_ENTRIES and len(entries) > 1:
            entries = [entries[1], entries[0], *entries[2:]]
        starts = [each for each in disk.epochs if link.next <= each.start < link.next + max(len(entries), 1)]
        covering = disk.epochs.at(link.next)
        known = [*([covering] if covering and covering not in starts else []), *starts]
        _send(
            broker, broker.cluster.broker(link.broker_id), "follows", "fed", link.number, broker.epoch, link.next,
            tuple(entries), tuple(known), broker.confirmed, dict(broker.consumed), link=link.number,
        )  # fmt: skip
        link.next += len(entries)


class Upstream:
    """The connection of a replica to its master; they `agreed` once the replica has cut what only it had."""

    def __init__(self, number: int, peer: int) -> None:
        self.number, self.peer, self.heard_at = number, peer, 0
        self.agreed = False


class ReplicaSide:
    def __init__(self, broker: BrokerModel) -> None:
        self._broker = broker
        self.up: Upstream | None = None

    def lost(self, peer: int) -> None:
        if self.up is not None and self.up.peer == peer:
            self.up = None

    def tick(self) -> None:
        if self.up is None and self._broker.master:
            self.connect()
        else:
            self.report()

    def connect(self) -> None:
        broker = self._broker
        broker.cluster.connections += 1
        self.up = Upstream(broker.cluster.connections, broker.master)
        self._greet(self.up)
        broker.later(LATE_MS, self._give_up, self.up)

    def _greet(self, up: Upstream) -> None:
        master = self._broker.cluster.broker(up.peer)
        _send(self._broker, master, "gives", "greeted", up.number, self._broker.id, link=up.number)

    def _give_up(self, up: Upstream) -> None:
        if self.up is up and self._broker.cluster.time.now - up.heard_at >= LATE_MS:
            self.up = None
        elif self.up is up:
            self._broker.later(LATE_MS, self._give_up, up)

    def _current(self, number: int, epoch: int) -> Upstream | None:
        if self.up is None or self.up.number != number:
            return None
        return self.up if epoch >= self._broker.epoch else None

    def answered(self, number: int, epoch: int, theirs: EpochList, their_end: int) -> None:
        """Cut what the master does not have, sync the cut, and say what is left."""
        up, broker, disk = self._current(number, epoch), self._broker, self._broker.disk
        if up is None or up.agreed or disk.failed:
            return
        point = consistent_point(disk.epochs, len(disk.log), theirs, their_end)
        if point is None and disk.log and len(disk.epochs) and not is_superseded(disk.epochs, theirs):
            broker.cluster.undecided.append(f"{broker.name} has {disk.epochs.all}, its master {theirs.all}")
        if broker.flaw is not Flaw.KEEP_TAIL:
            if (point or 0) < len(disk.log):
                broker.cluster.faults.tail_was_cut(broker)
            disk.cut(point or 0, durably=broker.flaw is not Flaw.CUT_LAZILY)
            broker.clamp_consumed()
        broker.confirmed = min(broker.confirmed, len(disk.log))
        up.heard_at = broker.cluster.time.now
        up.agreed = True
        self.report()

    def fed(
        self, number: int, epoch: int, at: int, entries: tuple[Entry, ...], starts: tuple[Epoch, ...], confirmed: int,
        consumed: dict[int, int],
    ) -> None:  # fmt: skip
        up, broker, disk = self._current(number, epoch), self._broker, self._broker.disk
        if up is None:
            return
        if not self._may_report(up) or disk.broken or (at != len(disk.log) and broker.flaw is not Flaw.KEEP_TAIL):
            self.up = None
            return
        if broker.flaw is Flaw.CLAIM_MORE and entries:
            self._tell(up, at, at + len(entries))
            if broker.cluster.time.random.random() < 0.5:
                return
        for start in starts:
            disk.epochs.add(start)
        disk.log += entries
        broker.written()
        broker.confirmed = max(broker.confirmed, min(confirmed, len(disk.log)))
        for queue, offset in consumed.items():
            broker.consumed[queue] = max(broker.consumed.get(queue, 0), min(offset, len(disk.visible(queue))))
        up.heard_at = broker.cluster.time.now
        if entries:
            self.report()

    def report(self) -> None:
        """Under SYNC_FLUSH what is synced; of a disk that has failed, nothing. Who was not answered yet asks again."""
        broker, disk = self._broker, self._broker.disk
        if self.up is None or disk.failed:
            return
        if self._may_report(self.up):
            self._tell(self.up, len(disk.log), disk.synced if broker.cluster.sync_flush else len(disk.log))
        else:
            self._greet(self.up)

    def _may_report(self, up: Upstream) -> bool:
        """A report is a promise: before the logs agree there is nothing to be said of this one."""
        return up.agreed or self._broker.flaw is Flaw.REPORT_UNASKED

    def _tell(self, up: Upstream, have: int, end: int) -> None:
        master = self._broker.cluster.broker(up.peer)
        _send(self._broker, master, "gives", "reported", up.number, have, end, link=up.number)
