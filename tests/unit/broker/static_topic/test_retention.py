from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from tests.unit.broker.static_topic.conftest import Two
from tests.unit.broker.static_topic.support import A, B, detail, item, put
from tests.unit.broker.support import FakeClock

from sprocketmq.broker.static_topic.mapping_items import Items

OLD, NEW = item(0, A, 0), item(1, B, 500, queue_id=1)
BACK = item(2, A, 1000, queue_id=1)


def items_of(two: Two, name: str) -> Items:
    broker = two.broker_a if name == A else two.broker_b
    return broker.mappings.details["S"].hosted_queues.get(0, ())


async def test_an_item_without_messages_goes(two: Two) -> None:
    await put(two.a, detail(A, {0: (OLD, NEW)}))
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    await two.broker_b.mapping_cleaner.clean("S")
    assert items_of(two, B) == (NEW,)


async def test_an_item_with_messages_stays(two: Two) -> None:
    await put(two.a, detail(A, {0: (OLD,)}))
    await two.a.send("S")
    await put(two.a, detail(A, {0: (OLD, NEW)}, 2))
    await put(two.b, detail(B, {0: (OLD, NEW)}, 2))
    for cleaner in (two.broker_a.mapping_cleaner, two.broker_b.mapping_cleaner):
        await cleaner.clean("S")
    assert items_of(two, A) == items_of(two, B) == (OLD, NEW)


async def test_a_list_goes_when_the_next_leader_has_handed_over_too(two: Two) -> None:
    await put(two.a, detail(A, {0: (OLD, NEW)}, 3))
    await put(two.b, detail(B, {0: (OLD, NEW, BACK)}, 3))
    await two.broker_a.mapping_cleaner.clean("S")
    assert not items_of(two, A)


async def test_it_is_done_at_the_hours_of_deletion(two: Two, clock: FakeClock) -> None:
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    await put(two.a, detail(A, {0: (OLD, NEW)}))
    cleaned = asyncio.Event()
    two.broker_b.mappings.on_change.append(lambda _topic: cleaned.set())
    midnight = datetime.fromtimestamp(clock.now / 1000).replace(hour=0)
    clock.now = int(midnight.replace(hour=5).timestamp() * 1000)
    two.broker_b.mapping_cleaner.begin()
    assert not cleaned.is_set()
    clock.now = int(midnight.replace(hour=4).timestamp() * 1000)
    two.broker_b.mapping_cleaner.begin()
    async with asyncio.timeout(60):
        await cleaned.wait()
    assert items_of(two, B) == (NEW,)


async def test_one_topic_that_fails_does_not_keep_the_others_from_being_cleaned(
    two: Two, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cleaner, cleaned = two.broker_b.mapping_cleaner, []

    async def clean(topic: str) -> None:
        cleaned.append(topic)
        raise ValueError("nobody expects this")

    monkeypatch.setattr(cleaner, "clean", clean)
    monkeypatch.setattr(two.broker_b.mappings, "details", {"S": None, "T": None})
    await cleaner._run()
    assert cleaned == ["S", "T"]
    assert [record.getMessage() for record in caplog.records].count("mapping not cleaned") == 2
