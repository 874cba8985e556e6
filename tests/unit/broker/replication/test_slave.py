"""A slave of ours: what it copies, what it serves, what it refuses, and whom it does not follow."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.fault.disk import SimDisk
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.replication.conftest import StartMember
from tests.unit.broker.replication.support import follows, until
from tests.unit.broker.support import Caller, bodies, fields
from tests.unit.protocol.ha.golden_streams import DEFAULT, recorded
from tests.unit.store.support import clean, open_store

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.replication import slave as slave_module
from sprocketmq.broker.replication.auto_switch_stream import AutoSwitchStream
from sprocketmq.broker.replication.epoch_store import EpochStore
from sprocketmq.broker.replication.slave_stream import SlaveStream
from sprocketmq.broker.roles import Role, Standing
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.ha import HARuntimeInfo
from sprocketmq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from sprocketmq.protocol.enums import MessageRequestMode
from sprocketmq.protocol.ha import switch_stream
from sprocketmq.protocol.ha.default_stream import TransferDecoder, encode_frame_header
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.replica import Replica
from sprocketmq.store.timer.log import TimerCheck, read_timer_check


async def filled(master: Broker, count: int = 30, size: int = 200, topic: str = "T") -> None:
    caller = Caller(master)
    for number in range(count):
        await caller.send(topic, (b"%d|" % number).ljust(size, b"."))
    await caller.client.close(0.1)


async def test_a_slave_has_the_same_bytes_and_serves_them_without_its_master(start_member: StartMember) -> None:
    master = await start_member(brokerRole="SYNC_MASTER")
    slave = await start_member(1)
    await until(lambda: master.replication.master.replicas.available)
    await filled(master)
    await follows(slave, master)
    end = master.store.log.max_offset
    left, right = master.store.log.view_of(0), slave.store.log.view_of(0)
    assert left is not None
    assert right is not None
    assert left[:end] == right[:end]
    await until(lambda: "T" in slave.topics.configs)
    await master.stop()
    caller = Caller(slave)
    answer = await caller.pull()
    assert len(bodies(answer)) == 30
    assert fields(answer)["suggestWhichBrokerId"] == "0"
    await caller.client.close(0.1)


async def test_what_a_slave_refuses(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 1)
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    caller = Caller(slave)
    sent = await caller.send()
    assert (sent.code, (sent.remark or "")[:15]) == (ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]")
    back = await caller(RequestCode.CONSUMER_SEND_MSG_BACK, offset=0, group="G", delayLevel=1)
    assert back.code == ResponseCode.SYSTEM_BUSY
    ended = await caller(
        RequestCode.END_TRANSACTION, producerGroup="P", tranStateTableOffset=0, commitLogOffset=0, commitOrRollback=8
    )
    assert ended.code == ResponseCode.SLAVE_NOT_AVAILABLE
    reset = await caller(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, topic="T", group="G", timestamp=0, isForce=True)
    assert (reset.code, reset.remark) == (ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
    assert slave.store.put("T", 0, 0, 0, b"x", b"", 1, bytes(8), 0, 0).status != 0
    far = await caller.pull(offset=1000)
    assert (far.code, fields(far)["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "1000")
    await caller.client.close(0.1)


async def test_a_slave_that_may_not_be_read_is_not(start_member: StartMember) -> None:
    await start_member()
    slave = await start_member(1, slaveReadEnable="false")
    caller = Caller(slave)
    assert (await caller.pull("TBW102")).code == ResponseCode.SYSTEM_BUSY
    await caller.client.close(0.1)


async def test_tables_come_within_a_moment_and_go_as_they_came(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    caller = Caller(master)
    await filled(master, 2)
    group = SubscriptionGroupConfig(group_name="G", retry_max_times=3)
    await caller(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, codec.encode(group))
    mode = SetMessageRequestModeRequestBody(topic="T", consumer_group="G", mode=MessageRequestMode.POP)
    await caller(RequestCode.SET_MESSAGE_REQUEST_MODE, codec.encode(mode))
    master.offsets.commit("G", "T", 0, 2)
    await caller.send(DELAY="3")
    await until(lambda: slave.topics.configs == master.topics.configs)
    await until(lambda: slave.topics.data_version == master.topics.data_version)
    await until(lambda: slave.groups.configs == master.groups.configs)
    await until(lambda: slave.offsets.query("G", "T", 0) == 2)
    await until(lambda: slave.kinds.assignments.modes == master.kinds.assignments.modes)
    await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")
    await until(lambda: "T" not in slave.topics.configs)
    await until(lambda: "T" not in slave.store.topics())
    await caller.client.close(0.1)


async def test_a_slave_deletes_with_its_master_and_waits_for_no_disk(start_member: StartMember, tmp_path: Path) -> None:
    master = await start_member()
    # Nothing but what notes deletions: the threads that save tables are those of the master here as well.
    disk = HeldDisk(tmp_path / "store-1" / "config" / "deletedTopics.json.tmp")
    slave = await start_member(1, files=disk)
    await filled(master, 2)
    await until(lambda: "T" in slave.store.topics() and "T" in slave.topics.configs)
    caller = Caller(master)
    disk.synced_by_loop.clear()
    disk.going.clear()
    try:
        await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")
        await until(lambda: "T" not in slave.topics.configs and disk.waiting.is_set())
        await caller.send("Next")
        await until(lambda: "Next" in slave.store.topics())
    finally:
        disk.going.set()
    await until(lambda: "T" not in slave.store.topics())
    assert disk.synced_by_loop == []
    await caller.client.close(0.1)


async def test_a_deletion_that_is_told_before_its_topic_goes_holds_up_no_table(
    start_member: StartMember, tmp_path: Path
) -> None:
    folders = {0: tmp_path / "store-0" / "consumequeue", 1: tmp_path / "store-1" / "config" / "deletedTopics.json.tmp"}
    disks = {number: HeldDisk(folder) for number, folder in folders.items()}
    master, slave = await start_member(files=disks[0]), await start_member(1, files=disks[1])
    await filled(master, 2)
    await until(lambda: "T" in slave.store.topics() and "T" in slave.topics.configs)
    caller = Caller(master)
    for disk in disks.values():
        disk.going.clear()
    deleting = asyncio.ensure_future(caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T"))
    try:
        await until(disks[1].waiting.is_set)
        assert "T" in slave.topics.configs
        disks[0].going.set()
        await deleting
        await until(lambda: "T" not in slave.topics.configs)
    finally:
        for disk in disks.values():
            disk.going.set()
    await until(lambda: "T" not in slave.store.topics())
    await caller.client.close(0.1)


@pytest.mark.parametrize("away", [False, True])
async def test_a_topic_that_is_deleted_and_made_again_has_its_new_messages_at_the_slave(
    start_member: StartMember, away: bool
) -> None:
    """They have the queue offsets of the old ones, which the slave has and must not take them for."""
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 5)
    await until(lambda: slave.store.max_offset("T", 0) == 5 and "T" in slave.topics.configs)
    if away:
        await slave.stop()
    caller = Caller(master)
    await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")
    for body in (b"a", b"b", b"c"):
        await caller.send("T", body)
    if away:
        slave = await start_member(1)
    await until(lambda: slave.store.max_offset("T", 0) == 3 and "T" in slave.topics.configs)
    reader = Caller(slave)
    assert bodies(await reader.pull()) == [b"a", b"b", b"c"]
    for each in (caller, reader):
        await each.client.close(0.1)
    await slave.stop()
    again = await start_member(1)
    assert again.store.max_offset("T", 0) == 3


async def test_a_queue_that_was_cleaned_has_its_new_messages_at_the_slave(start_member: StartMember) -> None:
    """They begin at 0, and so do the groups; the slave has later offsets of both."""
    files = {"mappedFileSizeCommitLog": str(256 << 10)}
    master = await start_member(**files)
    slave = await start_member(1, **files)
    await filled(master, 5)
    master.offsets.commit("G", "T", 0, 5)
    await filled(master, 10, 100_000, "Other")
    await follows(slave, master)
    await until(lambda: slave.offsets.query("G", "T", 0) == 5)
    master.store.flush()
    os.utime(master.store.log.path_of(0), (0, 0))
    master.store.cleaner.delete_soon()
    clean(master.store)
    caller, reader = Caller(master), Caller(slave)
    await caller(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
    for body in (b"a", b"b"):
        assert fields(await caller.send("T", body))["queueOffset"] == ("0" if body == b"a" else "1")
    await until(lambda: slave.store.max_offset("T", 0) == 2)
    assert bodies(await reader.pull()) == [b"a", b"b"]
    await until(lambda: slave.offsets.query("G", "T", 0) == master.offsets.query("G", "T", 0) != 5)
    for each in (caller, reader):
        await each.client.close(0.1)


async def test_a_slave_goes_on_whatever_ended_it(
    start_member: StartMember, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slave_module, "_LONGEST_REST", 0.01)
    master = await start_member()
    slave = await start_member(1)
    await until(lambda: slave.replication.slave.stream is not None)
    failures = [KeyError("the stream"), KeyError("the tables")]

    def fail(*_arguments: object) -> None:
        raise failures.pop()

    with monkeypatch.context() as patch:
        patch.setattr(slave.replication._slave_tables, "_is_old", fail)
        await until(lambda: len(failures) == 1)
    with monkeypatch.context() as patch:
        patch.setattr(slave.replication.replica, "drop_undispatched", fail)
        assert slave.replication.slave.stream is not None
        slave.replication.slave.stream.close("made to fail")
        await until(lambda: not failures)
    await filled(master, 2)
    await until(lambda: slave.store.max_offset("T", 0) == 2 and "T" in slave.topics.configs)
    assert "replication ended" in caplog.text


async def test_delays_and_timers_are_as_far_as_at_the_master(start_member: StartMember) -> None:
    master = await start_member(messageDelayLevel="1s 2s")
    slave = await start_member(1, messageDelayLevel="1s 2s")
    caller = Caller(master)
    await caller.send(DELAY="1")
    await until(lambda: master.kinds.schedule.offsets() == {1: 1})
    await until(lambda: slave.kinds.schedule.offsets() == {1: 1})
    await caller.client.close(0.1)


async def test_how_far_timers_are_counts_when_it_is_on_the_slaves_disk(
    start_member: StartMember, tmp_path: Path
) -> None:
    """No other table waits for it, nor does the loop; a start finds what was taken over."""
    master = await start_member()
    disk = HeldDisk(tmp_path / "store-1" / "config" / "timercheck")
    slave = await start_member(1, files=disk)
    disk.synced_by_loop.clear()
    disk.going.clear()
    try:
        master.kinds.timer.files.check = TimerCheck(read_time=5000, queue_offset=7, counter=3)
        await until(disk.waiting.is_set)
        await filled(master, 2)
        await until(lambda: "T" in slave.topics.configs and slave.store.max_offset("T", 0) == 2)
        assert "timers" not in slave.replication._slave_tables._seen
    finally:
        disk.going.set()
    await until(lambda: "timers" in slave.replication._slave_tables._seen)
    assert disk.synced_by_loop == []
    kept = read_timer_check(Disk(), tmp_path / "store-1" / "config" / "timercheck")
    assert (kept.read_time, kept.master_queue_offset, kept.queue_offset) == (5000, 7, 0)


async def test_an_offset_goes_back_only_when_it_went_back_at_the_master(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 9)
    master.offsets.commit("G", "T", 0, 5)
    await until(lambda: slave.offsets.query("G", "T", 0) == 5)
    slave.offsets.commit("G", "T", 0, 8)  # read here while the master was slow
    master.offsets.commit("G", "T", 0, 6)
    master.offsets.commit("H", "T", 0, 1)
    await until(lambda: slave.offsets.query("H", "T", 0) == 1)
    assert slave.offsets.query("G", "T", 0) == 8
    master.offsets.commit("G", "T", 0, 2)  # somebody wants it all again
    await until(lambda: slave.offsets.query("G", "T", 0) == 2)


async def test_a_topic_changed_at_the_slave_is_set_right(start_member: StartMember) -> None:
    await start_member()
    slave = await start_member(1)
    await until(lambda: slave.replication.slave.stream is not None)
    caller = Caller(slave)
    await caller(
        RequestCode.UPDATE_AND_CREATE_TOPIC, topic="Wrong", defaultTopic="TBW102", readQueueNums=1, writeQueueNums=1,
        perm=6, topicFilterType="SINGLE_TAG", topicSysFlag=0, order=False,
    )  # fmt: skip
    await until(lambda: "Wrong" not in slave.topics.configs)
    await caller.client.close(0.1)


async def test_a_slave_that_restarts_goes_on(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 5)
    await follows(slave, master)
    await slave.stop()
    await filled(master, 5)
    again = await start_member(1)
    await follows(again, master)
    assert again.store.max_offset("T", 0) == 10


async def test_a_slave_finds_a_master_that_comes_later_and_again(start_member: StartMember) -> None:
    slave = await start_member(1)
    master = await start_member()
    await filled(master, 3)
    await follows(slave, master)
    await master.stop()
    again = await start_member()
    await filled(again, 3)
    await follows(slave, again)
    assert slave.store.max_offset("T", 0) == 6


async def test_a_log_that_has_diverged_is_never_mixed(start_member: StartMember) -> None:
    other = await start_member(store="other", brokerName="broker-b")
    await filled(other, 5)
    await other.stop()
    master = await start_member()
    await filled(master, 9)
    slave = await start_member(1, store="other")
    end = slave.store.log.max_offset
    await until(lambda: "diverged" in slave.replication.slave.trouble)
    assert slave.store.log.max_offset == end
    assert master.replication.master.replicas.links == []


async def test_a_log_longer_than_the_masters_is_not_given_up(start_member: StartMember) -> None:
    other = await start_member(store="other", brokerName="broker-b")
    await filled(other, 9)
    await other.stop()
    await start_member()
    slave = await start_member(1, store="other")
    await until(lambda: "diverged" in slave.replication.slave.trouble)


async def test_a_slave_behind_the_oldest_file_begins_anew(start_member: StartMember) -> None:
    master = await start_member()
    await filled(master, 2)
    slave = await start_member(1)
    await follows(slave, master)
    await slave.stop()
    old = slave.store.log.max_offset
    await filled(master, 30, 90_000)
    master.store.log.remove_first()
    again = await start_member(1)
    await follows(again, master)
    begin = master.store.log.max_offset // master.store.log.file_size * master.store.log.file_size
    assert again.store.log.bases[0] == begin > old
    assert again.store.min_offset("T", 0) > 2
    assert [path.name for path in again.store.layout.quarantine.glob("*/*")] == ["0" * 20]
    await again.stop()
    once_more = await start_member(1)
    await follows(once_more, master)
    assert once_more.store.report.clean
    assert once_more.store.max_offset("T", 0) == 32


async def test_a_slave_that_falls_behind_while_it_follows_begins_anew(start_member: StartMember) -> None:
    master = await start_member()
    await filled(master, 2)
    slave = await start_member(1)
    await follows(slave, master)
    (link,) = master.replication.master.replicas.links
    link.pause_writing()
    await filled(master, 30, 90_000)
    master.store.log.remove_first()
    link.resume_writing()
    await follows(slave, master)
    assert slave.store.log.bases[0] > 0
    assert slave.store.max_offset("T", 0) == 32


async def test_what_a_sync_flush_slave_reports_is_on_its_disk(start_member: StartMember) -> None:
    master = await start_member(brokerRole="SYNC_MASTER", slaveTimeout="60000")
    slave = await start_member(1, flushDiskType="SYNC_FLUSH")
    await until(lambda: master.replication.master.replicas.available)
    await filled(master, 10)
    assert slave.store.flushed_offset >= master.replication.master.replicas.offset == master.store.log.max_offset


async def test_how_replication_stands_is_told_on_both_sides(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 3)
    await follows(slave, master)
    told = []
    for broker in (master, slave):
        caller = Caller(broker)
        told.append(codec.decode(HARuntimeInfo, (await caller(RequestCode.GET_BROKER_HA_STATUS)).body))
        await caller.client.close(0.1)
    end = master.store.log.max_offset
    (link,) = told[0].ha_connection_info
    assert (told[0].master, told[0].in_sync_slave_nums, told[0].master_commit_log_max_offset) == (True, 1, end)
    assert (link.slave_ack_offset, link.diff, link.in_sync, link.transfer_from_where) == (end, 0, True, end)
    assert not told[1].master
    assert told[1].ha_client_runtime_info.max_offset == end
    assert told[1].ha_client_runtime_info.master_addr == slave.roles.current.ha_address
    assert told[1].ha_client_runtime_info.last_read_timestamp > 0
    assert "sprocketmq_replicas_in_sync" in master.metrics.text()
    assert 'slave="self"} 0\n' in slave.metrics.text()


async def test_a_role_may_change_while_the_broker_runs(start_member: StartMember) -> None:
    master = await start_member()
    slave = await start_member(1)
    await filled(master, 3)
    await follows(slave, master)
    caller = Caller(slave)
    stream = slave.replication.slave.stream
    assert stream is not None
    slave.roles.become(Standing(role=Role.MASTER, epoch=2))
    assert stream.closed.done()  # at once: what arrives now is of another master
    slave.replication.replica.take_over()
    answer = await caller.send(body=b"mine")
    assert (answer.code, fields(answer)["queueOffset"]) == (ResponseCode.SUCCESS, "3")
    slave.roles.become(Standing(role=Role.FENCED, broker_id=1, epoch=2))
    assert (await caller.send()).code == ResponseCode.SYSTEM_BUSY
    slave.roles.become(Standing(role=Role.MASTER, epoch=3))
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


# -- the stream by itself ---------------------------------------------------------------------------------------------


class Wire(asyncio.Transport):
    """Keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return

    def abort(self) -> None:
        self.aborted = True


