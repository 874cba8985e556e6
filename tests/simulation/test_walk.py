"""The rules of the controller, in every order of events up to a depth; and that the walk would notice a wrong rule."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.walk import Rules, walk
from tests.unit.controller.support import alter, elect, register

from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Living, Outcome


def test_what_was_promised_is_in_every_member_of_the_set() -> None:
    worlds, fault = walk(8)
    assert fault is None
    assert worlds > 100_000


def alter_at_any_epoch(record: BrokerSet, wanted: frozenset[int], alive: Living, **known: Any) -> Outcome:
    return alter(record, wanted, alive, **known | {"set_epoch": record.in_sync_epoch})


def elect_anyone(record: BrokerSet, broker_id: int, alive: Living) -> Outcome:
    return elect(record, broker_id, alive, unclean=True)


def register_without_an_epoch(record: BrokerSet, broker_id: int, alive: Living, **own: Any) -> Outcome:
    """Take a replica out that is in the set, and leave alone one that is about to join."""
    return register(record, broker_id, alive, **own if broker_id in record.in_sync else {})


@pytest.mark.parametrize(
    "wrong",
    [
        Rules(alter=alter_at_any_epoch),
        Rules(elect=elect_anyone),
        Rules(register=register_without_an_epoch),
        Rules(waits_for_asked=False),
        Rules(forgets_acks=False),
        Rules(tells_of_power=False),
    ],
    ids=["any epoch", "anyone", "no epoch", "asked", "old acks", "power"],
)
def test_a_wrong_rule_is_noticed(wrong: Rules) -> None:
    _, fault = walk(9, wrong)
    assert fault is not None
