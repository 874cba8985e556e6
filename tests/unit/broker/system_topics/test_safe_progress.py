from __future__ import annotations

from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
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
