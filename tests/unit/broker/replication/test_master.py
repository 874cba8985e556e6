"""A master and whoever connects to its HA port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from tests.loop_clock import LoopClock, loop_clock
from tests.unit.broker.replication.conftest import Hand, StartMember
from tests.unit.broker.replication.support import until
from tests.unit.broker.support import Caller, bodies
from tests.unit.protocol.ha.golden_streams import recorded

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.replication import master as master_module
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.ha.default_stream import TransferDecoder
from sprocketmq.remoting.allowed_peers import AllowedPeers

__all__ = ["loop_clock"]

SYNC = {"brokerRole": "SYNC_MASTER", "slaveTimeout": "60000"}


async def put(broker: Broker, count: int, size: int = 100) -> None:
    for number in range(count):
        result = broker.store.put("T", 0, 0, 0, (b"%d|" % number).ljust(size, b"."), b"", 1, bytes(8), 0, 0)
        assert result.ok


def log_bytes(broker: Broker, begin: int = 0) -> bytes:
    store = broker.store
    parts = [bytes(store.log.view_of(base) or b"") for base in store.log.bases]
    return b"".join(parts)[begin - store.log.min_offset : store.log.max_offset - store.log.min_offset]


async def test_a_new_slave_gets_the_last_file_and_then_every_byte(start_member: StartMember, hand: Hand) -> None:
    master = await start_member()
    await put(master, 40, 90_000)
    size = master.store.log.file_size
    begin = master.store.log.max_offset // size * size
    assert begin >= size
    slave = await hand(master)
    slave.report(0)
    offset, body = await slave.frame()
    assert (offset, len(body)) == (begin, 32768)
    await put(master, 3)
    rest = await slave.log(master.store.log.max_offset)
    assert body + rest == log_bytes(master, begin)


class Writes:
    """A transport that takes everything and counts the calls."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []

    def is_closing(self) -> bool:
        return False

    def writelines(self, parts: Iterable[bytes | memoryview]) -> None:
        self.calls.append(b"".join(parts))


async def test_what_was_gathered_goes_out_in_one_write_of_many_frames(start_member: StartMember, hand: Hand) -> None:
    master = await start_member()
    (await hand(master)).report(0)
    await until(lambda: [link.ack for link in master.replication.master.replicas.links] == [0])
    (link,) = master.replication.master.replicas.links
    transport, writes = link._transport, Writes()
    link._transport = cast(asyncio.Transport, writes)
    await put(master, 1, 100_000)
    link.give()
    link._transport = transport
    frames = TransferDecoder().feed(b"".join(writes.calls))
    assert len(writes.calls) == 1
    assert [len(frame.body) for frame in frames] == [32768] * 3 + [master.store.log.max_offset - 3 * 32768]


@pytest.mark.parametrize("conf", [{}, SYNC, {"flushDiskType": "SYNC_FLUSH"}])
async def test_appends_before_a_wake_up_that_is_under_way_cost_nothing(
    start_member: StartMember, hand: Hand, conf: dict[str, str]
) -> None:
    master = await start_member(**conf)
    appender, quiet = master.store.appender, master.store.appender.on_append
    if conf is not SYNC:
        assert quiet == (master.store.flusher.wake if conf else None)
    slave = await hand(master)
    slave.report(0)
    await until(lambda: [link.ack for link in master.replication.master.replicas.links] == [0])
    for _ in range(3):
        await until(lambda: appender.on_append not in (None, master.store.flusher.wake))
        await put(master, 2)
        assert appender.on_append == (master.store.flusher.wake if "flushDiskType" in conf else None)
    assert await slave.log(master.store.log.max_offset) == log_bytes(master)


async def test_a_slave_goes_on_where_its_log_ends_even_inside_a_record(start_member: StartMember, hand: Hand) -> None:
    master = await start_member()
    await put(master, 5)
    slave = await hand(master)
    slave.report(77)
    assert await slave.log(master.store.log.max_offset) == log_bytes(master, 77)


