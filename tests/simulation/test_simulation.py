"""Whole clusters by seed, and that the checker would notice what could be wrong with them."""

from __future__ import annotations

import os

import pytest
from tests.simulation.campaign import campaign, catches
from tests.simulation.cluster import EXCUSED, Cluster, run
from tests.simulation.flaws import Flaw

SEEDS = int(os.environ.get("SPROCKETMQ_SIMULATION_SEEDS", "500"))


def test_nothing_promised_is_lost_whatever_happens() -> None:
    wrong = {seed: found for seed, found in campaign(range(SEEDS)) if found}
    excused = [seed for seed, found in wrong.items() if found[0].startswith(EXCUSED)]
    assert {seed: found for seed, found in wrong.items() if seed not in excused} == {}
    assert len(excused) <= SEEDS / 100


@pytest.mark.parametrize("seed", [201410, 202169])
def test_a_broker_asks_again_until_somebody_leads(seed: int) -> None:
    """It asked the controller that does not lead, and lost the answer to the only election that it asked for."""
    assert run(seed) == []


def test_a_change_that_was_given_up_for_lost_does_not_come_late() -> None:
    """A refusal was answered in between, so that the master no longer counted with the set that came."""
    assert run(28946) == []


@pytest.mark.parametrize("seed", [307451, 308408])
def test_a_replica_reports_nothing_before_the_logs_agree(seed: int) -> None:
    """The answer to its handshake was lost, with the epochs that would have told it what to cut."""
    assert run(seed) == []


def test_a_seed_is_one_course_of_events() -> None:
    first, second = Cluster(7), Cluster(7)
    first.run()
    second.run()
    assert [str(call) for call in first.history.calls] == [str(call) for call in second.history.calls]
    assert any(call.name == "send" for call in first.history.ok("send"))


#: Where to begin to look, for what needs a rare course of events.
RARE = {
    Flaw.ALONE_ON_BROKEN_DISK: 289,
    Flaw.EMPTY_BOOT: 587,
    Flaw.FORGET_COPIES: 699,
    Flaw.FORGET_REQUESTED: 226,
    Flaw.HASTY_HEARTBEAT: 355,
    Flaw.LATE_WRITES: 28946,
    Flaw.LESS_LOG_AGAIN: 267,
    Flaw.OLD_EPOCH_AGAIN: 972,
    Flaw.REPORT_UNASKED: 307451,
    Flaw.SILENT_BOOT: 141,
}


@pytest.mark.parametrize("flaw", Flaw)
def test_a_mistake_is_noticed(flaw: Flaw) -> None:
    first = RARE.get(flaw, 0)
    assert catches(flaw, range(first, first + 500)) is not None


def test_there_are_enough_mistakes() -> None:
    assert len(Flaw) >= 18
