from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, fields, records

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.transaction.half_messages import marks_in
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.names import TRANSACTION_CHECK_MAX_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_TOPIC
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.record import decode_record, encode_record
from sprocketmq.remoting import Connection
from sprocketmq.store.log.append import PutResult, PutStatus

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
#: Of a record between hosts with IPv4 addresses.
BODY_AT = 88


async def half(caller: Caller, body: bytes = b"half", **properties: str) -> dict[str, int]:
    """Send a half message; where it is."""
    more: dict[str, Any] = properties
    answer = await caller.send(body=body, TRAN_MSG="true", PGROUP="PG", sys_flag=4, **more)
    assert answer.code == ResponseCode.SUCCESS
    found = fields(answer)
    return {"commitLogOffset": int(found["msgId"][16:], 16), "tranStateTableOffset": int(found["queueOffset"])}


async def end(caller: Caller, where: dict[str, int], verdict: int, **more: object) -> Command:
    header: dict[str, Any] = {"producerGroup": "PG", "commitOrRollback": verdict, "msgId": "M"}
    answer = await caller(RequestCode.END_TRANSACTION, **{**header, **where, **more})
    await asyncio.sleep(0)
    return answer


def marks(broker: Broker) -> list[bytes]:
    entries = (
        broker.store.reader.entry(TRANSACTION_OP_TOPIC, 0, offset)
        for offset in range(broker.store.max_offset(TRANSACTION_OP_TOPIC, 0))
    )
    found = [broker.store.reader.record_at(entry.commit_offset) for entry in entries if entry is not None]
    return [record.body for record in found if record is not None]


async def test_a_half_message_is_seen_by_nobody_until_it_is_committed(broker: Broker, caller: Caller) -> None:
    where = await half(caller, b"paid", TAGS="A", DELAY="3")
    resting = broker.store.reader.record_at(where["commitLogOffset"])
    assert resting is not None
    properties = decode_properties(resting.properties)
    assert (resting.topic, resting.queue_id, resting.sys_flag & 0xC) == (TRANSACTION_HALF_TOPIC, 0, 0)
    assert (properties["REAL_TOPIC"], properties["__transactionId__"]) == ("T", properties["UNIQ_KEY"])
    assert "DELAY" not in properties
    assert broker.store.max_offset("T", 0) == 0
    assert (await end(caller, where, COMMIT)).code == ResponseCode.SUCCESS
    (record,) = records(await caller.pull(expression="A"))
    assert (record.body, record.sys_flag & 0xC) == (b"paid", COMMIT)
    assert record.prepared_transaction_offset == where["commitLogOffset"]
    assert marks(broker) == [b"0,"]


async def test_what_is_rolled_back_never_comes(broker: Broker, caller: Caller) -> None:
    where = await half(caller)
    await end(caller, where, ROLLBACK)
    assert (await end(caller, where, COMMIT)).code == ResponseCode.SUCCESS
    assert broker.store.max_offset("T", 0) == 0


async def test_a_repeated_end_delivers_nothing_twice(broker: Broker, caller: Caller, start_broker: StartBroker) -> None:
    where = await half(caller)
    for verdict in (UNKNOWN, COMMIT, COMMIT, ROLLBACK, COMMIT):
        assert (await end(caller, where, verdict)).code == ResponseCode.SUCCESS
    assert broker.store.max_offset("T", 0) == 1
    await broker.stop()
    again = await start_broker()
    assert (await end(Caller(again), where, COMMIT)).code == ResponseCode.SUCCESS
    assert again.store.max_offset("T", 0) == 1


async def test_marks_of_one_turn_share_a_message(broker: Broker, caller: Caller) -> None:
    places = [await half(caller) for _ in range(3)]
    for verdict, where in zip((COMMIT, ROLLBACK, COMMIT), places, strict=True):
        found = broker.kinds.halves.read(where["tranStateTableOffset"])
        assert found is not None
        broker.kinds.halves.end(found)
        assert verdict
    await asyncio.sleep(0)
    assert marks(broker) == [b"0,1,2,"]


@pytest.mark.parametrize(
    "wrong",
    [{"producerGroup": "other"}, {"tranStateTableOffset": 1}, {"commitLogOffset": 1}, {"commitLogOffset": 1 << 40}],
)
async def test_an_end_that_does_not_name_the_half_exactly_is_refused(
    broker: Broker, caller: Caller, wrong: dict[str, object]
) -> None:
    where = await half(caller)
    assert (await end(caller, where, COMMIT, **wrong)).code == ResponseCode.SYSTEM_ERROR
    assert broker.store.max_offset("T", 0) == 0


