from __future__ import annotations

import asyncio
import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import KEY, START_MS, Caller, FakeClock, bodies, fields, make_broker, records

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.delay import timer as module
from sprocketmq.broker.delay.recall import parse_handle
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.names import TIMER_TOPIC
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.store.files.disk import Disk, DiskFile
from sprocketmq.store.timer.log import UNIT_SIZE, TimerLog, read_timer_check
from sprocketmq.store.timer.wheel import SLOT_SIZE, SLOTS


def deliver(broker: Broker, clock: FakeClock, after_ms: int) -> None:
    clock.now += after_ms
    broker.kinds.timer.alarm.ring()


@pytest.mark.parametrize(
    "asked",
    [{"TIMER_DELAY_SEC": "5"}, {"TIMER_DELAY_MS": "5000"}, {"TIMER_DELIVER_MS": str(START_MS + 5000)}],
)
async def test_a_timer_comes_in_its_second_and_never_early(
    broker: Broker, caller: Caller, clock: FakeClock, asked: dict[str, Any]
) -> None:
    answer = await caller.send(body=b"timed", queue_id=1, TAGS="A", **asked)
    assert (answer.code, fields(answer)["queueId"]) == (0, "1")
    resting = broker.store.reader.record_at(int(fields(answer)["msgId"][16:], 16))
    assert resting is not None
    assert (resting.topic, resting.queue_id) == (TIMER_TOPIC, 0)
    assert decode_properties(resting.properties)["TIMER_OUT_MS"] == str(START_MS + 4000)
    deliver(broker, clock, 4_999)
    assert broker.store.max_offset("T", 1) == 0
    deliver(broker, clock, 1)
    (record,) = records(await caller.pull(queue_id=1, expression="A"))
    properties = decode_properties(record.properties)
    assert (record.body, record.topic) == (b"timed", "T")
    assert properties["TIMER_DEQUEUE_MS"] == str(clock.now)
    assert properties["TIMER_ENQUEUE_MS"] == str(START_MS)
    deliver(broker, clock, 10_000)
    assert broker.store.max_offset("T", 1) == 1


async def test_timers_of_one_second_come_in_the_order_they_were_sent(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    for number in range(5):
        await caller.send(body=str(number).encode(), TIMER_DELAY_MS=str(2000 - number))
    deliver(broker, clock, 0)
    deliver(broker, clock, 2000)
    assert bodies(await caller.pull()) == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("asked", [{"TIMER_DELAY_SEC": "259201"}, {"TIMER_DELAY_MS": "soon"}])
async def test_a_time_that_cannot_be_is_refused(broker: Broker, caller: Caller, asked: dict[str, Any]) -> None:
    assert (await caller.send(**asked)).code == ResponseCode.MESSAGE_ILLEGAL


async def test_a_time_that_is_over_is_now(broker: Broker, caller: Caller) -> None:
    await caller.send(TIMER_DELIVER_MS=str(START_MS - 1))
    assert broker.store.max_offset("T", 0) == 1


async def test_a_delay_level_wins(broker: Broker, caller: Caller) -> None:
    await caller.send(DELAY="1", TIMER_DELAY_SEC="100")
    assert broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 0) == 1
    assert broker.store.max_offset(TIMER_TOPIC, 0) == 0


async def test_timers_may_be_switched_off(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(timerWheelEnable="false"))
    assert (await caller.send(TIMER_DELAY_SEC="1")).code == ResponseCode.SYSTEM_ERROR


