"""Who must have a message before it is promised: the in-sync set of a controller, seen from its master.

Let S be the set that the controller has now. A put is promised when every member of

    known, as the controller answered last  +  every set asked for since  +  who is about to be asked for

has it. A request whose answer is lost may still have been granted, or may be granted later, so it counts until an
answer with a higher set epoch ends it, or it was asked again and refused at the set epoch that is known. So S is always
part of that union, and whoever is elected from S has every promise.

A set that nobody asked for is the controller's own work: a replica came up that may have lost its tail. What those
outside the set have reported counts no more; they connect and report anew. So do those who come through another
connection, for the older one may be that of a machine which lost its power and never closed it.

A replica that wants in must have all that was promised before it is asked for. While the master is alone it promises
whatever it writes; so it first waits for the replica as if it were in, and asks when that has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.slave_link import SlaveLink
from sprocketmq.broker.settings import Settings
from sprocketmq.store.store import MessageStore

#: A replica this close to the end is waited for, so long, to let it in.
_CLOSE_BYTES = 4 << 20
_JOIN_SECONDS = 1.0


class InSyncSet:
    """The `Copies` of a master under a controller."""

    gives_up = False

    def __init__(self, settings: Settings, store: MessageStore, now: Callable[[], float]) -> None:
        self.links: list[SlaveLink] = []
        self.known: frozenset[int] = frozenset()
        self.epoch = 0
        self.broker_id = -1
        #: Called when the set may have to be another one.
        self.on_change: Callable[[], object] = lambda: None
        self._settings = settings
        self._store = store
        self._now = now
        self._offset = 0
        self._requested: list[frozenset[int]] = []
        self._joining: dict[int, float] = {}
        self._refused_until: dict[int, float] = {}
        self._missing: dict[int, float] = {}
        self._first_offset = 0

    # -- what the controller says

    def begin(self, broker_id: int, members: Iterable[int], epoch: int, epoch_start: int) -> None:
        """This broker is the master of a new master epoch, which begins at `epoch_start` of the log."""
        self.broker_id, self.known, self.epoch = broker_id, frozenset(members) | {broker_id}, epoch
        self._first_offset = epoch_start
        self._requested.clear()
        self._joining.clear()
        self._refused_until.clear()
        self._missing = dict.fromkeys(self.known, self._now())
        self._offset = self._store.log.max_offset if self._alone else self._store.readable.confirm_offset or 0

    def resume(self) -> None:
        """This broker is the master again, in the same epoch. It let its replicas go when it was fenced, so that they
        have as long to come back as any that is not heard of: alone at once, it would promise what only it has.
        """
        self._missing = dict.fromkeys(self.known, self._now())

    def requesting(self, members: frozenset[int]) -> None:
        """Call before the controller is asked: it may grant the request however the answer fares."""
        if members not in self._requested:
            self._freeze()
            self._requested.append(members)

    def refused(self, members: frozenset[int]) -> None:
        """The controller has said no, to this and to whatever copies of it came before."""
        if members in self._requested:
            self._requested.remove(members)
        for each in members - self.known:
            self._joining.pop(each, None)
            self._refused_until[each] = self._now() + _JOIN_SECONDS

    def adopt(self, members: Iterable[int], epoch: int) -> None:
        """What the controller has, if it is newer than what is known."""
        if epoch <= self.epoch:
            return
        self._freeze()
        members = frozenset(members) | {self.broker_id}
        if members not in self._requested:
            self._drop([link for link in self._followers() if link.broker_id not in members])
        self.known, self.epoch = members, epoch
        self._requested.clear()
        now = self._now()
        self._missing = {each: self._missing.get(each, now) for each in self.known}
        for each in self.known:
            self._joining.pop(each, None)

    # -- what a put waits for

    @property
    def members(self) -> frozenset[int]:
        return self.known.union(*self._requested, self._joining)

    @property
    def _alone(self) -> bool:
        return self.members <= {self.broker_id}

    def _freeze(self) -> None:
        """Who promises alone has promised all that is written, when somebody comes to share that."""
        self._offset = self.offset

    @property
    def offset(self) -> int:
        """Every member has the log up to here."""
        return self._store.log.max_offset if self._alone or not self._waits_for_all else self._offset

    @property
    def _waits_for_all(self) -> bool:
        config = self._settings.current
        return config.all_ack_in_sync_state_set or config.in_sync_replicas > 1

    @property
    def needed(self) -> int:
        return 1  # a set may grow at any time, so that puts always pass by here

    @property
    def available(self) -> bool:
        """Whether others are asked; a master that is alone answers at once."""
        return not self._alone

    @property
    def timeout(self) -> float:
        return self._settings.current.slave_timeout / 1000

    def in_sync(self) -> list[SlaveLink]:
        members = self.members
        return [link for link in self._followers() if link.broker_id in members]

    def _followers(self) -> list[AutoSwitchLink]:
        """Those who have said who they are and what they have."""
        return [link for link in self.links if isinstance(link, AutoSwitchLink) and link.ack >= 0]

    def count(self) -> bool:
        """Look at what was reported; whether more of the log is replicated now."""
        acks = {link.broker_id: link.ack for link in self._followers()}
        others = self.members - {self.broker_id}
        config = self._settings.current
        if not others:
            return True
        if config.all_ack_in_sync_state_set:
            if any(each not in acks for each in others):
                return False
            offset = min(acks[each] for each in others)
        else:
            found = sorted((acks[each] for each in others if each in acks), reverse=True)
            needed = config.in_sync_replicas - 1
            offset = found[needed - 1] if 0 < needed <= len(found) else 0
        if offset <= self._offset:
            return False
        self._offset = min(offset, self._store.log.max_offset)
        return True

    # -- whether another can be the master

    def ask_all(self) -> None:
        """Have everyone say that they follow."""
        for link in self._followers():
            link.ask()

    def is_followed_by_all(self, within: float) -> bool:
        """Whether nobody else can be the master now, but for so many seconds: whoever is elected is one of the members,
        and lets go of this broker's log before it leads.
        """
        now = self._now()
        heard = {link.broker_id for link in self._followers() if link.silent_for(now) <= within}
        return self.members <= heard | {self.broker_id}

    # -- who should be in

    def came(self, link: SlaveLink) -> None:
        """Perhaps it can be let in at once."""
        if isinstance(link, AutoSwitchLink):
            self._drop([old for old in self._followers() if old.broker_id == link.broker_id and old is not link])
        self.on_change()

    def _drop(self, links: list[AutoSwitchLink]) -> None:
        for link in links:
            link.ack = -1
            link.close("it must report anew what it has")

    def closed(self, link: SlaveLink) -> None:
        """A replica is gone: it is not waited for if it was about to join, and leaves the set at once."""
        if not isinstance(link, AutoSwitchLink):
            return
        if all(each.broker_id != link.broker_id for each in self._followers()):
            self._joining.pop(link.broker_id, None)
            self._missing[link.broker_id] = float("-inf")
        self.on_change()

    def wanted(self) -> frozenset[int] | None:
        """The set that should be asked for; None when the one that is known is right.

        A master whose disk has failed may have lost what it promised, and one whose disk hangs may never come back: it
        must not become the only one that has it.
        """
        if not self._store.disk_answers():
            return None
        now = self._now()
        links = {link.broker_id: link for link in self._followers()}
        stay = {each for each in self.known if each == self.broker_id or not self._is_late(each, links.get(each), now)}
        come = {each for each, link in links.items() if each not in self.known and self._may_join(link, now)}
        wanted = frozenset(stay | come)
        if wanted != self.known:
            return wanted
        return next((members for members in self._requested if members != self.known), None)

    def _is_late(self, broker_id: int, link: AutoSwitchLink | None, now: float) -> bool:
        limit = self._settings.current.ha_max_time_slave_not_catchup / 1000
        if link is None:
            return now - self._missing.get(broker_id, now) > limit
        self._missing[broker_id] = now
        return link.ack < self._store.log.max_offset and now - link.caught_up_at > limit

    def _may_join(self, link: AutoSwitchLink, now: float) -> bool:
        """Whether it has all that was promised; one that is close is waited for a moment."""
        behind = self._store.log.max_offset - link.ack
        if link.learner or link.ack < self._first_offset or behind > _CLOSE_BYTES:
            self._joining.pop(link.broker_id, None)
            return False
        if link.broker_id not in self._joining:
            if self._refused_until.get(link.broker_id, 0.0) > now:
                return False
            self._freeze()
            self._joining[link.broker_id] = now + _JOIN_SECONDS
        if link.ack >= self._offset:
            return True
        if now > self._joining[link.broker_id]:
            del self._joining[link.broker_id]
            self._refused_until[link.broker_id] = now + _JOIN_SECONDS
        return False
