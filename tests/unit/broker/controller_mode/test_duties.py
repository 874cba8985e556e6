"""What rests in a master when it is lost: the next one delivers it, checks it or gives it back, once."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.broker.controller_mode.conftest import StartBroker, until
from tests.unit.broker.controller_mode.test_controller_mode import replication, whole
from tests.unit.broker.pop.test_handler import INVISIBLE_MS, ack, infos, pass_time, pop
from tests.unit.broker.support import Caller, FakeClock, bodies
from tests.unit.broker.transaction.test_handler import COMMIT, ROLLBACK, Producer, check, end, half

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.controller.server import Controller
from sprocketmq.protocol.names import TIMER_TOPIC, TRANSACTION_HALF_TOPIC, pop_retry_topic
from sprocketmq.protocol.record.record import decode_record
from sprocketmq.store.files.checkpoint import decode_checkpoint

#: Of the levels 1 s, 5 s, 10 s and 30 s.
LEVELS = {"1": 1, "2": 5, "3": 10, "4": 30}
TIMERS = (2, 7, 12, 31)


def key(number: int) -> str:
    return f"7F000001000000000000{number:012d}"


async def rest_all(caller: Caller) -> list[bytes]:
    """Delays and timers of some seconds; what they are called."""
    for level, seconds in LEVELS.items():
        assert (await caller.send(body=b"level %d" % seconds, DELAY=level, UNIQ_KEY=key(seconds))).code == 0
    for seconds in TIMERS:
        answer = await caller.send(body=b"timer %d" % seconds, TIMER_DELAY_SEC=str(seconds), UNIQ_KEY=key(seconds + 50))
        assert answer.code == 0
    return [b"level %d" % seconds for seconds in LEVELS.values()] + [b"timer %d" % seconds for seconds in TIMERS]


def deliver(broker: Broker, clock: FakeClock, seconds: int) -> None:
    for _ in range(seconds):
        clock.now += 1000
        broker.kinds.timer.alarm.ring()
        broker.kinds.schedule.deliver_due()


async def delivered(broker: Broker, count: int) -> list[bytes]:
    """What is readable, when it is so many."""
    await until(lambda: broker.store.max_offset("T", 0) >= count)
    return bodies(await Caller(broker).pull(count=64))


async def move_role(controller: Controller, old: Broker, new: Broker, new_id: int) -> None:
    elect = {
        "clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": str(new_id), "designateElect": "true",
    }  # fmt: skip
    caller = Caller(old)
    caller._address = f"127.0.0.1:{controller.port}"
    # One whose log was cut is distrusted when the controller hears of it, and then comes into the set again.
    while (answer := await caller.call(RequestCode.CONTROLLER_ELECT_MASTER, elect)).code != ResponseCode.SUCCESS:
        assert answer.code == ResponseCode.CONTROLLER_ELECT_MASTER_FAILED
        await whole(old, 1, 2)
    await until(lambda: new.roles.current.is_master and old.roles.current.is_slave)


async def both(start: StartBroker, clock: FakeClock, **entries: str) -> tuple[Broker, Broker]:
    master, slave = await start("one", clock, **entries), await start("two", clock, **entries)
    await whole(master, 1, 2)
    return master, slave


@pytest.mark.parametrize("knows", [True, False])
async def test_delays_and_timers_are_delivered_once_by_the_next_master(start_broker: StartBroker, knows: bool) -> None:
    """Some were delivered before the master was lost, whether the next one was told how far that went or not."""
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    sent = await rest_all(Caller(master))
    deliver(master, clock, 8)
    early = await delivered(master, 4)
    assert len(early) == 4
    if knows:
        await until(lambda: slave.kinds.schedule.offsets() == master.kinds.schedule.offsets())
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    deliver(slave, clock, 40)
    assert Counter(await delivered(slave, len(sent))) == Counter(sent)
    assert (await delivered(slave, len(sent)))[:4] == early


async def test_delays_and_timers_outlive_two_changes_of_the_master(
    start_broker: StartBroker, controller: Controller
) -> None:
    clock = FakeClock()
    first, second = await both(start_broker, clock)
    sent = await rest_all(Caller(first))
    deliver(first, clock, 3)
    await move_role(controller, first, second, 2)
    deliver(second, clock, 6)
    await whole(second, 1, 2)
    await move_role(controller, second, first, 1)
    deliver(first, clock, 40)
    assert Counter(await delivered(first, len(sent))) == Counter(sent)


async def test_timers_of_a_tail_that_was_cut_take_none_of_the_others_with_them(
    start_broker: StartBroker, controller: Controller
) -> None:
    """With acknowledgements by the master alone, what it put on its wheel may be cut from its log."""
    clock = FakeClock()
    alone = {"allAckInSyncStateSet": "false", "inSyncReplicas": "1"}
    first, second = await both(start_broker, clock, **alone)
    assert (await Caller(first).send("other")).code == ResponseCode.SUCCESS
    await until(lambda: second.store.log.max_offset == first.store.log.max_offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first.replication.master, "admit", lambda _link: "cut off")
        patch.setattr(replication(first).in_sync, "wanted", lambda: None)
        first.replication.master.drop("cut off")
        for number in range(3):
            answer = await Caller(first).send(body=b"cut", TIMER_DELAY_SEC="20", UNIQ_KEY=key(number))
            assert answer.code == 0
        first.kinds.timer.alarm.ring()
        first.kinds.timer.progress.save_now()
        await move_role(controller, first, second, 2)
    for number in range(4):
        answer = await Caller(second).send(body=b"%d" % number, TIMER_DELAY_SEC="30", UNIQ_KEY=key(100 + number))
        assert answer.code == 0
    await whole(second, 1, 2)
    await until(lambda: first.topics.configs == second.topics.configs)  # it comes a moment later, and may go meanwhile
    assert first.store.max_offset(TIMER_TOPIC, 0) == 4
    await move_role(controller, second, first, 1)
    deliver(first, clock, 25)
    assert first.store.max_offset("T", 0) == 0
    deliver(first, clock, 10)
    assert Counter(await delivered(first, 4)) == Counter([b"0", b"1", b"2", b"3"])


async def test_a_restarted_slave_that_is_made_master_delivers_what_rests(start_broker: StartBroker) -> None:
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    sent = await rest_all(Caller(master))
    deliver(master, clock, 3)
    await slave.stop()
    again = await start_broker("two", clock)
    await whole(master, 1, 2)
    await master.stop()
    await until(lambda: again.roles.current.is_master)
    deliver(again, clock, 40)
    assert Counter(await delivered(again, len(sent))) == Counter(sent)


async def test_an_open_transaction_is_checked_back_by_the_next_master(start_broker: StartBroker) -> None:
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    producer = Producer(master)
    await producer.heartbeat("", "p1", producers=("PG",))
    done = await half(producer, b"done", UNIQ_KEY=key(1))
    assert (await end(producer, done, COMMIT)).code == ResponseCode.SUCCESS
    await half(producer, b"open", UNIQ_KEY=key(2))
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    again = Producer(slave)
    await again.heartbeat("", "p1", producers=("PG",))
    check(slave, clock, 60_000)
    request = await asyncio.wait_for(again.asked.get(), 60)
    asked = request.ext_fields or {}
    where = {name: int(asked[name]) for name in ("commitLogOffset", "tranStateTableOffset")}
    assert (await end(again, where, COMMIT, fromTransactionCheck=True)).code == ResponseCode.SUCCESS
    assert Counter(await delivered(slave, 2)) == Counter([b"done", b"open"])
    check(slave, clock, 60_000)
    assert again.asked.empty()


async def test_what_was_popped_and_not_acknowledged_comes_back_from_the_next_master(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the next master was not told how far the group had come."""
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    monkeypatch.setattr(slave.offsets, "inherit", lambda _before, _now: None)
    monkeypatch.setattr(slave.kinds.popped, "know", lambda _end: None)
    caller = Caller(master)
    for number in range(3):
        assert (await caller.send(body=b"%d" % number, UNIQ_KEY=key(number))).code == ResponseCode.SUCCESS
    await until(lambda: "T" in slave.topics.configs)
    taken = infos(await pop(caller))
    assert (await ack(caller, taken[1])).code == ResponseCode.SUCCESS
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    assert (await pop(Caller(slave))).code == ResponseCode.POLLING_TIMEOUT, "they are still somebody's"
    await until(lambda: gives_back(slave, clock, 2))
    assert Counter(bodies(await pop(Caller(slave)))) == Counter([b"0", b"2"])


