"""A plain slave that is made the master by hand: its broker.conf has another role, and its store is started again."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.unit.broker.controller_mode.test_duties import deliver, delivered, key, rest_all
from tests.unit.broker.pop.test_handler import INVISIBLE_MS, ack, infos, pass_time, pop
from tests.unit.broker.replication.conftest import StartMember
from tests.unit.broker.replication.support import follows, until
from tests.unit.broker.support import Caller, FakeClock, bodies

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode


async def promote(start: StartMember, master: Broker, slave: Broker, clock: FakeClock) -> Broker:
    await master.stop()
    await slave.stop()
    return await start(0, clock, store="store-1")


@pytest.mark.parametrize("told", [True, False])
async def test_delays_and_timers_are_delivered_once(
    start_member: StartMember, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some were delivered by the old master, whether the slave was told how far that went or not."""
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    if not told:
        for part in (slave.kinds.schedule, slave.kinds.timer.files):
            monkeypatch.setattr(part, "inherit", lambda _progress: None)
    sent = await rest_all(Caller(master))
    deliver(master, clock, 8)
    assert len(early := await delivered(master, 4)) == 4
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    if told:
        await until(lambda: slave.kinds.schedule.offsets() == master.kinds.schedule.offsets())
    promoted = await promote(start_member, master, slave, clock)
    deliver(promoted, clock, 40)
    assert Counter(await delivered(promoted, len(sent))) == Counter(sent)
    assert (await delivered(promoted, len(sent)))[:4] == early


async def test_what_became_due_while_nobody_led_is_delivered(start_member: StartMember) -> None:
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    sent = await rest_all(Caller(master))
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    await master.stop()
    await slave.stop()
    clock.now += 3_600_000
    promoted = await start_member(0, clock, store="store-1")
    deliver(promoted, clock, 5)
    assert Counter(await delivered(promoted, len(sent))) == Counter(sent)


@pytest.mark.parametrize("told", [True, False])
async def test_what_was_popped_and_not_acknowledged_comes_back(
    start_member: StartMember, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the slave was told how far the group had come or not."""
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    if not told:
        monkeypatch.setattr(slave.offsets, "inherit", lambda _before, _now: None)
    caller = Caller(master)
    for number in range(3):
        assert (await caller.send(body=b"%d" % number, UNIQ_KEY=key(number))).code == ResponseCode.SUCCESS
    taken = infos(await pop(caller))
    assert (await ack(caller, taken[1])).code == ResponseCode.SUCCESS
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    if told:
        await until(lambda: slave.offsets.query("G", "T", 0) == 3)
    promoted = await promote(start_member, master, slave, clock)
    assert (await pop(Caller(promoted))).code == ResponseCode.POLLING_TIMEOUT, "they are still somebody's"
    pass_time(promoted, clock, INVISIBLE_MS + 4000)
    assert Counter(bodies(await pop(Caller(promoted)))) == Counter([b"0", b"2"])
