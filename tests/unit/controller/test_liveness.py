from __future__ import annotations

import pytest
from tests.unit.controller.conftest import FakeClock

from sprocketmq.controller import liveness as module
from sprocketmq.controller.decisions import ReplicaStanding
from sprocketmq.controller.liveness import MAX_LEASE_MS, LiveIdentity, Liveness

ME, OTHER = LiveIdentity("c", "a", 1, "h:1"), LiveIdentity("c", "a", 2, "h:2")


@pytest.fixture
def liveness(clock: FakeClock) -> Liveness:
    return Liveness(clock)


def test_each_broker_says_when_it_is_to_be_missed(liveness: Liveness, clock: FakeClock) -> None:
    assert liveness.heartbeat(ME, "s1", timeout_ms=1500)
    assert liveness.heartbeat(OTHER, "s2")
    assert liveness.next_expiry() == 1001.5
    clock.now += 1.5
    assert liveness.expire() == []
    clock.now += 0.1
    assert liveness.expire() == [ME]
    assert not liveness.lives(ME)
    clock.now += 8.5
    assert liveness.expire() == [OTHER]  # ten seconds, when it says nothing
    assert liveness.next_expiry() is None


@pytest.mark.parametrize(("asked", "seconds"), [(1, 0.1), (1 << 60, 600)])
def test_times_are_bounded(liveness: Liveness, clock: FakeClock, asked: int, seconds: float) -> None:
    liveness.heartbeat(ME, "s", timeout_ms=asked)
    assert liveness.next_expiry() == clock.now + seconds


def test_who_lives_and_what_it_said(liveness: Liveness, clock: FakeClock) -> None:
    liveness.heartbeat(ME, "s", standing=ReplicaStanding(3, 100, 1))
    liveness.heartbeat(LiveIdentity("other", "a", 2, "h:2"), "s")
    assert liveness.living("c", "a", {1: "h:1", 2: "h:2"}) == {1: ReplicaStanding(3, 100, 1)}
    assert liveness.living("c", "b", {1: "h:1"}) == {}


def test_of_two_with_one_id_the_registered_one_counts(liveness: Liveness, clock: FakeClock) -> None:
    liveness.heartbeat(ME, "s", standing=ReplicaStanding(3, 100, 1), timeout_ms=1000)
    liveness.heartbeat(ME._replace(address="h:9"), "t", standing=ReplicaStanding(3, 50, 1))
    assert liveness.living("c", "a", {1: "h:1"}) == {1: ReplicaStanding(3, 100, 1)}
    clock.now += 1.5
    assert liveness.living("c", "a", {1: "h:1"}) == {}


def test_the_broker_is_judged_and_not_its_socket(liveness: Liveness) -> None:
    liveness.heartbeat(ME, "old")
    assert liveness.suspects("old") == [ME]
    liveness.heartbeat(ME, "new")
    assert liveness.suspects("old") == []
    assert not liveness.gone(ME, "old")  # it spoke while it was being looked for
    assert liveness.lives(ME)
    assert liveness.gone(ME, "new")
    assert not liveness.lives(ME)
    assert liveness.saw_end_of(ME)


def test_a_lease_holds_off_an_election(liveness: Liveness, clock: FakeClock) -> None:
    liveness.heartbeat(ME, "s", timeout_ms=1000)
    assert liveness.lease(ME, 3000)
    clock.now += 2
    assert liveness.expire() == []
    assert liveness.lives(ME)
    clock.now += 1.1
    assert liveness.expire() == [ME]
    assert not liveness.saw_end_of(ME)


def test_a_lease_that_is_given_back(liveness: Liveness, clock: FakeClock) -> None:
    liveness.heartbeat(ME, "s", timeout_ms=1000)
    liveness.lease(ME, 3000)
    assert not liveness.lease(ME, 0)
    clock.now += 1.1
    assert liveness.expire() == [ME]


def test_a_closed_connection_ends_a_lease(liveness: Liveness) -> None:
    liveness.heartbeat(ME, "s")
    liveness.lease(ME, 3000)
    assert liveness.gone(ME, "s")
    assert not liveness.lives(ME)


@pytest.mark.parametrize("millis", [-1, MAX_LEASE_MS + 1])
def test_a_lease_that_is_not_granted(liveness: Liveness, millis: int) -> None:
    assert not liveness.lease(ME, 1000)  # nobody has heard of it
    liveness.heartbeat(ME, "s")
    assert not liveness.lease(ME, millis)


def test_strangers_do_not_fill_the_table(liveness: Liveness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BROKERS", 2)
    for each in range(5):
        liveness.heartbeat(LiveIdentity("c", "a", each, "h:1"), "s")
    assert len(liveness) == 2
    for each in range(2):
        liveness.gone(LiveIdentity("c", "a", each, "h:1"), "s")
    liveness.heartbeat(ME, "s")
    assert liveness.lives(ME)


def said(liveness: Liveness, epoch: int, max_offset: int, confirm_offset: int) -> bool:
    """Whether one that says so has lost what it had confirmed."""
    standing = ReplicaStanding(epoch, max_offset)
    liveness.heartbeat(ME, "s", standing=standing, confirm_offset=confirm_offset, timeout_ms=1000)
    return liveness.living("c", "a", {1: "h:1"})[1].lost


def test_less_than_was_confirmed(liveness: Liveness, clock: FakeClock) -> None:
    assert not said(liveness, 3, 900, 800)
    assert not said(liveness, 3, 800, 0)  # what was not confirmed is not missed: a restart may cut it
    clock.now += 2
    assert liveness.expire() == [ME]  # that is kept while it is away
    assert said(liveness, 3, 799, 799)
    assert said(liveness, 2, 790, 790)
    assert not said(liveness, 3, 801, 0)  # it has it again


def test_a_log_of_a_newer_epoch_is_another_log(liveness: Liveness) -> None:
    """It was cut under a new master, by an election that the operator allowed, say."""
    assert not said(liveness, 3, 900, 900)
    assert not said(liveness, 4, 500, 400)
    assert not said(liveness, 4, 450, 450)


def test_what_is_not_said_is_not_missed(liveness: Liveness) -> None:
    assert not said(liveness, 3, 900, 2**40)  # no more than it has can be confirmed
    assert not said(liveness, 3, 900, 0)
    assert not said(liveness, -1, -1, -1)
    assert not liveness.has_lost(ME, None, None)


def test_who_is_known_to_have_lost_something_answers_for_what_it_has(liveness: Liveness) -> None:
    said(liveness, 3, 900, 900)
    assert said(liveness, 3, 500, 400)
    liveness.forgive(ME)
    assert not said(liveness, 3, 500, 400)
    assert said(liveness, 3, 399, 0)


def test_what_is_kept_of_those_who_are_away_is_bounded(liveness: Liveness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BROKERS", 3)
    for broker_id in range(6):
        each = LiveIdentity("c", "a", broker_id, "h:1")
        liveness.heartbeat(each, "s", standing=ReplicaStanding(1, 9), confirm_offset=9)
        liveness.gone(each, "s")
    assert [liveness.confirmed(LiveIdentity("c", "a", each, "")) for each in range(6)] == [-1, -1, -1, 9, 9, 9]