async def test_the_recorded_reports_of_a_java_slave_get_the_recorded_log(start_member: StartMember, hand: Hand) -> None:
    """The recorded log is in our store, the recorded reports come from the socket, one byte at a time."""
    golden = TransferDecoder().feed(recorded("default", "s2c.bin"))
    log = b"".join(frame.body for frame in golden)
    master = await start_member(mappedFileSizeCommitLog=str(4 << 20))
    master.replication.replica.append(log)
    slave = await hand(master)
    for byte in recorded("default", "c2s.bin")[:8]:
        slave.writer.write(bytes([byte]))
        await slave.writer.drain()
    assert await slave.log(len(log)) == log
    for byte in recorded("default", "c2s.bin")[8:]:
        slave.writer.write(bytes([byte]))
        await slave.writer.drain()
    (link,) = master.replication.master.replicas.links
    await until(lambda: link.ack == len(log))


@pytest.mark.parametrize("report", [1 << 40, (1 << 63) - 1, -1])
async def test_a_report_of_what_never_was_counts_for_nothing(
    start_member: StartMember, hand: Hand, report: int
) -> None:
    master = await start_member(**SYNC)
    await put(master, 5)
    slave = await hand(master)
    slave.report(0)
    await slave.log(master.store.log.max_offset)
    slave.report(report)
    assert await slave.is_closed()
    assert master.replication.master.replicas.offset == 0


async def test_a_first_report_outside_the_log_is_closed(start_member: StartMember, hand: Hand) -> None:
    master = await start_member()
    await put(master, 40, 90_000)
    master.store.log.remove_first()
    for report in (5, master.store.log.max_offset + 1):
        slave = await hand(master)
        slave.report(report)
        assert await slave.is_closed()


