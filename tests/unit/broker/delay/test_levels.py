from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, fields, records

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.delay.levels import TURN
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.protocol.record.properties import decode_properties


def deliver(broker: Broker, clock: FakeClock, after_ms: int) -> None:
    clock.now += after_ms
    broker.kinds.schedule.deliver_due()


async def test_a_delayed_message_rests_and_comes_when_its_time_has_come(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    answer = await caller.send(body=b"later", queue_id=2, DELAY="3", TAGS="A")
    assert (answer.code, fields(answer)["queueId"], fields(answer)["queueOffset"]) == (0, "2", "0")
    resting = broker.store.reader.record_at(int(fields(answer)["msgId"][16:], 16))
    assert resting is not None
    assert (resting.topic, resting.queue_id) == (SCHEDULE_TOPIC, 2)
    assert decode_properties(resting.properties)["REAL_TOPIC"] == "T"
    deliver(broker, clock, 9_999)
    assert broker.store.max_offset("T", 2) == 0
    deliver(broker, clock, 1)
    (delivered,) = records(await caller.pull("T", queue_id=2, expression="A"))
    assert (delivered.topic, delivered.queue_id, delivered.body) == ("T", 2, b"later")
    assert (delivered.born_timestamp, delivered.born_host) == (resting.born_timestamp, resting.born_host)
    deliver(broker, clock, 60_000)
    assert broker.store.max_offset("T", 2) == 1


async def test_a_level_above_the_highest_waits_as_long_as_that(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(messageDelayLevel="1s 2s")
    caller = Caller(broker)
    await caller.send(DELAY="99")
    deliver(broker, clock, 1_999)
    assert broker.store.max_offset("T", 0) == 0
    deliver(broker, clock, 1)
    assert broker.store.max_offset("T", 0) == 1


@pytest.mark.parametrize("level", ["0", "-1", "x", "1.5", "²"])
async def test_what_is_no_level_is_not_delayed(broker: Broker, caller: Caller, level: str) -> None:
    assert (await caller.send(DELAY=level)).code == ResponseCode.SUCCESS
    assert broker.store.max_offset("T", 0) == 1


async def test_the_alarm_is_set_to_the_next_delivery_and_to_none_when_idle(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    def rings_at() -> int | None:
        return broker.kinds.schedule._levels[1].alarm.at_ms

    assert rings_at() is None
    await caller.send(DELAY="2")
    clock.now += 1000
    await caller.send(DELAY="2")
    assert rings_at() == clock.now + 4000
    deliver(broker, clock, 4000)
    assert rings_at() == clock.now + 1000
    deliver(broker, clock, 1000)
    assert rings_at() is None
    assert broker.store.max_offset("T", 0) == 2


async def test_a_backlog_is_delivered_in_turns_and_in_order(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    for number in range(TURN + 5):
        await caller.send(body=str(number).encode(), DELAY="1")
    deliver(broker, clock, 1000)
    assert broker.store.max_offset("T", 0) == TURN
    deliver(broker, clock, 0)
    assert broker.store.max_offset("T", 0) == TURN + 5
    assert bodies(await caller.pull(count=3)) == [b"0", b"1", b"2"]


async def test_nothing_is_delivered_twice_after_a_clean_restart(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for level in ("1", "1", "2"):
        await caller.send(DELAY=level)
    deliver(broker, clock, 1000)
    await broker.stop()
    kept = (tmp_path / "store/config/delayOffset.json").read_text()
    assert '"offsetTable":{1:2\n' in kept
    clock.now += 4000
    again = await start_broker()
    assert again.store.max_offset("T", 0) == 3


async def test_a_delay_that_came_due_while_the_broker_was_down_comes_at_the_start(
    start_broker: StartBroker, clock: FakeClock
) -> None:
    broker = await start_broker()
    await Caller(broker).send(DELAY="18")
    await broker.stop()
    clock.now += 2 * 3600 * 1000
    again = await start_broker()
    assert again.store.max_offset("T", 0) == 1


HOUR_MS = 3_600_000


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
async def test_a_clock_that_is_set_changes_no_delay(
    broker: Broker, caller: Caller, clock: FakeClock, by_ms: int
) -> None:
    await caller.send(body=b"before", DELAY="2")
    clock.jump(by_ms)
    for number in range(2):
        await caller.send(body=b"after %d" % number, DELAY="2")
        await caller.send(body=b"soon", DELAY="1", queue_id=1)
        deliver(broker, clock, 999)
        assert broker.store.max_offset("T", 1) == number
        deliver(broker, clock, 1)
        assert broker.store.max_offset("T", 1) == number + 1
    deliver(broker, clock, 2999)
    assert broker.store.max_offset("T", 0) == 0
    deliver(broker, clock, 1)
    assert bodies(await caller.pull()) == [b"before", b"after 0"]
    deliver(broker, clock, 1000)
    assert bodies(await caller.pull()) == [b"before", b"after 0", b"after 1"]


async def test_a_clock_that_is_wrong_for_a_moment_changes_no_delay(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    clock.jump(HOUR_MS)
    await caller.send("other")  # from now on store times are an hour ahead
    clock.jump(-HOUR_MS)
    await caller.send(DELAY="1")
    deliver(broker, clock, 999)
    assert broker.store.max_offset("T", 0) == 0
    deliver(broker, clock, 1)
    assert broker.store.max_offset("T", 0) == 1
    await caller.send(DELAY="18")
    await caller.client.close(grace=0.1)
    await broker.stop()
    again = await start_broker()
    deliver(again, clock, 2 * HOUR_MS - 1)
    assert again.store.max_offset("T", 0) == 1
    deliver(again, clock, 1)
    assert again.store.max_offset("T", 0) == 2


async def test_progress_is_saved_only_when_the_deliveries_are_on_disk(
    start_broker: StartBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker()
    await Caller(broker).send(DELAY="1")
    deliver(broker, clock, 1000)
    saved: list[dict[int, int]] = []
    progress = broker.kinds.schedule.progress
    monkeypatch.setattr(progress, "_save", saved.append)
    monkeypatch.setattr(broker.store.flusher, "flush_soon", lambda: None)
    monkeypatch.setattr(broker.store.flusher, "flushed_offset", 0)
    progress.begin()
    assert saved == []
    broker.store.flusher.flushed_offset = broker.store.log.max_offset
    progress._look()
    assert saved == [{1: 1}]


async def test_levels_that_a_smaller_table_no_longer_has_keep_their_progress(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    (tmp_path / "store/config").mkdir(parents=True)
    (tmp_path / "store/config/delayOffset.json").write_text(json.dumps({"offsetTable": {"18": 7}}))
    broker = await start_broker(messageDelayLevel="1s")
    assert broker.kinds.schedule.offsets() == {18: 7}


async def test_a_store_that_is_full_keeps_the_message_for_later(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    await caller.send(DELAY="1")
    broker.store.appender.status = 2
    deliver(broker, clock, 1000)
    assert broker.kinds.schedule._levels[0].alarm.at_ms == clock.now + 1000
    broker.store.appender.status = 0
    deliver(broker, clock, 1000)
    assert broker.store.max_offset("T", 0) == 1


async def test_after_a_kill_nothing_is_delivered_twice(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for number in range(3):
        await caller.send(body=str(number).encode(), DELAY="2" if number == 2 else "1")
    deliver(broker, clock, 1000)
    monkeypatch.setattr(broker.kinds.schedule.progress, "save_now", lambda: None)
    await broker.stop()
    (tmp_path / "store/abort").write_text("1")
    clock.now += 4000
    again = await start_broker()
    assert again.kinds.schedule.offsets() == {1: 2, 2: 1}
    assert bodies(await Caller(again).pull()) == [b"0", b"1", b"2"]
