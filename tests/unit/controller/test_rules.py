"""Codes, remarks and headers are RocketMQ 5.3.3's; what differs on purpose is named so."""

from __future__ import annotations

import pytest
from tests.unit.controller.support import alter, apply, clean, elect, kept, living, register, three

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.rules import MAX_REPLICAS, next_broker_id

Ids = frozenset[int]
FAILED = ResponseCode.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED
WHY = "Rejecting alter syncStateSet request because the"


def test_ids_are_given_once() -> None:
    assert next_broker_id(None) == 1
    first = apply(None, 1, "h:1;5")
    assert first.answer.ext_fields == {"clusterName": "HaCluster", "brokerName": "ha-a"}
    assert next_broker_id(kept(first)) == 2
    again = apply(kept(first), 1, "h:1;5")
    assert again.answer.code == 0
    assert again.record == first.record
    other = apply(kept(first), 1, "h:2;5")
    assert other.answer.code == ResponseCode.CONTROLLER_BROKER_ID_INVALID
    assert other.answer.remark == "Fail to apply brokerId: 1 in broker-set: ha-a"
    stranger = apply(None, 2)
    assert stranger.record is None
    assert stranger.answer.remark == (
        "Broker-set: ha-a hasn't been registered in controller, but broker try to apply brokerId: 2"
    )


def test_an_id_that_was_cleaned_is_not_given_again() -> None:
    record = kept(clean(three(), "3", living(1, 2)))
    assert record.ids == {1, 2}
    assert next_broker_id(record) == 4


def test_a_skipped_id_is_never_offered() -> None:
    """RocketMQ only counts, and would offer 5 to a second broker."""
    record = kept(apply(kept(apply(None, 1)), 5))
    assert next_broker_id(record) == 6


@pytest.mark.parametrize("broker_id", [0, -1, -5])
def test_ids_begin_with_one(broker_id: int) -> None:
    assert apply(three(), broker_id).answer.code == ResponseCode.CONTROLLER_BROKER_ID_INVALID


def test_a_set_is_bounded() -> None:
    record = kept(apply(None, 1))
    for each in range(2, MAX_REPLICAS + 1):
        record = kept(apply(record, each))
    assert apply(record, MAX_REPLICAS + 1).answer.code == ResponseCode.CONTROLLER_BROKER_ID_INVALID


def test_who_registers_is_told_a_living_master_alone() -> None:
    record = three()
    told = register(record, 3, living(1, 2)).answer.ext_fields or {}
    assert told == {
        "clusterName": "HaCluster", "brokerName": "ha-a", "masterBrokerId": "1", "masterAddress": "127.0.0.1:16100",
        "masterEpoch": "1", "syncStateSetEpoch": "2",
    }  # fmt: skip
    assert set(register(record, 3, living(2)).answer.ext_fields or {}) == {"clusterName", "brokerName"}


def test_who_registers_must_have_an_id() -> None:
    unknown = ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
    nobody = register(None, 1, {}).answer
    assert (nobody.code, nobody.remark) == (unknown, "Broker-set: ha-a hasn't been registered in controller")
    ninth = register(three(), 9, {}).answer
    assert (ninth.code, ninth.remark) == (unknown, "BrokerId: 9 hasn't been registered in broker-set: ha-a")


def test_an_id_that_lives_is_nobody_elses() -> None:
    """RocketMQ would take the copy of a store for its original, at another address."""
    record = three()
    copy = register(record, 1, living(1, 2, 3), address="10.0.0.9:1")
    assert copy.record is record
    assert (copy.answer.code, copy.answer.remark) == (
        ResponseCode.CONTROLLER_BROKER_ID_INVALID,
        "BrokerId: 1 in broker-set: ha-a is in use at 127.0.0.1:16100; "
        "remove brokerIdentity from the store of 10.0.0.9:1 if it was copied",
    )
    moved = register(record, 1, living(2, 3), address="10.0.0.9:1")
    assert kept(moved).master_address == "10.0.0.9:1"


def test_addresses_are_kept() -> None:
    record = kept(register(three(), 1, {}, address="10.0.0.1:1", broker_ha_address="10.0.0.1:2"))
    assert (record.master_address, record.master_ha_address) == ("10.0.0.1:1", "10.0.0.1:2")
    again = register(record, 2, living(1))
    assert again.record == record
    assert (again.answer.ext_fields or {})["masterHaAddress"] == "10.0.0.1:2"


def test_a_master_that_comes_up_again_reigns_in_a_new_epoch() -> None:
    """It may have lost what a slave has got from it: in one epoch nobody could tell the two apart."""
    record = three()
    again = register(record, 1, living(1, 2))
    assert kept(again).master == 1
    assert kept(again).master_epoch == record.master_epoch + 1
    assert kept(again).in_sync == record.in_sync
    assert (again.answer.ext_fields or {})["masterEpoch"] == str(record.master_epoch + 1)
    assert kept(register(record, 2, living(1, 2))).master_epoch == record.master_epoch


def test_a_replica_that_may_have_lost_its_tail_leaves_the_set() -> None:
    record = kept(register(three(), 2, living(1), unclean_boot=True))
    assert (record.in_sync, record.in_sync_epoch, record.master) == (Ids({1}), 3, 1)