async def test_a_sender_cannot_name_the_transaction_of_somebody_else(broker: Broker, caller: Caller) -> None:
    """As one that sends on what it got does, with all the properties that a checked message has."""
    await half(caller, b"another's")
    mine = await half(caller, b"mine", TRAN_PREPARED_QUEUE_OFFSET="0", TRANSACTION_CHECK_TIMES="3")
    await end(caller, mine, ROLLBACK)
    assert broker.kinds.halves.open == {0: 0}
    assert marks(broker) == [b"1,"]


async def test_a_commit_that_cannot_be_stored_leaves_the_half_open(broker: Broker, caller: Caller) -> None:
    where = await half(caller)
    broker.store.appender.status = 2
    assert (await end(caller, where, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    broker.store.appender.status = 0
    assert (await end(caller, where, COMMIT)).code == ResponseCode.SUCCESS
    assert broker.store.max_offset("T", 0) == 1


async def test_after_its_immunity_only_a_checked_answer_counts(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    where = await half(caller, CHECK_IMMUNITY_TIME_IN_SECONDS="10")
    clock.now += 10_001
    assert (await end(caller, where, COMMIT)).code == ResponseCode.ILLEGAL_OPERATION
    assert (await end(caller, where, COMMIT, fromTransactionCheck=True)).code == ResponseCode.SUCCESS


async def test_transactions_may_be_switched_off(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(rejectTransactionMessage="true"))
    answer = await caller.send(TRAN_MSG="true", PGROUP="PG")
    assert answer.code == ResponseCode.NO_PERMISSION


class Producer(Caller):
    """A client of the group PG that notes what it is asked."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.asked: asyncio.Queue[Command] = asyncio.Queue()
        self.table.add(RequestCode.CHECK_TRANSACTION_STATE, self._ask)

    def _ask(self, _connection: Connection, request: Command) -> None:
        self.asked.put_nowait(request)


def check(broker: Broker, clock: FakeClock, after_ms: int) -> None:
    clock.now += after_ms
    broker.kinds.checks.alarm.ring()


async def test_a_producer_is_asked_and_its_answer_counts(broker: Broker, clock: FakeClock) -> None:
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    first = await half(producer, b"asked")
    check(broker, clock, 5_999)
    assert producer.asked.empty()
    check(broker, clock, 1)
    request = await asyncio.wait_for(producer.asked.get(), 60)
    asked = request.ext_fields or {}
    where = {name: int(asked[name]) for name in ("commitLogOffset", "tranStateTableOffset")}
    assert where["tranStateTableOffset"] == 1
    message = decode_record(request.body)
    assert (message.topic, message.body, message.commit_offset) == ("T", b"asked", where["commitLogOffset"])
    assert asked["transactionId"] == asked["msgId"] == decode_properties(message.properties)["UNIQ_KEY"]
    assert decode_properties(message.properties)["TRANSACTION_CHECK_TIMES"] == "1"
    check(broker, clock, 30_000)
    again = await asyncio.wait_for(producer.asked.get(), 60)
    assert decode_properties(decode_record(again.body).properties)["TRANSACTION_CHECK_TIMES"] == "2"
    await end(producer, where, COMMIT, fromTransactionCheck=True)
    await end(producer, first, COMMIT)
    assert bodies(await producer.pull()) == [b"asked"]
    assert marks(broker) == [b"0,1,2,"]
    check(broker, clock, 60_000)
    assert producer.asked.empty()


@pytest.mark.parametrize("by_ms", [-3_600_000, 3_600_000, 30 * 86_400_000])  # longer than files are kept
async def test_a_clock_that_is_set_changes_no_check(broker: Broker, clock: FakeClock, by_ms: int) -> None:
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    await half(producer, b"asked")
    clock.jump(by_ms)
    check(broker, clock, 5_999)
    assert producer.asked.empty()
    check(broker, clock, 1)
    assert decode_record((await asyncio.wait_for(producer.asked.get(), 60)).body).body == b"asked"


async def test_without_a_living_client_no_try_is_counted(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    await half(caller)
    for _ in range(20):
        check(broker, clock, 30_000)
    assert broker.store.max_offset(TRANSACTION_HALF_TOPIC, 0) == 1
    assert broker.store.max_offset(TRANSACTION_CHECK_MAX_TOPIC, 0) == 0


async def test_after_the_last_try_the_message_is_set_aside(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(transactionCheckMax="2")
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    await half(producer)
    for _ in range(4):
        check(broker, clock, 30_000)
    assert broker.store.max_offset(TRANSACTION_CHECK_MAX_TOPIC, 0) == 1
    assert not broker.kinds.halves.open


async def test_open_transactions_are_open_after_a_restart(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    ended, open_ = await half(caller, b"ended"), await half(caller, b"open")
    await end(caller, ended, COMMIT)
    await broker.stop()
    again = await start_broker()
    assert list(again.kinds.halves.open) == [1]
    caller = Caller(again)
    await end(caller, open_, COMMIT)
    assert bodies(await caller.pull()) == [b"ended", b"open"]


async def test_a_line_of_copies_is_one_transaction_after_a_restart(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker()
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    first = await half(producer)
    check(broker, clock, 6_000)
    check(broker, clock, 30_000)
    await broker.stop()
    again = await start_broker()
    assert again.kinds.halves.open == {2: 0}
    caller = Caller(again)
    await end(caller, first, COMMIT)
    await end(caller, first, COMMIT)
    assert again.store.max_offset("T", 0) == 1


async def test_a_line_that_a_checked_answer_has_ended_does_not_begin_again(
    start_broker: StartBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer names a copy; without the progress a reader meets the first of the line again."""
    broker = await start_broker()
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    first = await half(producer)
    check(broker, clock, 6_000)
    asked = (await asyncio.wait_for(producer.asked.get(), 60)).ext_fields or {}
    where = {name: int(asked[name]) for name in ("commitLogOffset", "tranStateTableOffset")}
    await end(producer, where, ROLLBACK, fromTransactionCheck=True)
    monkeypatch.setattr(broker.kinds.halves.progress, "save_now", lambda: None)  # as in a kill
    await broker.stop()
    again = await start_broker()
    assert not again.kinds.halves.open
    await end(Caller(again), first, COMMIT)
    assert again.store.max_offset("T", 0) == 0


async def test_a_commit_whose_mark_was_lost_is_not_delivered_again(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    where = await half(caller)
    monkeypatch.setattr(broker.kinds.halves, "write_marks", lambda: None)
    monkeypatch.setattr(broker.kinds.halves.progress, "save_now", lambda: None)  # as in a kill
    await end(caller, where, COMMIT)
    await broker.stop()
    again = await start_broker()
    assert not again.kinds.halves.open
    assert (await end(Caller(again), where, COMMIT)).code == ResponseCode.SUCCESS
    assert again.store.max_offset("T", 0) == 1


async def test_a_mark_that_the_store_refuses_is_reported_once_and_written_later(
    broker: Broker, caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    halves, where = broker.kinds.halves, await half(caller)
    ended = halves.at(where["commitLogOffset"])
    assert ended is not None
    monkeypatch.setattr(broker.store, "put", lambda *_message: PutResult(PutStatus.CREATE_MAPPED_FILE_FAILED))
    halves.end(ended)
    halves.write_marks()
    halves.write_marks()
    assert [record.getMessage() for record in caplog.records] == ["ended transactions not marked yet"]
    assert marks(broker) == []
    monkeypatch.undo()
    halves.write_marks()
    assert marks(broker) == [b"0,"]


async def test_a_new_master_knows_what_its_log_has_behind_what_may_be_read(
    broker: Broker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slave that is made the master: of its tail no queue and no index tells yet."""
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    halves, store = broker.kinds.halves, broker.store
    places = [await half(producer, b"%d" % number, UNIQ_KEY=f"{number:032d}") for number in range(3)]
    store.readable.limit(store.log.max_offset)
    check(broker, clock, 6_000)
    assert halves.open == {3: 0, 4: 1, 5: 2}
    await end(producer, places[0], ROLLBACK)
    monkeypatch.setattr(halves, "_write_mark", lambda _halves: True)
    await end(producer, places[1], COMMIT)
    monkeypatch.undo()
    await half(producer, b"last", UNIQ_KEY=f"{3:032d}")
    assert (store.max_offset(TRANSACTION_HALF_TOPIC, 0), store.max_offset("T", 0)) == (3, 0)
    broker.kinds.checks.start()
    assert halves.open == {5: 2, 6: 6}
    assert halves.resting.counts["T"] == 2
    store.readable.limit(None)
    store.dispatch_ready()
    await asyncio.sleep(0)
    assert marks(broker) == [b"0,3,", b"1,4,"]
    assert halves._progress() == (5, 2)
    await end(producer, places[1], COMMIT)
    await end(producer, places[2], COMMIT)
    assert bodies(await producer.pull()) == [b"1", b"2"]


async def test_a_half_that_may_not_be_read_yet_is_checked_later(broker: Broker, clock: FakeClock) -> None:
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    broker.store.readable.limit(broker.store.log.max_offset)
    await half(producer, b"late")
    check(broker, clock, 6_000)
    assert producer.asked.empty()
    broker.store.readable.limit(None)
    broker.store.dispatch_ready()
    check(broker, clock, 30_000)
    assert decode_record((await asyncio.wait_for(producer.asked.get(), 60)).body).body == b"late"


@pytest.mark.parametrize("verdict", [COMMIT, ROLLBACK])
async def test_an_answer_may_come_before_what_it_names_can_be_read(
    broker: Broker, clock: FakeClock, verdict: int
) -> None:
    """The producer is quicker than the disk or the replicas that have the copy of the check."""
    producer = Producer(broker)
    await producer.heartbeat("", "p1", producers=("PG",))
    await half(producer)
    broker.store.readable.limit(broker.store.log.max_offset)
    check(broker, clock, 6_000)
    asked = (await asyncio.wait_for(producer.asked.get(), 60)).ext_fields or {}
    where = {name: int(asked[name]) for name in ("commitLogOffset", "tranStateTableOffset")}
    assert (await end(producer, where, verdict, fromTransactionCheck=True)).code == ResponseCode.SUCCESS
    assert not broker.kinds.halves.open
    broker.store.readable.limit(None)
    broker.store.dispatch_ready()
    assert broker.store.max_offset("T", 0) == (verdict == COMMIT)
    assert marks(broker) == [b"0,1,"]


async def test_a_half_in_the_transient_buffer_can_be_ended(start_broker: StartBroker) -> None:
    """No reader finds it before the buffer is committed, which a producer need not wait for."""
    broker = await start_broker(transientStorePoolEnable="true", commitIntervalCommitLog="600000")
    caller = Caller(broker)
    committed = [await half(caller) for _ in range(2)]
    broker.store.flusher.commit()
    where = await half(caller)
    assert broker.store.reader.message_at(where["commitLogOffset"]) is None
    for each in (*committed, where):
        assert (await end(caller, each, COMMIT)).code == ResponseCode.SUCCESS
    broker.store.flusher.commit()
    broker.store.dispatch_ready()
    assert broker.store.max_offset("T", 0) == 3
    await caller.client.close()


async def test_a_half_inside_a_body_is_none(broker: Broker, caller: Caller) -> None:
    """One that says of itself what an open one could say, in a part of the log that may not be read yet."""
    broker.store.readable.limit(broker.store.log.max_offset)
    where = await half(caller)
    found = broker.store.reader.bytes_at(where["commitLogOffset"])
    assert found is not None
    within = broker.store.log.max_offset + BODY_AT
    forged = encode_record(decode_record(found).replace(commit_offset=within))
    assert (await caller.send(body=forged)).code == ResponseCode.SUCCESS
    assert broker.store.reader.record_at(within) is not None
    assert (await end(caller, where | {"commitLogOffset": within}, COMMIT)).code == ResponseCode.SYSTEM_ERROR
    assert list(broker.kinds.halves.open) == [0]


async def test_progress_moves_past_what_has_ended(broker: Broker, connect: Connect) -> None:
    caller = connect()
    places = [await half(caller) for _ in range(3)]
    await end(caller, places[0], COMMIT)
    await end(caller, places[2], COMMIT)
    assert broker.kinds.halves._progress() == (1, 1)
    await end(caller, places[1], ROLLBACK)
    assert broker.kinds.halves._progress() == (3, 3)


def test_marks_of_both_versions_are_read() -> None:
    assert marks_in(b"0,17,") == {0, 17}
    assert marks_in(b"4") == {4}
    assert marks_in(b"") == set()


async def test_a_broker_that_cannot_start_forgets_nothing(
    start_broker: StartBroker, tmp_path: Path, clock: FakeClock
) -> None:
    broker = await start_broker()
    await half(Caller(broker))
    await broker.stop()
    taken = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        await start_broker(listenPort=str(port))
    taken.close()
    again = await start_broker()
    assert list(again.kinds.halves.open) == [0]
