from __future__ import annotations

import pytest
from tests.unit.controller.support import alter, apply, elect, kept, living, three

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.decisions import Living, ReplicaStanding
from sprocketmq.controller.elections import by_controller, candidates, needs_master

Ids = frozenset[int]


def test_the_first_master_is_who_asks_first() -> None:
    record = kept(apply(kept(apply(None, 1)), 2))
    outcome = elect(record, 2, {})
    assert outcome.elected
    assert outcome.answer.ext_fields == {
        "masterBrokerId": "2", "masterAddress": "127.0.0.1:16110", "masterEpoch": "1", "syncStateSetEpoch": "1",
    }  # fmt: skip
    assert outcome.answer.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{1:"127.0.0.1:16100",2:"127.0.0.1:16110"},"brokerName":"ha-a",'
        b'"cluster":"HaCluster"},"syncStateSet":[2]}'
    )


def test_a_stranger_is_not_crowned() -> None:
    record = kept(apply(None, 1))
    assert elect(record, 7, living(7)).answer.code == ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
    assert elect(None, 1, living(1)).answer.remark == "Broker hasn't been registered"


def test_the_controller_cannot_begin_the_first_reign() -> None:
    """RocketMQ would count an epoch here, and nobody could ever be elected after it."""
    record = kept(apply(None, 1))
    outcome = by_controller(record, living(1))
    assert (outcome.record, outcome.answer.code) == (record, ResponseCode.CONTROLLER_MASTER_NOT_AVAILABLE)


def test_a_living_master_is_kept() -> None:
    for asker, designate in ((2, False), (-1, False), (1, True)):
        outcome = elect(three(), asker, living(1, 2), designate=designate)
        assert outcome.record == three()
        assert outcome.answer.code == ResponseCode.CONTROLLER_MASTER_STILL_EXIST
        assert outcome.answer.remark == "The old master 1 is still alive, not need to elect new master for broker ha-a"
        assert outcome.answer.body == b'{"syncStateSet":[1,2]}'
        assert (outcome.answer.ext_fields or {})["masterBrokerId"] == "1"


def test_a_dead_one_is_replaced_from_the_set() -> None:
    record = kept(elect(three(), -1, living(2, 3)))
    assert (record.master, record.master_epoch, record.in_sync, record.in_sync_epoch) == (2, 2, Ids({2}), 3)


@pytest.mark.parametrize("asker", [-1, 3])
def test_who_is_not_in_the_set_is_not_elected(asker: int) -> None:
    outcome = elect(three(), asker, living(3))
    assert not outcome.elected
    assert kept(outcome).in_sync == {1, 2}
    if asker == -1:
        assert outcome.answer.code == ResponseCode.CONTROLLER_MASTER_NOT_AVAILABLE
        assert outcome.answer.remark == "Old master has down and failed to elect a new broker master"
        assert (kept(outcome).master, kept(outcome).master_epoch, kept(outcome).in_sync_epoch) == (None, 2, 2)
        assert elect(kept(outcome), asker, living(3)).record == outcome.record  # no epoch for each further try
    else:
        assert outcome.answer.code == ResponseCode.CONTROLLER_ELECT_MASTER_FAILED
        assert outcome.answer.remark == "Failed to elect a new master"
        assert outcome.record == three()


def test_unless_the_operator_allows_it() -> None:
    assert kept(elect(three(), -1, living(3), unclean=True)).master == 3
    assert kept(elect(three(), -1, living(2, 3), unclean=True)).master == 2


def test_by_name() -> None:
    assert kept(elect(three(), 2, living(1, 2), designate=True)).master == 2
    assert elect(three(), 3, living(1, 2, 3), designate=True).answer.code == 2012
    assert elect(three(), 2, living(1), designate=True).answer.code == 2012


@pytest.mark.parametrize(
    ("alive", "best"),
    [
        ({2: ReplicaStanding(1, 100, 5), 3: ReplicaStanding(2, 0, 9)}, 3),
        ({2: ReplicaStanding(2, 100, 5), 3: ReplicaStanding(2, 101, 9)}, 3),
        ({2: ReplicaStanding(2, 0, 5), 3: ReplicaStanding(2, 3 << 30, 5)}, 3),  # an int in Java, where this one loses
        ({2: ReplicaStanding(2, 100, 5), 3: ReplicaStanding(2, 100, 4)}, 3),
        ({2: ReplicaStanding(2, 100, 5), 3: ReplicaStanding(2, 100, 5)}, 2),
    ],
)
def test_the_best_of_the_set(alive: Living, best: int) -> None:
    record = kept(alter(three(), {1, 2, 3}, living(1, 2, 3)))
    assert kept(elect(record, -1, alive)).master == best


def test_when_a_master_is_needed() -> None:
    assert not needs_master(three(), living(1, 2))
    assert needs_master(three(), living(2))
    assert not needs_master(three(), living(3))
    assert needs_master(three(), living(3), unclean=True)
    assert not needs_master(kept(apply(None, 1)), living(1))


@pytest.mark.parametrize(("doubted", "elected"), [(set(), 2), ({2}, 3), ({2, 3}, 2)])
def test_who_is_doubted_comes_last(doubted: set[int], elected: int) -> None:
    record = kept(alter(three(), {1, 2, 3}, living(1, 2, 3)))
    outcome = by_controller(record, living(2, 3), doubted=frozenset(doubted))
    assert kept(outcome).master == elected


WHOLE, LESS = ReplicaStanding(1, 100), ReplicaStanding(1, 900, lost=True)


@pytest.mark.parametrize("asker", [-1, 2])
def test_who_has_lost_what_it_confirmed_is_not_elected(asker: int) -> None:
    """Whatever it has now: another in the set has what it lost."""
    assert not elect(three(), asker, {2: LESS}).elected
    assert elect(three(), 2, {1: WHOLE, 2: LESS}, designate=True).answer.code == 2012
    assert not needs_master(three(), {2: LESS})
    assert kept(elect(three(), -1, {2: LESS, 3: WHOLE}, unclean=True)).master == 2  # in sync once, and longer


def test_a_master_that_has_lost_what_it_confirmed_is_replaced() -> None:
    alive = {1: LESS, 2: WHOLE}
    assert needs_master(three(), alive)
    assert candidates(three(), alive) == [2]
    assert kept(by_controller(three(), alive)).master == 2


def test_alone_in_the_set_it_reigns_for_nobody_has_more() -> None:
    alone = kept(alter(three(), {1}, living(1)))
    assert elect(alone, 1, {1: LESS}).answer.code == ResponseCode.CONTROLLER_MASTER_STILL_EXIST
