from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.support import make_settings
from tests.unit.store.support import open_store, put

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.in_sync_set import InSyncSet
from sprocketmq.errors import FlushFailed


@dataclass
class World:
    """A master with id 1, whose time and replicas a test moves."""

    root: Path
    entries: dict[str, str] = field(default_factory=dict)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.store = open_store(self.root / "store")
        self.set = InSyncSet(make_settings(self.root, **self.entries), self.store, lambda: self.now)
        self.changes = 0
        self.set.on_change = self._changed
        self.set.begin(1, {1}, 1, 0)

    def _changed(self) -> None:
        self.changes += 1

    def put(self, count: int = 1) -> int:
        for _ in range(count):
            assert put(self.store).ok
        return self.store.log.max_offset

    def link(self, broker_id: int, ack: int, *, learner: bool = False) -> AutoSwitchLink:
        link: Any = AutoSwitchLink.__new__(AutoSwitchLink)
        link.broker_id, link.ack, link.learner, link.caught_up_at = broker_id, ack, learner, self.now
        link._transport = None
        self.set.links.append(link)
        made: AutoSwitchLink = link
        return made

    def granted(self, *members: int) -> None:
        wanted = frozenset(members)
        self.set.requesting(wanted)
        self.set.adopt(wanted, self.set.epoch + 1)

    def drop(self, link: AutoSwitchLink) -> None:
        self.set.links.remove(link)
        self.set.closed(link)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_master_alone_promises_what_it_writes(world: World) -> None:
    end = world.put(3)
    assert world.set.offset == end
    assert not world.set.available
    assert world.set.wanted() is None


def test_who_has_everything_is_let_in(world: World) -> None:
    end = world.put(3)
    world.link(2, end)
    assert world.set.wanted() == frozenset({1, 2})


def test_nothing_more_is_promised_alone_once_somebody_is_asked_for(world: World) -> None:
    end = world.put(3)
    link = world.link(2, end)
    wanted = world.set.wanted()
    assert wanted == frozenset({1, 2})
    world.set.requesting(wanted)
    world.put()
    assert world.set.offset == end  # the controller may have granted it already
    link.ack = world.store.log.max_offset
    assert world.set.count()
    assert world.set.offset == link.ack


def test_a_replica_that_is_close_is_waited_for_and_then_asked_for(world: World) -> None:
    behind = world.put(1)
    end = world.put(5)
    link = world.link(2, behind)
    assert world.set.wanted() is None
    world.put(2)
    assert world.set.offset == end  # promised before it came
    link.ack = end
    assert world.set.wanted() == frozenset({1, 2})
    link.ack = behind


def test_a_replica_that_does_not_come_closer_is_left_behind(world: World) -> None:
    behind = world.put(1)
    world.put(5)
    world.link(2, behind)
    assert world.set.wanted() is None
    assert world.set.available
    world.now += 1.5
    assert world.set.wanted() is None
    assert world.set.members == frozenset({1})
    assert world.set.offset == world.store.log.max_offset


def test_who_is_far_behind_or_learns_is_not_let_in(world: World) -> None:
    end = world.put(3)
    world.link(3, end, learner=True)
    world.set.begin(1, {1}, 2, end)
    world.link(2, end - 1)
    assert world.set.wanted() is None
    assert not world.set.available


def test_every_member_confirms(world: World) -> None:
    world.put()
    links = [world.link(2, 0), world.link(3, 0)]
    world.granted(1, 2, 3)
    end = world.put(4)
    links[0].ack = end
    assert not world.set.count()
    links[1].ack = end
    assert world.set.count()
    assert world.set.offset == end


def test_a_member_without_a_connection_stops_promises(world: World) -> None:
    end = world.put()
    link = world.link(2, end)
    world.granted(1, 2)
    world.set.count()
    world.drop(link)
    assert world.changes == 1
    world.put()
    assert not world.set.count()
    assert world.set.offset == end
    assert world.set.wanted() == frozenset({1})
    world.set.requesting(frozenset({1}))
    assert not world.set.count()  # asked for is not granted
    world.set.adopt({1}, world.set.epoch + 1)
    assert world.set.offset == world.store.log.max_offset