def gives_back(broker: Broker, clock: FakeClock, count: int) -> bool:
    """Whether so much is there that was popped and not acknowledged; else a second passes."""
    pass_time(broker, clock, 1000)
    return broker.store.max_offset(pop_retry_topic("G", "T"), 0) >= count


async def test_what_was_popped_before_a_tail_that_nobody_has_confirmed_yet_comes_not_twice(
    start_broker: StartBroker, controller: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(controller.liveness, "suspects", lambda _session: [])  # it is away for a moment, too
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    caller = Caller(master)
    for number in range(3):
        assert (await caller.send(body=b"%d" % number, UNIQ_KEY=key(number))).code == ResponseCode.SUCCESS
    for info in infos(await pop(caller)):
        assert (await ack(caller, info)).code == ResponseCode.SUCCESS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replication(master).in_sync, "wanted", lambda: None)
        patch.setattr(master.offsets, "save", lambda: None)  # as in a kill
        await slave.stop()
        await master.stop()
    forget_confirmations(tmp_path / "one")
    again = await start_broker("one", clock, listenPort=str(master.port))
    await until(lambda: again.roles.current.is_master)
    assert again.store.max_offset("T", 0) == 0
    assert (await pop(Caller(again))).code == ResponseCode.POLLING_TIMEOUT
    assert (await Caller(again).pull(offset=3, sys_flag=4)).code == ResponseCode.PULL_NOT_FOUND
    await start_broker("two", clock, listenPort=str(slave.port))
    await delivered(again, 3)
    assert (await pop(Caller(again))).code == ResponseCode.POLLING_TIMEOUT
    pass_time(again, clock, INVISIBLE_MS + 4000)
    assert (await pop(Caller(again))).code == ResponseCode.POLLING_TIMEOUT