def stream_over(root: Path) -> tuple[SlaveStream, Wire, Replica]:
    store = open_store(root, mapped_file_size_commit_log=4 << 20)
    replica = Replica(store, Disk())
    stream, wire = SlaveStream(replica, lambda: store.dispatcher.dispatched_offset), Wire()
    stream.connection_made(wire)
    return stream, wire, replica


async def test_the_recorded_stream_of_a_java_master_cut_at_every_byte(tmp_path: Path) -> None:
    frames, reports = recorded("default", "s2c.bin"), recorded("default", "c2s.bin")
    log = b"".join(frame.body for frame in TransferDecoder().feed(frames))
    stream, wire, replica = stream_over(tmp_path)
    for byte in frames:
        stream.data_received(bytes([byte]))
    assert not wire.aborted
    assert bytes(replica.slice_at(0, len(log)) or b"") == log
    told = [int.from_bytes(wire.written[at : at + 8], "big") for at in range(0, len(wire.written), 8)]
    recorded_ends = [int.from_bytes(reports[at : at + 8], "big") for at in range(0, len(reports), 8)]
    assert told == sorted(set(recorded_ends))


#: The size of the first record, behind the header of the first frame.
FIRST_SIZE = int.from_bytes(recorded("default", "s2c.bin")[12:16], "big")