async def test_the_files_are_as_rocketmq_has_them(start_broker: StartBroker, clock: FakeClock, tmp_path: Path) -> None:
    broker = await start_broker()
    answer = await Caller(broker).send(TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    await broker.stop()
    root = tmp_path / "store"
    second = START_MS // 1000 + 4
    wheel = (root / "timerwheel").read_bytes()
    assert len(wheel) == 38_707_200
    assert struct.unpack_from(">qqqii", wheel, second % 1_209_600 * 32) == (second, 0, 0, 1, 0)
    log = (root / "timerlog/00000000000000000000").read_bytes()
    assert len(log) == 104_857_600
    unit = struct.unpack_from(">iqiqiqiiq", log)
    commit_offset = int(fields(answer)["msgId"][16:], 16)
    assert unit[:6] == (52, -1, 1, START_MS, 4000, commit_offset)
    assert unit[7:] == (ord("T"), 0)
    check = (root / "config/timercheck").read_bytes()
    assert len(check) == 4096
    assert struct.unpack_from(">qqqq", check) == (START_MS, 52, 1, 1)


async def test_timers_outlive_restarts_and_come_once(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for seconds in (2, 5, 100):
        await caller.send(body=str(seconds).encode(), TIMER_DELAY_SEC=str(seconds))
    deliver(broker, clock, 0)
    deliver(broker, clock, 2000)
    await broker.stop()
    clock.now += 10_000
    again = await start_broker()
    assert bodies(await Caller(again).pull()) == [b"2", b"5"]
    deliver(again, clock, 90_000)
    assert again.store.max_offset("T", 0) == 3


async def test_a_wheel_that_was_lost_is_built_from_the_log(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for number in range(3):
        await caller.send(body=str(number).encode(), TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    await broker.stop()
    root = tmp_path / "store"
    (root / "abort").write_text("1")
    with (root / "timerwheel").open("r+b") as wheel:
        wheel.truncate(0)
        wheel.truncate(38_707_200)
    again = await start_broker()
    deliver(again, clock, 5000)
    assert bodies(await Caller(again).pull()) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("days", [6, 8, 14, 400])
async def test_what_was_due_while_a_broker_rested_for_long_comes(
    start_broker: StartBroker, clock: FakeClock, days: int
) -> None:
    """For longer than the wheel goes ahead, or with a clock that is wrong at the start; and new ones take no slot from
    them: with 14 days one is due in the same.
    """
    broker = await start_broker()
    for body, seconds in ((b"0", 60), (b"1", 200_000)):  # the second one is rolled
        await Caller(broker).send(body=body, TIMER_DELAY_SEC=str(seconds))
    deliver(broker, clock, 0)
    await broker.stop()
    clock.jump(days * 86_400_000)
    again = await start_broker()
    await Caller(again).send(body=b"2", TIMER_DELAY_SEC="60")
    for _ in range(50):  # some seconds in each turn
        deliver(again, clock, 0)
    assert sorted(bodies(await Caller(again).pull())) == [b"0", b"1"]
    deliver(again, clock, 61_000)
    assert sorted(bodies(await Caller(again).pull())) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("name", ["timerwheel", "timerlog/00000000000000000000"])
@pytest.mark.parametrize("damage", ["empty", "short", "zero", "garbage", "gone"])
async def test_timers_whose_files_were_damaged_after_a_clean_stop_come(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path, name: str, damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    broker = await start_broker()
    caller = Caller(broker)
    for number, seconds in enumerate((2, 20, 20, 30)):
        await caller.send(body=str(number).encode(), TIMER_DELAY_SEC=str(seconds))
    deliver(broker, clock, 0)
    deliver(broker, clock, 2000)
    await broker.stop()
    path = tmp_path / "store" / name
    size, begin = path.stat().st_size, path.read_bytes()[: UNIT_SIZE * 3 // 2]
    path.unlink()
    if damage != "gone":
        with path.open("wb") as file:
            file.write({"garbage": b"\x5a" * 65536, "short": begin}.get(damage, b""))
            file.truncate({"empty": 0, "short": len(begin)}.get(damage, size))
    again = await start_broker()
    deliver(again, clock, 0)
    deliver(again, clock, 30_000)
    assert bodies(await Caller(again).pull()) == [b"0", b"1", b"2", b"3"]
    assert again.kinds.timer.resting.counts.get("T", 0) == 0
    assert any(record.getMessage().startswith("timers damaged") for record in caplog.records)


async def test_how_far_it_is_behind(start_broker: StartBroker, clock: FakeClock) -> None:
    """With messages that are not in the wheel, and with timers whose time has come."""
    broker = await start_broker()
    timer, caller = broker.kinds.timer, Caller(broker)
    for seconds in ("2", "3", "60"):
        await caller.send(TIMER_DELAY_SEC=seconds)
    clock.now += 1000
    assert (timer.waiting_ms(), timer.wheeled.overdue()) == (0, 0)
    timer.wheeled.queue_offset, reached = 0, timer.wheeled.queue_offset
    assert timer.waiting_ms() == 1000
    timer.wheeled.queue_offset = reached
    clock.now += 4000
    assert timer.wheeled.overdue() == 2
    deliver(broker, clock, 0)
    assert timer.wheeled.overdue() == 0
    assert broker.stats.special.timers_in["T"] == 3
    assert broker.stats.special.timers_out["T"] == 2


async def test_what_rests_is_told_by_the_time_that_is_left(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    timer = broker.kinds.timer
    assert set(timer.wheeled.by_distance().values()) == {0}
    for seconds in ("3", "5", "30", "30", "4000", "86400", "90000"):
        await caller.send(TIMER_DELAY_SEC=seconds)
    deliver(broker, clock, 0)
    day = {5: 2, 60: 2, 300: 0, 900: 0, 3600: 0, 14_400: 1, 28_800: 0, 86_400: 1}
    assert timer.wheeled.by_distance() == day
    deliver(broker, clock, 10_000)
    assert timer.wheeled.by_distance() == day | {5: 0}


async def test_a_time_beyond_the_window_is_rolled(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(timerRollWindowSlot="10")
    caller = Caller(broker)
    await caller.send(TIMER_DELAY_SEC="31")
    deliver(broker, clock, 0)
    for _ in range(30):
        deliver(broker, clock, 1000)
    assert broker.store.max_offset("T", 0) == 0
    assert broker.store.max_offset(TIMER_TOPIC, 0) > 1
    deliver(broker, clock, 1000)
    (record,) = records(await caller.pull())
    assert int(decode_properties(record.properties)["TIMER_ROLL_TIMES"]) >= 2


async def test_a_timer_of_ten_days_where_that_is_allowed(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(timerMaxDelaySec="1209600")
    caller = Caller(broker)
    assert (await caller.send(TIMER_DELAY_SEC="864000")).code == 0
    deliver(broker, clock, 0)
    for _ in range(20 * 24 - 1):
        deliver(broker, clock, 1_800_000)
        while broker.kinds.timer.figures()["timerReadBehind"] != "0":
            broker.kinds.timer.alarm.ring()
    assert broker.store.max_offset("T", 0) == 0
    deliver(broker, clock, 1_800_000)
    while broker.kinds.timer.figures()["timerReadBehind"] != "0":
        broker.kinds.timer.alarm.ring()
    assert broker.store.max_offset("T", 0) == 1


async def test_what_is_recalled_does_not_come(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(recallMessageEnable="true")
    caller = Caller(broker)
    answer = await caller.send(body=b"recalled", TIMER_DELAY_SEC="5")
    handle = fields(answer)["recallHandle"]
    found = parse_handle(handle)
    assert found is not None
    assert (found.topic, found.broker_name, found.unique_key) == ("T", "broker-a", KEY)
    recalled = await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)
    assert (recalled.code, fields(recalled)["msgId"]) == (0, KEY)
    deliver(broker, clock, 0)
    deliver(broker, clock, 6000)
    assert broker.store.max_offset("T", 0) == 0
    assert fields(recalled)["MSG_REGION"] == "DefaultRegion"
    late = await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)
    assert late.code == ResponseCode.ILLEGAL_OPERATION
    wrong = await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle="bm9uZQ==")
    assert fields(wrong)["MSG_REGION"] == "DefaultRegion"
    assert wrong.code == ResponseCode.ILLEGAL_OPERATION


async def test_recalls_are_off_unless_switched_on(broker: Broker, caller: Caller) -> None:
    handle = fields(await caller.send(TIMER_DELAY_SEC="5"))["recallHandle"]
    assert (await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)).code == 16


async def test_a_clock_that_was_set_back_brings_nothing_early_or_twice(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    await caller.send(body=b"first", TIMER_DELAY_SEC="2")
    deliver(broker, clock, 0)
    deliver(broker, clock, 3000)
    assert bodies(await caller.pull()) == [b"first"]
    await caller.send(body=b"far", TIMER_DELAY_SEC="7200")
    deliver(broker, clock, 0)
    clock.jump(-3_600_000)
    await caller.send(body=b"second", TIMER_DELAY_SEC="3")
    deliver(broker, clock, 0)
    deliver(broker, clock, 1000)
    assert broker.store.max_offset("T", 0) == 1
    deliver(broker, clock, 3000)
    assert bodies(await caller.pull()) == [b"first", b"second"]
    for _ in range(2):
        deliver(broker, clock, 3_600_000)
    assert bodies(await caller.pull()) == [b"first", b"second"]
    deliver(broker, clock, 3_600_000)
    assert bodies(await caller.pull()) == [b"first", b"second", b"far"]


async def test_the_wheel_sleeps_when_nothing_is_on_it(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    assert broker.kinds.timer.alarm.at_ms is None
    await caller.send(TIMER_DELAY_SEC="2")
    await asyncio.sleep(0)
    deliver(broker, clock, 2000)
    deliver(broker, clock, 0)
    assert broker.kinds.timer.alarm.at_ms is None


async def test_after_a_kill_nothing_is_delivered_twice(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for seconds in (2, 2, 9):
        await caller.send(TIMER_DELAY_SEC=str(seconds))
    deliver(broker, clock, 0)
    monkeypatch.setattr(broker.kinds.timer, "_save", lambda _progress: None)
    deliver(broker, clock, 2000)
    assert broker.store.max_offset("T", 0) == 2
    await broker.stop()
    (tmp_path / "store/abort").write_text("1")
    again = await start_broker()
    assert again.store.max_offset("T", 0) == 2
    deliver(again, clock, 7000)
    assert again.store.max_offset("T", 0) == 3


class TimerDisk(Disk):
    """Syncs of the timer's own files fail with `error` while that is set."""

    error: int | None = None

    def create(self, path: Path, size: int) -> DiskFile:
        return self._failing(super().create(path, size))

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        return self._failing(super().open(path, writable=writable))

    def _failing(self, file: DiskFile) -> DiskFile:
        if "timerlog" in str(file.path) or "timerwheel" in str(file.path):
            sync = file.sync

            def fail() -> None:
                if self.error is not None:
                    raise OSError(self.error, os.strerror(self.error))
                sync()

            file.sync = fail  # type: ignore[method-assign]
        return file


def saved(broker: Broker) -> None:
    """What the timer gives to its thread is done when this returns."""
    timer = broker.kinds.timer
    timer.progress.save_now()
    timer.files.await_saved()


async def test_a_failed_sync_of_timers_is_final(clock: FakeClock, tmp_path: Path) -> None:
    """No later one is tried, `timercheck` stays behind what may be lost, and no more messages are taken."""
    disk = TimerDisk()
    broker = make_broker(tmp_path / "store", clock, files=disk)
    await broker.start()
    caller = Caller(broker)
    await caller.send(TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    disk.error = errno.EIO
    saved(broker)
    disk.error = None
    assert broker.store.failure is not None
    deliver(broker, clock, 1000)
    saved(broker)
    check = read_timer_check(disk, tmp_path / "store/config/timercheck")
    assert check.queue_offset == 0, "the timer is put on the wheel again by the next start"
    assert (await caller.send(body=b"late")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    await caller.client.close(grace=0.2)
    await broker.stop()


async def test_a_lack_of_descriptors_saves_timers_later(clock: FakeClock, tmp_path: Path) -> None:
    disk = TimerDisk()
    broker = make_broker(tmp_path / "store", clock, files=disk)
    await broker.start()
    caller = Caller(broker)
    await caller.send(TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    disk.error = errno.EMFILE
    saved(broker)
    disk.error = None
    assert broker.store.failure is None
    saved(broker)
    assert read_timer_check(disk, tmp_path / "store/config/timercheck").queue_offset == 1
    await caller.client.close(grace=0.2)
    await broker.stop()


async def test_whatever_ends_the_saving_of_timers_is_seen(
    broker: Broker, caller: Caller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(_log: TimerLog) -> None:
        raise MemoryError

    await caller.send(TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    monkeypatch.setattr(TimerLog, "sync", exhausted)
    saved(broker)
    assert "MemoryError" in str(broker.store.failure)


@pytest.mark.parametrize(
    ("name", "at", "data"),
    [
        ("timerlog/00000000000000000000", UNIT_SIZE + 4, UNIT_SIZE),  # names itself as the one before it
        ("timerlog/00000000000000000000", UNIT_SIZE + 4, -1),
        ("timerlog/00000000000000000000", 2 * UNIT_SIZE + 4, 7),
        ("timerwheel", 16, 7),
        ("timerwheel", 16, UNIT_SIZE),
        ("timerwheel", 16, 99 * UNIT_SIZE),
    ],
)
async def test_of_a_damaged_chain_every_timer_comes(
    broker: Broker, caller: Caller, clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str,
    at: int, data: int,
) -> None:  # fmt: skip
    """The place of the one before in a unit, or that of the last one in a slot, leads nowhere, astray or round."""
    for number in range(3):
        await caller.send(body=str(number).encode(), TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    path = tmp_path / "store" / name
    if name == "timerwheel":
        assert broker.kinds.timer.files.opened is not None
        (slot,) = broker.kinds.timer.files.opened.wheel.written()
        at += slot.time % SLOTS * SLOT_SIZE
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data.to_bytes(8, "big", signed=True))
    deliver(broker, clock, 5000)
    assert bodies(await caller.pull()) == [b"0", b"1", b"2"]
    assert any(record.getMessage() == "chain of timers damaged" for record in caplog.records)
    await caller.send(TIMER_DELAY_SEC="5")
    deliver(broker, clock, 0)
    deliver(broker, clock, 5000)
    assert broker.store.max_offset("T", 0) == 4


async def test_no_timer_is_lost_for_the_recall_of_another(start_broker: StartBroker, clock: FakeClock) -> None:
    """A recall counts against its second's number of timers; after a restart that number was taken for what waits."""
    broker = await start_broker(recallMessageEnable="true")
    caller = Caller(broker)
    for number in range(3):
        answer = await caller.send(body=b"recalled", TIMER_DELAY_SEC="5", UNIQ_KEY=f"{number:032X}")
        handle = fields(answer)["recallHandle"]
        assert (await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)).code == ResponseCode.SUCCESS
    await caller.send(body=b"wanted", TIMER_DELAY_SEC="20")
    deliver(broker, clock, 0)
    await broker.stop()
    again = await start_broker(recallMessageEnable="true")
    for _ in range(30):
        deliver(again, clock, 1000)
    assert bodies(await Caller(again).pull()) == [b"wanted"]


async def test_no_second_is_passed_while_messages_of_before_are_not_on_the_wheel(
    broker: Broker, caller: Caller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slave that had read more of the topic would take them for delivered, if this one were lost now."""
    for number, seconds in enumerate((500, 5, 5, 5)):
        await caller.send(body=b"%d" % number, TIMER_DELAY_SEC=str(seconds))
    deliver(broker, clock, 0)
    timer = broker.kinds.timer
    timer.stop()
    timer.files.forget_wheel()
    read_time = timer.wheeled.read_time
    clock.now += 60_000
    monkeypatch.setattr(module, "TURN", 2)
    timer.start()
    assert (timer.wheeled.read_time, broker.store.max_offset("T", 0)) == (read_time, 0)
    for _ in range(5):
        deliver(broker, clock, 0)
    assert timer.wheeled.read_time == clock.now
    assert bodies(await caller.pull()) == [b"1", b"2", b"3"]