async def test_transactions_in_a_tail_that_nobody_has_confirmed_yet_go_on(
    start_broker: StartBroker, controller: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A master that comes back with its in-sync set may not read what it wrote last until its replicas confirm that."""
    monkeypatch.setattr(controller.liveness, "suspects", lambda _session: [])  # it is away for a moment, too
    clock = FakeClock()
    master, slave = await both(start_broker, clock)
    producer = Producer(master)
    await producer.heartbeat("", "p1", producers=("PG",))
    places = [await half(producer, b"%d" % number, UNIQ_KEY=key(number)) for number in range(5)]
    assert (await end(producer, places[0], COMMIT)).code == ResponseCode.SUCCESS
    assert (await end(producer, places[1], ROLLBACK)).code == ResponseCode.SUCCESS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replication(master).in_sync, "wanted", lambda: None)
        patch.setattr(master.kinds.halves, "write_marks", lambda: None)  # as in a kill
        patch.setattr(master.kinds.halves.progress, "save_now", lambda: None)
        assert (await end(producer, places[2], COMMIT)).code == ResponseCode.SUCCESS
        await slave.stop()
        await master.stop()
    forget_confirmations(tmp_path / "one")
    again = await start_broker("one", clock, listenPort=str(master.port))
    await until(lambda: again.roles.current.is_master)
    assert again.store.max_offset(TRANSACTION_HALF_TOPIC, 0) == 0
    assert again.kinds.halves.open == {3: 3, 4: 4}
    assert again.kinds.halves.resting.counts["T"] == 2
    check(again, clock, 60_000)  # it cannot be asked about yet, and is not gone
    again.kinds.begin_progress()
    await start_broker("two", clock, listenPort=str(slave.port))
    await whole(again, 1, 2)
    assert Counter(await delivered(again, 2)) == Counter([b"0", b"2"])
    await until(lambda: again.store.max_offset(TRANSACTION_HALF_TOPIC, 0) == 5)
    asked = Producer(again)
    await asked.heartbeat("", "p1", producers=("PG",))
    again.kinds.begin_progress()
    assert again.kinds.halves._progress()[0] == 3
    check(again, clock, 60_000)
    found = [decode_record((await asyncio.wait_for(asked.asked.get(), 60)).body).body for _ in range(2)]
    assert sorted(found) == [b"3", b"4"]
    assert (await end(asked, places[2], COMMIT)).code == ResponseCode.SUCCESS
    assert (await end(asked, places[3], COMMIT)).code == ResponseCode.SUCCESS
    assert Counter(await delivered(again, 3)) == Counter([b"0", b"2", b"3"])
    assert asked.asked.empty()


def forget_confirmations(root: Path) -> None:
    """As a kill does before the first checkpoint: all of the log is there, and nobody is known to have any of it."""
    path = root / "checkpoint"
    path.write_bytes(replace(decode_checkpoint(path.read_bytes()), confirm_offset=0).encode())