@pytest.mark.parametrize("at", [0, 5, 20, 31, 100, FIRST_SIZE + 5])
async def test_a_damaged_record_is_neither_written_nor_reported(tmp_path: Path, at: int) -> None:
    frames = bytearray(recorded("default", "s2c.bin"))
    frames[12 + at] ^= 0x40
    stream, wire, replica = stream_over(tmp_path)
    stream.data_received(bytes(frames))
    assert wire.aborted
    assert int.from_bytes(wire.written[-8:], "big") <= at
    replica.drop_undispatched()
    assert replica.end_offset <= at
    again, wire = SlaveStream(replica, lambda: replica.end_offset), Wire()
    again.connection_made(wire)
    log = b"".join(frame.body for frame in TransferDecoder().feed(recorded("default", "s2c.bin")))
    again.data_received(encode_frame_header(replica.end_offset, len(log) - replica.end_offset))
    again.data_received(log[replica.end_offset :])
    assert replica.end_offset == len(log)


async def test_a_frame_of_another_place_ends_the_stream(tmp_path: Path) -> None:
    frames = recorded("default", "s2c.bin")
    stream, wire, replica = stream_over(tmp_path)
    first = frames[: 12 + DEFAULT["frames"][0]["size"]]
    stream.data_received(first)
    end = replica.end_offset
    stream.data_received(first)
    assert wire.aborted
    assert replica.end_offset == end