async def test_a_stranger_gets_nothing(start_member: StartMember, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    master = await start_member()
    await put(master, 1)
    monkeypatch.setattr(AllowedPeers, "allows", lambda _self, _peer: False)
    slave = await hand(master)
    slave.report(0)
    assert await slave.is_closed()
    assert master.replication.master.replicas.links == []


async def test_a_slave_gives_its_log_to_nobody(start_member: StartMember, hand: Hand) -> None:
    await start_member()
    slave = await start_member(1)
    other = await hand(slave)
    other.report(0)
    assert await other.is_closed()


async def test_one_slave_too_many(start_member: StartMember, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_module, "MAX_SLAVES", 1)
    master = await start_member()
    first = await hand(master)
    first.report(0)
    await until(lambda: any(link.ack == 0 for link in master.replication.master.replicas.links))
    second = await hand(master)
    assert await second.is_closed()
    assert len(master.replication.master.replicas.links) == 1


async def test_who_only_connects_keeps_no_slave_away(
    start_member: StartMember, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(master_module, "MAX_SLAVES", 2)
    master = await start_member()
    await put(master, 1)
    links = master.replication.master.replicas.links
    strangers = [await hand(master) for _ in range(3)]
    assert await strangers[0].is_closed()
    slave = await hand(master)
    slave.report(0)
    assert await slave.log(master.store.log.max_offset) == log_bytes(master)
    assert await strangers[1].is_closed()
    assert len(links) == 2


async def test_silence_is_ended_by_heartbeats_and_by_the_end(
    start_member: StartMember, hand: Hand, loop_clock: LoopClock
) -> None:
    master = await start_member()
    await put(master, 1)
    end = master.store.log.max_offset
    slave = await hand(master)
    slave.report(end)
    await until(lambda: any(link.ack == end for link in master.replication.master.replicas.links), pause=0)
    loop_clock.advance(6)
    assert await slave.frame() == (end, b"")
    loop_clock.advance(21)
    assert await slave.is_closed()


# -- acknowledgements -------------------------------------------------------------------------------------------------


async def test_a_send_waits_for_the_slave_and_readers_wait_with_it(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(**SYNC)
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    sending = asyncio.ensure_future(caller.send(body=b"safe"))
    await until(lambda: len(master.acks) == 1)
    end = master.store.log.max_offset
    await slave.log(end)
    assert bodies(await caller.pull(suspend_ms=1)) == []
    assert not sending.done()
    slave.report(end)
    assert (await sending).code == ResponseCode.SUCCESS
    assert bodies(await caller.pull()) == [b"safe"]
    await caller.client.close(0.1)


async def test_without_a_slave_the_sender_is_told_at_once(start_member: StartMember) -> None:
    master = await start_member(**SYNC)
    caller = Caller(master)
    answer = await caller.send(body=b"alone")
    assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert bodies(await caller.pull()) == [b"alone"]
    await caller.client.close(0.1)


async def test_a_slave_that_goes_away_leaves_no_sender_waiting(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(**SYNC)
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    sending = asyncio.ensure_future(caller.send())
    await until(lambda: len(master.acks) == 1)
    slave.close()
    assert (await sending).code == ResponseCode.SLAVE_NOT_AVAILABLE
    await caller.client.close(0.1)


async def test_a_late_slave_is_told_and_what_it_lacks_may_be_read_then(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(brokerRole="SYNC_MASTER", slaveTimeout="300")
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    answer = await caller.send(body=b"late")
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    await until(lambda: master.store.max_offset("T", 0) == 1)
    assert bodies(await caller.pull()) == [b"late"]
    await caller.client.close(0.1)


async def test_who_does_not_want_to_wait_does_not(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(**SYNC)
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    assert (await caller.send(WAIT="false")).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


async def test_two_slaves_are_waited_for_when_three_copies_are_asked_for(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(inSyncReplicas="3", **SYNC)
    slaves = [await hand(master) for _ in range(2)]
    for slave in slaves:
        slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    sending = asyncio.ensure_future(caller.send())
    await until(lambda: len(master.acks) == 1)
    end = master.store.log.max_offset
    for slave in slaves:
        await slave.log(end)
    slaves[0].report(end)
    links = master.replication.master.replicas.links
    await until(lambda: max(link.ack for link in links) == end)
    assert not sending.done()
    slaves[1].report(end)
    assert (await sending).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


async def test_one_copy_asked_for_waits_for_nobody(start_member: StartMember) -> None:
    master = await start_member(inSyncReplicas="1", **SYNC)
    caller = Caller(master)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


async def test_too_few_copies_refuse_a_send_before_it_is_stored(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(minInSyncReplicas="2", **SYNC)
    caller = Caller(master)
    end = master.store.log.max_offset
    answer = await caller.send()
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough")
    assert master.store.log.max_offset == end
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    sending = asyncio.ensure_future(caller.send())
    await until(lambda: len(master.acks) == 1)
    slave.close()
    await sending
    await caller.client.close(0.1)


async def test_a_slave_far_behind_is_no_slave(start_member: StartMember, hand: Hand) -> None:
    master = await start_member(haSlaveFallbehindMax="1000", **SYNC)
    slave = await hand(master)
    slave.report(0)
    await until(lambda: master.replication.master.replicas.available)
    caller = Caller(master)
    answer = await caller.send(body=b"x" * 2000)
    assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
    await caller.client.close(0.1)


async def test_a_slave_that_reads_nothing_costs_a_cursor(start_member: StartMember, hand: Hand, tmp_path: Path) -> None:
    master = await start_member()
    slave = await hand(master)
    slave.writer.transport.pause_reading()  # type: ignore[attr-defined]
    slave.report(0)
    await until(lambda: bool(master.replication.master.replicas.links))
    (link,) = master.replication.master.replicas.links
    await until(lambda: link.ack == 0)
    await put(master, 300, 90_000)
    await until(lambda: link._paused)
    assert link.cursor is not None
    assert link.cursor.behind > 10 << 20
    assert link._transport is not None
    assert link._transport.get_write_buffer_size() < 256 << 10
