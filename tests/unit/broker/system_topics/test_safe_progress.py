from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.roles import Role, Standing
from sprocketmq.broker.system_topics.safe_progress import SafeProgress


async def test_progress_waits_for_the_log(broker: Broker, caller: Caller) -> None:
    saved: list[int] = []
    now = [1]
    progress = SafeProgress(broker.store, lambda: now[0], saved.append)
    await caller.send()
    broker.store.flusher.abandon()  # the test flushes
    progress.begin()
    assert saved == []
    now[0] = 2
    broker.store.flush()
    progress._look()
    assert saved == [1]  # of the moment when it began, not of this one
    progress.begin()
    assert saved == [1, 2]


async def test_what_has_not_changed_is_not_saved_again(broker: Broker) -> None:
    saved: list[int] = []
    progress = SafeProgress(broker.store, lambda: 7, saved.append)
    progress.save_now()
    progress.save_now()
    progress.begin()
    assert saved == [7]


async def test_a_broker_that_is_the_master_no_more_saves_nothing(
    broker: Broker, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log may be cut, and grow until it is flushed so far: timers of the wheel that is gone were never read."""
    kinds, saved = broker.kinds, list[Any]()
    progress = [each.progress for each in (kinds.schedule, kinds.timer, kinds.halves, kinds.revive)]
    broker.store.flusher.abandon()  # the test flushes
    await caller.send(body=b"timer", TIMER_DELAY_SEC="20")
    for each in progress:
        each.drop()
        monkeypatch.setattr(each, "_save", saved.append)
    kinds.timer.alarm.ring()  # which begins to save in a moment
    for each in progress[:1] + progress[2:]:
        each.begin()
    broker.roles.become(Standing(role=Role.FENCED, broker_id=0))
    await asyncio.sleep(0)
    broker.store.flush()
    for each in progress:
        each._look()
    assert saved == []