async def test_a_slave_that_is_started_as_the_master_delivers_nothing_twice(start_member: StartMember) -> None:
    master = await start_member(messageDelayLevel="1s 2s")
    slave = await start_member(1, messageDelayLevel="1s 2s")
    caller = Caller(master)
    await caller.send(body=b"once", DELAY="1")
    await until(lambda: master.store.max_offset("T", 0) == 1)
    await follows(slave, master)
    await until(lambda: slave.kinds.schedule.offsets() == {1: 1})
    await master.stop()
    slave.kinds.schedule.inherit({1: 0})  # as if the master had told it no more
    await slave.stop()
    again = await start_member(0, store="store-1", messageDelayLevel="1s 2s")
    await until(lambda: again.kinds.schedule.offsets() == {1: 1})
    assert again.store.max_offset("T", 0) == 1
    assert again.store.put("T", 0, 0, 0, b"more", b"", 1, bytes(8), 0, 0).queue_offset == 1
    await caller.client.close(0.1)


async def test_readers_are_sent_elsewhere_by_a_slave_a_little_earlier(start_member: StartMember) -> None:
    """Ten percent of memory for the end of the log leave a slave none."""
    master = await start_member(accessMessageInMemoryMaxRatio="10")
    slave = await start_member(1, accessMessageInMemoryMaxRatio="10")
    await filled(master, 5)
    await follows(slave, master)
    await until(lambda: "T" in slave.topics.configs)
    for broker, suggested in ((master, "0"), (slave, "1")):
        caller = Caller(broker)
        assert fields(await caller.pull(count=1))["suggestWhichBrokerId"] == suggested
        await caller.client.close(0.1)