def test_a_master_that_may_have_lost_its_tail_reigns_no_more() -> None:
    """Even when its heartbeats of before the power cut are not over yet."""
    outcome = register(three(), 1, living(1, 2), unclean_boot=True)
    record = kept(outcome)
    assert (record.in_sync, record.master, record.master_epoch) == (Ids({2}), None, 2)
    assert "masterBrokerId" not in (outcome.answer.ext_fields or {})
    assert kept(elect(record, 1, living(1, 2))).master == 2


def test_the_last_of_a_set_stays_whatever_it_lost() -> None:
    alone = kept(alter(three(), {1}, living(1)))
    assert kept(register(alone, 1, {}, unclean_boot=True)) == alone.with_master(1)


def test_a_request_to_let_in_who_lost_its_tail_is_too_late() -> None:
    """The third had acknowledged everything, and the master asks for it; then comes the power cut."""
    record = kept(register(three(), 3, living(1, 2), unclean_boot=True))
    assert (record.in_sync, record.in_sync_epoch) == (Ids({1, 2}), 3)
    assert alter(record, {1, 2, 3}, living(1, 2, 3), set_epoch=2).answer.code == 2001


@pytest.mark.parametrize(
    ("wanted", "changes", "code", "remark"),
    [
        ({1, 2}, {}, FAILED, "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"),
        ({1}, {"master": 2}, 2002, f"{WHY} current leader is:{{1}}, not {{2}}"),
        ({1}, {"epoch": 7}, 2000, f"{WHY} current master epoch is:{{1}}, not {{7}}"),
        ({1}, {"set_epoch": 1}, 2001, f"{WHY} current syncStateSet epoch is:{{2}}, not {{1}}"),
        ({1, 9}, {}, 2003, f"{WHY} replicas {{9}} don't exist"),
        ({1, 3}, {}, 2006, f"{WHY} replicas {{3}} don't alive"),
        ({2}, {}, FAILED, f"{WHY} newSyncStateSet don't contains origin leader {{1}}"),
        ({1, 9}, {"master": 2, "epoch": 7, "set_epoch": 1}, 2002, None),
        ({1, 9}, {"epoch": 7, "set_epoch": 1}, 2000, None),
        ({1, 9}, {"set_epoch": 1}, 2001, None),
    ],
)
def test_a_change_of_the_set_that_is_refused(
    wanted: set[int], changes: dict[str, int], code: int, remark: str | None
) -> None:
    outcome = alter(three(), wanted, living(1, 2), **changes)
    assert outcome.record == three()
    assert outcome.answer.code == code
    assert remark in (None, outcome.answer.remark)
    assert outcome.answer.ext_fields == {"newSyncStateSetEpoch": "0"}


def test_nobody_changes_the_set_of_a_dethroned_master() -> None:
    orphan = kept(elect(three(), -1, {}))
    answer = alter(orphan, {1}, living(1), master=1).answer
    assert (answer.code, answer.remark) == (2002, f"{WHY} current leader is:{{null}}, not {{1}}")
    answer = alter(None, {1}, living(1), master=1).answer
    assert (answer.code, answer.remark) == (FAILED, "Broker metadata is not existed")


def test_a_change_of_the_set() -> None:
    outcome = alter(three(), {1, 2, 3}, living(1, 2, 3))
    assert kept(outcome).in_sync == {1, 2, 3}
    assert outcome.answer.ext_fields == {"newSyncStateSetEpoch": "3"}
    assert outcome.answer.body == b'{"syncStateSet":[1,2,3],"syncStateSetEpoch":3}'


# -- cleaning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "remark"),
    [
        ("", "Broker ha-a is still alive, clean up failure"),
        ("2;3", "Broker [ha-a,  2] is still alive, clean up failure"),
        ("2;x", "Please set the option <brokerControllerIdsToClean> according to the format"),
        ("2;;3", "Please set the option <brokerControllerIdsToClean> according to the format"),
    ],
)
def test_what_is_not_cleaned(ids: str, remark: str) -> None:
    outcome = clean(three(), ids, living(1, 2))
    assert (outcome.answer.code, outcome.answer.remark) == (2009, remark)
    assert outcome.record == three()


def test_an_unknown_set_cannot_be_cleaned() -> None:
    answer = clean(None, "", {}).answer
    assert (answer.code, answer.remark) == (2009, "Broker ha-a is not existed,clean broker data failure.")


def test_a_member_that_is_cleaned_leaves_the_set() -> None:
    record = kept(clean(three(), "2", living(1)))
    assert (record.ids, record.in_sync, record.in_sync_epoch, record.master) == (Ids({1, 3}), Ids({1}), 3, 1)


def test_a_master_that_is_cleaned_reigns_no_more() -> None:
    record = kept(clean(three(), "1", living(2)))
    assert (record.in_sync, record.master, record.master_epoch) == (Ids({2}), None, 2)


@pytest.mark.parametrize("ids", ["", "1;2", "1;2;3"])
def test_a_set_without_anyone_who_has_its_messages_is_forgotten(ids: str) -> None:
    outcome = clean(three(), ids, living(), even_living=True)
    assert (outcome.answer.code, outcome.record) == (0, None)


def test_ids_mean_those_ids() -> None:
    """RocketMQ forgets the whole set here."""
    assert kept(clean(three(), "3", living(1, 2, 3), even_living=True)).ids == {1, 2}


def test_a_record_is_kept_as_json() -> None:
    record = kept(register(three(), 1, {}, broker_ha_address="h:2"))
    assert BrokerSet.decode(record.encode()) == record
    assert BrokerSet.decode(BrokerSet(name="é", cluster="c").encode()) == BrokerSet(name="é", cluster="c")
