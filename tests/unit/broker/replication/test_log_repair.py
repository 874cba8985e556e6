"""A damaged record in the log of one broker, which another of its name has whole."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.controller_mode.test_duties import deliver, delivered, rest_all
from tests.unit.broker.pop.test_handler import INVISIBLE_MS, pass_time, pop
from tests.unit.broker.replication.conftest import StartMember
from tests.unit.broker.replication.support import follows, until
from tests.unit.broker.support import Caller, FakeClock, bodies, fields
from tests.unit.broker.transaction.test_handler import COMMIT, ROLLBACK, end, half

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.replication import log_repair
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, Reply
from sprocketmq.remoting.handlers import Handler

SENT = [b"body-%d" % number for number in range(6)]
LOG = "commitlog/00000000000000000000"
#: Nobody is to wait for a message.
AT_ONCE = 4


def flip(log: Path, *bodies_in_it: bytes) -> None:
    data = bytearray(log.read_bytes())
    for body in bodies_in_it:
        data[data.index(body) + len(body) // 2] ^= 4
    log.write_bytes(data)


async def two_stopped(start: StartMember) -> None:
    """A master and its slave have the messages, and are gone."""
    master, slave = await start(0), await start(1)
    for body in SENT:
        assert (await Caller(master).send(body=body)).code == ResponseCode.SUCCESS
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    await slave.stop()
    await master.stop()


async def change_over(start: StartMember) -> tuple[Broker, Broker]:
    """The slave is the master now, and the master its slave."""
    promoted, other = await start(0, store="store-1"), await start(1, store="store-0")
    await follows(other, promoted)
    return promoted, other


async def pulled(broker: Broker, sys_flag: int = AT_ONCE) -> list[bytes]:
    """All that there is, as a consumer goes through it."""
    found, offset, caller = list[bytes](), 0, Caller(broker)
    while offset < len(SENT):
        answer = await caller.pull(offset=offset, sys_flag=sys_flag)
        found += bodies(answer) if answer.code == ResponseCode.SUCCESS else []
        assert int(fields(answer)["nextBeginOffset"]) > offset
        offset = int(fields(answer)["nextBeginOffset"])
    return found


def same_logs(root: Path) -> bool:
    return (root / "store-0" / LOG).read_bytes() == (root / "store-1" / LOG).read_bytes()


@pytest.mark.parametrize("damaged", [[0], [2], [2, 3], [1, 4]])
@pytest.mark.parametrize("sys_flag", [AT_ONCE, AT_ONCE | 2])
async def test_a_promoted_slave_mends_what_it_serves(
    start_member: StartMember, tmp_path: Path, damaged: list[int], sys_flag: int
) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, *(SENT[number] for number in damaged))
    promoted, _other = await change_over(start_member)
    assert await pulled(promoted, sys_flag) == SENT
    assert same_logs(tmp_path)
    await until(lambda: promoted.replication.repair.count == len(damaged))
    assert promoted.store.damaged.count == 0


async def test_what_is_before_the_damage_is_not_held_up(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    promoted, _other = await change_over(start_member)
    answer = await Caller(promoted).pull()
    assert (bodies(answer), fields(answer)["nextBeginOffset"], fields(answer)["maxOffset"]) == (SENT[:2], "2", "6")


async def test_a_pop_waits_for_it(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[0])
    promoted, _other = await change_over(start_member)
    assert bodies(await pop(Caller(promoted), pollTime=60_000)) == SENT


async def test_a_header_that_no_checksum_covers(start_member: StartMember, tmp_path: Path) -> None:
    """The queue entry tells that the record is another one's."""
    await two_stopped(start_member)
    log = tmp_path / "store-1" / LOG
    data = bytearray(log.read_bytes())
    data[data.index(SENT[2]) - 62] ^= 1
    log.write_bytes(data)
    promoted, _other = await change_over(start_member)
    assert await pulled(promoted) == SENT
    assert same_logs(tmp_path)


