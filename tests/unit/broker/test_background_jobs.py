"""One exception in every job that a broker does by itself: it is reported, the job is done again, and sends go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock

from sprocketmq.broker import background_jobs
from sprocketmq.broker.broker import Broker
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.system_topics.alarm import Alarm
from sprocketmq.codes import ResponseCode


class Broken(Exception):
    """What no job expects."""


def alarms_of(broker: Broker) -> Iterator[Alarm]:
    kinds = broker.kinds
    yield from (kinds.timer.alarm, kinds.order.alarm, kinds.checks.alarm)
    yield from (level.alarm for level in kinds.schedule._levels[:2])


def jobs_of(broker: Broker) -> list[Periodic]:
    return [*broker._jobs, *broker.kinds._jobs, broker.acks._scans]


def break_once(calls: list[int]) -> object:
    calls.append(1)
    if len(calls) == 1:
        raise Broken
    return None


async def test_a_job_that_fails_is_reported_and_done_again(
    start_broker: StartBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    jobs = jobs_of(broker)
    assert len(jobs) >= 15
    for job in jobs:
        caplog.clear()
        calls: list[int] = []
        whole, job._job = job._job, lambda calls=calls: break_once(calls)  # type: ignore[misc]
        with caplog.at_level(logging.ERROR):
            job._ring()
        assert job._timer is not None, f"{job.name} is not done again"
        assert "job failed" in caplog.text, job.name
        job._timer.cancel()
        job._ring()
        assert len(calls) == 2, job.name
        job._job = whole
        assert (await caller.send()).code == ResponseCode.SUCCESS, job.name
    await caller.client.close(grace=0.1)


async def test_an_alarm_that_fails_is_reported_and_rings_again(
    start_broker: StartBroker, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start_broker()
    for alarm in alarms_of(broker):
        caplog.clear()
        calls: list[int] = []
        whole, alarm._ring = alarm._ring, lambda calls=calls: break_once(calls)  # type: ignore[misc]
        with caplog.at_level(logging.ERROR):
            alarm.ring()
        assert "job failed" in caplog.text, alarm.name
        assert alarm.at_ms is not None, f"{alarm.name} does not ring again"
        alarm.ring()
        assert len(calls) == 2, alarm.name
        alarm._ring = whole


def test_a_grammar_that_cannot_be_built_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody asks the thread what became of it."""
    monkeypatch.setattr(background_jobs, "compile_sql", Mock(side_effect=Broken))
    background_jobs._load_filters()
    assert [record.getMessage() for record in caplog.records] == ["SQL92 grammar not built"]
