from __future__ import annotations

import asyncio

from tests.loop_clock import LoopClock
from tests.unit.broker.support import FakeClock

from sprocketmq.broker.system_topics.alarm import Alarm


async def test_an_alarm_rings_once_at_its_time(clock: FakeClock) -> None:
    rang = asyncio.Event()
    alarm = Alarm("test", clock, rang.set)
    alarm.start()
    alarm.set(clock.now)
    await asyncio.wait_for(rang.wait(), 60)
    assert alarm.at_ms is None


def test_the_earliest_time_counts(clock: FakeClock) -> None:
    alarm = Alarm("test", clock, lambda: None)
    for at_ms in (clock.now + 500, clock.now + 100, clock.now + 900):
        alarm.set(at_ms)
    assert alarm.at_ms == clock.now + 100


async def test_an_alarm_that_is_set_before_the_start_rings_after_it(clock: FakeClock) -> None:
    rang = asyncio.Event()
    alarm = Alarm("test", clock, rang.set)
    alarm.set(clock.now - 1)
    alarm.start()
    await asyncio.wait_for(rang.wait(), 60)


async def test_a_clock_that_fails_once_takes_no_alarm_away(clock: FakeClock, loop_clock: LoopClock) -> None:
    rang, failures = asyncio.Event(), [OSError("no clock")]

    class Failing:
        def now_ms(self) -> int:
            if alarm.at_ms is not None and clock.now >= alarm.at_ms and failures:
                raise failures.pop()
            return clock.now

    alarm = Alarm("test", Failing(), rang.set)
    alarm.start()
    alarm.set(clock.now + 100)
    clock.now += 100
    for _ in range(30):
        loop_clock.advance(0.1)
        await asyncio.sleep(0)
    assert failures == []
    assert rang.is_set()


async def test_a_clock_that_fails_while_it_rings_takes_no_alarm_away(clock: FakeClock, loop_clock: LoopClock) -> None:
    """The next time is set already, and is earlier than the one after a failure."""
    rang, failures = 0, [OSError("no clock")]

    class Failing:
        def now_ms(self) -> int:
            if rang == 1 and failures:
                raise failures.pop()
            return clock.now

    def ring() -> None:
        nonlocal rang
        rang += 1
        if rang == 1:
            alarm.set(clock.now + 10)

    alarm = Alarm("test", Failing(), ring)
    alarm.start()
    alarm.set(clock.now)
    for _ in range(30):
        loop_clock.advance(0.1)
        clock.now += 100
        await asyncio.sleep(0)
    assert (failures, rang) == ([], 2)


async def test_a_clock_that_is_set_is_seen_within_a_second(clock: FakeClock, loop_clock: LoopClock) -> None:
    rang = asyncio.Event()
    alarm = Alarm("test", clock, rang.set)
    alarm.start()
    alarm.set(clock.now + 60_000)
    clock.jump(60_000)
    loop_clock.advance(1)
    await rang.wait()


async def test_one_that_wakes_too_early_sleeps_on(clock: FakeClock) -> None:
    rung: list[int] = []
    alarm = Alarm("test", clock, lambda: rung.append(clock.now))
    alarm.start()
    alarm.set(clock.now + 60_000)
    alarm._wake()
    assert rung == []
    clock.now += 60_000
    alarm._wake()
    assert len(rung) == 1
    alarm.stop()


def test_a_job_that_fails_is_tried_again(clock: FakeClock) -> None:
    def fail() -> None:
        raise OSError("no disk")

    alarm = Alarm("test", clock, fail)
    alarm.ring()
    assert alarm.at_ms == clock.now + 1000