async def test_a_slave_asks_its_master(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    master, slave = await start_member(0), await start_member(1)
    await follows(slave, master)
    assert await pulled(slave) == SENT
    assert same_logs(tmp_path)


async def test_a_new_slave_gets_the_whole_log_of_a_damaged_master(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    promoted, _other = await change_over(start_member)
    fresh = await start_member(2)
    await until(lambda: fresh.store.log.max_offset == promoted.store.log.max_offset)
    assert (tmp_path / "store-2" / LOG).read_bytes() == (tmp_path / "store-0" / LOG).read_bytes()


async def test_with_accounts_the_question_is_signed(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    accounts = {
        "authenticationEnabled": "true", "authorizationEnabled": "true",
        "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
        "innerClientAuthenticationCredentials": '{"accessKey":"root","secretKey":"root-secret"}',
    }  # fmt: skip
    await start_member(1, store="store-0", **accounts)
    promoted = await start_member(0, store="store-1", **accounts)
    assert promoted.store.get_message("T", 0, 0, 32, 1 << 20).count == 2
    await until(lambda: promoted.replication.repair.count == 1)
    assert promoted.store.get_message("T", 0, 0, 32, 1 << 20).count == len(SENT)


async def test_without_another_it_is_passed_over(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    promoted = await start_member(0, store="store-1")
    assert await pulled(promoted) == SENT[:2] + SENT[3:]
    assert promoted.store.damaged.count == 1


async def test_where_the_other_is_damaged_too_it_is_passed_over(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    for store in ("store-0", "store-1"):
        flip(tmp_path / store / LOG, SENT[2])
    promoted, _other = await change_over(start_member)
    assert await pulled(promoted) == SENT[:2] + SENT[3:]
    assert await pulled(promoted) == SENT[:2] + SENT[3:], "and nobody waits again"


def lie(broker: Broker, at: int, lied: bytes) -> None:
    """Have it give other bytes for the record at a place of the log."""

    def guard(view: Handler) -> Handler:
        def lying(connection: Connection, request: Command) -> Reply:
            if (request.ext_fields or {})["offset"] == str(at):
                return request.reply(body=lied)
            return view(connection, request)

        return lying

    broker.table.guard([RequestCode.VIEW_MESSAGE_BY_ID], guard)


@pytest.mark.parametrize("kind", ["damaged", "of another place", "longer", "of another log"])
async def test_what_does_not_fit_is_not_written(start_member: StartMember, tmp_path: Path, kind: str) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    before = (tmp_path / "store-1" / LOG).read_bytes()
    promoted, other = await change_over(start_member)
    places = [other.store.reader.entry("T", 0, number) for number in range(len(SENT))]
    second, third = (other.store.reader.bytes_at(each.commit_offset) for each in places[2:4] if each is not None)
    assert second is not None
    assert third is not None
    lied = {"damaged": second.replace(SENT[2], b"other!"), "of another place": third, "longer": second + third}
    number = 3 if kind == "of another log" else 2
    place = places[number]
    assert place is not None
    lie(other, place.commit_offset, lied.get(kind, second))
    assert await pulled(promoted) == SENT[:2] + SENT[3:]
    assert (tmp_path / "store-1" / LOG).read_bytes() == before


async def test_a_hole_of_several_records_at_the_start(start_member: StartMember, tmp_path: Path) -> None:
    """A slave that was killed finds it, and mends it before anybody pulls."""
    await two_stopped(start_member)
    log = tmp_path / "store-1" / LOG
    data = bytearray(log.read_bytes())
    begin, end = data.index(SENT[1]) - 20, data.index(SENT[4]) - 120
    data[begin:end] = bytes(end - begin)
    log.write_bytes(data)
    (tmp_path / "store-1" / "abort").write_bytes(b"")
    master, slave = await start_member(0), await start_member(1)
    assert slave.store.report.damaged
    await until(lambda: slave.replication.repair.count == 3)
    assert same_logs(tmp_path)
    await follows(slave, master)
    assert await pulled(slave) == SENT


async def test_queues_that_are_lost_with_the_record_get_its_entry(start_member: StartMember, tmp_path: Path) -> None:
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    for queue in (tmp_path / "store-1" / "consumequeue" / "T" / "0").iterdir():
        queue.unlink()
    _master, slave = await start_member(0), await start_member(1)
    assert slave.store.report.damaged
    await until(lambda: slave.replication.repair.count == 1)
    assert await pulled(slave) == SENT


async def test_what_rests_is_delivered_when_it_is_mended(start_member: StartMember, tmp_path: Path) -> None:
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    sent = await rest_all(Caller(master))
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    await slave.stop()
    await master.stop()
    flip(tmp_path / "store-1" / LOG, *sent[:-1])
    await start_member(1, clock, store="store-0")
    promoted = await start_member(0, clock, store="store-1")
    async with asyncio.timeout(60):
        while promoted.store.max_offset("T", 0) < len(sent):
            deliver(promoted, clock, 1)
            await asyncio.sleep(0.01)  # for the answers of the other
    assert Counter(await delivered(promoted, len(sent))) == Counter(sent)


async def test_what_was_popped_comes_back_when_it_is_mended(start_member: StartMember, tmp_path: Path) -> None:
    """The message, and the record of who has it."""
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    assert (await Caller(master).send(body=SENT[0])).code == ResponseCode.SUCCESS
    assert bodies(await pop(Caller(master))) == SENT[:1]
    assert (await Caller(master).send(topic="last")).code == ResponseCode.SUCCESS
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    records = list(slave.store.reader.records_between(0, slave.store.log.max_offset))
    assert [record.body for record in records[::2]] == [SENT[0], b"body"]
    await slave.stop()
    await master.stop()
    flip(tmp_path / "store-1" / LOG, *(record.body for record in records[:-1]))
    await start_member(1, clock, store="store-0")
    promoted = await start_member(0, clock, store="store-1")
    clock.now += INVISIBLE_MS
    found = list[bytes]()
    async with asyncio.timeout(60):
        while not found:
            pass_time(promoted, clock, 1000)
            await asyncio.sleep(0.01)  # for the answers of the other
            found = bodies(await pop(Caller(promoted)))
    assert found == SENT[:1]


async def test_a_lookup_by_key_finds_it_the_next_time(start_member: StartMember, tmp_path: Path) -> None:
    master, slave = await start_member(0), await start_member(1)
    for body in SENT:
        await Caller(master).send(body=body, KEYS=body.decode())
    await follows(slave, master)
    await slave.stop()
    await master.stop()
    flip(tmp_path / "store-1" / LOG, SENT[2])
    promoted, _other = await change_over(start_member)
    asked: dict[str, Any] = {
        "topic": "T",
        "key": SENT[2].decode(),
        "maxNum": 8,
        "beginTimestamp": 0,
        "endTimestamp": 1 << 62,
    }
    assert (await Caller(promoted)(RequestCode.QUERY_MESSAGE, **asked)).code == ResponseCode.QUERY_NOT_FOUND
    await until(lambda: promoted.replication.repair.count == 1)
    assert bodies(await Caller(promoted)(RequestCode.QUERY_MESSAGE, **asked)) == [SENT[2]]


@pytest.mark.parametrize("damaged", ["a half", "a mark"])
async def test_open_transactions_are_found_when_they_are_mended(
    start_member: StartMember, tmp_path: Path, damaged: str
) -> None:
    """A half that is not read would be open nowhere, and one whose mark is not would be open again."""
    clock = FakeClock()
    master, slave = await start_member(0, clock), await start_member(1, clock)
    caller = Caller(master)
    ended, still = await half(caller, b"rolled back"), await half(caller, b"still open")
    await end(caller, ended, ROLLBACK)
    assert (await caller.send(topic="last")).code == ResponseCode.SUCCESS
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    await slave.stop()
    await master.stop()
    flip(tmp_path / "store-1" / LOG, b"still open" if damaged == "a half" else b"0,")
    await start_member(1, clock, store="store-0")
    promoted = await start_member(0, clock, store="store-1")
    halves = promoted.kinds.halves
    assert (set(halves.open), halves.is_awaiting) == (set() if damaged == "a half" else {0, 1}, True)
    await until(lambda: promoted.replication.repair.count == 1)
    pass_time(promoted, clock, 1000)
    promoted.kinds.checks._check_due()
    assert (set(halves.open), halves.is_awaiting) == ({1}, False)
    assert (await end(Caller(promoted), still, COMMIT)).code == ResponseCode.SUCCESS
    assert promoted.store.max_offset("T", 0) == 1


async def test_others_that_do_not_answer_hold_up_nobody_for_long(
    start_member: StartMember, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_repair, "_MEND_SECONDS", 0.05)
    await two_stopped(start_member)
    flip(tmp_path / "store-1" / LOG, SENT[2])
    promoted, other = await change_over(start_member)
    over = asyncio.Event()

    async def late(_connection: Connection, request: Command) -> Command:
        await over.wait()
        return request.reply(ResponseCode.SYSTEM_ERROR)

    other.table.add_slow(RequestCode.VIEW_MESSAGE_BY_ID, late)
    assert await pulled(promoted) == SENT[:2] + SENT[3:]
    over.set()