async def test_an_epoch_that_cannot_be_kept_ends_the_stream_and_begins_with_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told, nothing of the epoch is written or reported, and the master is asked again."""
    store = open_store(tmp_path / "store", mapped_file_size_commit_log=4 << 20)
    replica, disk = Replica(store, Disk()), SimDisk()
    epochs = EpochStore(disk, disk.root / "epochFileCheckpoint")
    log = b"".join(frame.body for frame in TransferDecoder().feed(recorded("default", "s2c.bin")))
    answer = switch_stream.encode_answer(len(log), (Epoch(1, 0),))
    frame = switch_stream.encode_frame_header(0, len(log), Epoch(1, 0), 0) + log
    disk.faults.fail_at = disk.faults.entered + 1
    for kept in (False, True):
        made = AutoSwitchStream(replica, lambda: replica.end_offset, store, epochs, switch_stream.Handshake(2))
        wire = Wire()
        made.connection_made(wire)
        made.data_received(answer)
        await until(lambda made=made: made._saving is None)  # type: ignore[misc]
        said = len(wire.written)
        made.data_received(frame)
        await until(lambda made=made: made._saving is None)  # type: ignore[misc]
        assert wire.aborted is not kept
        assert (len(wire.written) > said) is kept
        assert (len(epochs.list), replica.end_offset) == ((1, len(log)) if kept else (0, 0))
    assert "replication stopped" in caplog.text
    store.close()