def test_a_request_without_an_answer_counts_until_the_epoch_is_higher(world: World) -> None:
    end = world.put()
    link = world.link(2, end)
    world.set.requesting(frozenset({1, 2}))
    world.drop(link)
    world.put()
    assert world.set.offset == end
    assert world.set.wanted() == frozenset({1, 2})  # asked again, to learn of it
    world.set.adopt({1}, world.set.epoch)
    assert world.set.offset == end
    world.set.adopt({1, 2}, world.set.epoch + 1)
    assert world.set.wanted() == frozenset({1})
    world.set.adopt({1}, world.set.epoch + 1)
    assert world.set.offset == world.store.log.max_offset


def test_a_refused_request_is_over(world: World) -> None:
    end = world.put()
    world.link(2, end)
    world.set.requesting(frozenset({1, 2}))
    world.set.refused(frozenset({1, 2}))
    assert world.put() == world.set.offset
    assert world.set.wanted() is None


def test_who_is_late_leaves(world: World) -> None:
    end = world.put()
    link = world.link(2, end)
    world.granted(1, 2)
    world.put()
    world.now += 1.4
    assert world.set.wanted() is None
    world.now += 0.2
    assert world.set.wanted() == frozenset({1})
    link.caught_up_at = world.now
    assert world.set.wanted() is None


def test_members_that_never_connect_leave(world: World) -> None:
    world.put()
    world.set.begin(1, {1, 2}, 7, 0)
    assert world.set.offset == 0
    assert world.set.wanted() is None
    world.now += 2
    assert world.set.wanted() == frozenset({1})


def test_old_news_of_the_set_change_nothing(world: World) -> None:
    world.granted(1, 2)
    epoch = world.set.epoch
    world.set.adopt({1}, epoch)
    world.set.adopt({1}, epoch - 1)
    assert world.set.known == frozenset({1, 2})


def test_who_was_taken_out_by_the_controller_must_report_anew(world: World) -> None:
    """It may have lost its tail, and its old connection may still look alive."""
    end = world.put()
    link = world.link(2, end)
    world.granted(1, 2)
    world.set.adopt({1}, world.set.epoch + 1)
    assert link.ack == -1
    assert world.set.wanted() is None
    world.link(2, end // 2)
    assert world.set.wanted() is None
    assert world.set.members == {1, 2}  # it is waited for, with what it really has


def test_who_leaves_by_the_masters_own_wish_need_not(world: World) -> None:
    link = world.link(2, world.put())
    world.granted(1, 2)
    world.granted(1)
    assert link.ack >= 0


def test_an_older_connection_counts_no_more(world: World) -> None:
    end = world.put(2)
    old = world.link(2, end)
    world.granted(1, 2)
    new = world.link(2, end // 2)
    world.set.came(new)
    assert old.ack == -1
    world.drop(new)
    world.put()
    assert not world.set.count()


def test_a_master_whose_disk_has_failed_asks_for_no_set(world: World) -> None:
    world.link(2, world.put())
    assert world.set.wanted() == frozenset({1, 2})
    world.store.fail(FlushFailed("a sync has failed"))
    assert world.set.wanted() is None


def test_a_master_whose_disk_hangs_asks_for_no_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    link = world.link(2, world.put())
    world.granted(1, 2)
    world.drop(link)
    monkeypatch.setattr(type(world.store.flusher), "hangs", lambda *_: True)
    assert world.set.wanted() is None
    monkeypatch.undo()
    assert world.set.wanted() == frozenset({1})


def test_fewer_confirmations_may_be_asked_for(tmp_path: Path) -> None:
    world = World(tmp_path, {"allAckInSyncStateSet": "false", "inSyncReplicas": "2"})
    links = [world.link(2, 0), world.link(3, 0)]
    world.granted(1, 2, 3)
    end = world.put(2)
    assert world.set.offset < end
    links[0].ack = end
    assert world.set.count()
    assert world.set.offset == end
