from __future__ import annotations

import os
import shutil
import struct
from itertools import count
from pathlib import Path

import pytest
from tests.unit.protocol.ha.golden_streams import DEFAULT, recorded
from tests.unit.store.support import FakeClock, bodies, clean, open_store, put

from sprocketmq.errors import FrameError, StoreError
from sprocketmq.protocol.ha.default_stream import TransferDecoder
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView


def replica_of(store: MessageStore) -> Replica:
    return Replica(store, Disk())


def filled(root: Path, messages: int, size: int = 900) -> MessageStore:
    store = open_store(root)
    for number in range(messages):
        assert put(store, "T", number % 2, (b"%d|" % number).ljust(size, b"."), KEYS=f"k{number}", TAGS="t").ok
    return store


def copy(master: MessageStore, slave: Replica, step: int = 1000) -> None:
    source = replica_of(master)
    while slave.received_offset < master.log.max_offset:
        piece = source.slice_at(slave.received_offset, step)
        assert piece is not None
        slave.append(piece)


def same_log(master: MessageStore, slave: MessageStore) -> None:
    assert slave.log.max_offset == master.log.max_offset
    for base in slave.log.bases:
        left, right = master.log.view_of(base), slave.log.view_of(base)
        assert left is not None
        assert right is not None
        assert left == right


def confirm(store: MessageStore, offset: int | None) -> None:
    """Readers see the log no further than this from now on."""
    store.readable.limit(offset)
    store.dispatch_ready()


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
def test_a_copy_in_any_pieces_is_the_same(tmp_path: Path, step: int) -> None:
    master, slave = filled(tmp_path / "m", 40), open_store(tmp_path / "s")
    copy(master, replica_of(slave), step)
    same_log(master, slave)
    assert len(slave.log.bases) > 2
    for queue_id in (0, 1):
        assert bodies(slave, "T", queue_id) == bodies(master, "T", queue_id)
    assert [r.queue_offset for r in slave.reader.query("T", "k7", 9, 0, 1 << 60)] == [3]


def test_a_part_of_a_record_is_not_in_the_log(tmp_path: Path) -> None:
    master, slave = filled(tmp_path / "m", 2), open_store(tmp_path / "s")
    replica = replica_of(slave)
    data = bytes(replica_of(master).slice_at(0, 1 << 20) or b"")
    half = len(data) * 3 // 4
    replica.append(data[:half])
    assert (replica.end_offset, replica.received_offset) == (len(data) // 2, half)
    replica.forget_incomplete()
    assert replica.received_offset == replica.end_offset == len(data) // 2
    replica.append(data[len(data) // 2 :])
    same_log(master, slave)


def test_the_recorded_stream_of_a_java_master_is_a_log(tmp_path: Path) -> None:
    slave = open_store(tmp_path, mapped_file_size_commit_log=4 << 20)
    replica = replica_of(slave)
    for frame in TransferDecoder().feed(recorded("default", "s2c.bin")):
        assert frame.offset == replica.received_offset
        replica.append(frame.body)
    assert replica.end_offset == replica.received_offset == DEFAULT["reports"][-1]["logEnd"]
    assert slave.topics()


@pytest.mark.parametrize("at", [0, 4, 8, 29, 100, 950])
def test_a_flipped_bit_is_never_in_the_log(tmp_path: Path, at: int) -> None:
    master, slave = filled(tmp_path / "m", 3), open_store(tmp_path / "s")
    data = bytearray(replica_of(master).slice_at(0, 1 << 20) or b"")
    size = len(data) // 3
    data[size + at] ^= 1
    replica = replica_of(slave)
    with pytest.raises(FrameError, match=f"at {size}:|blank"):
        replica.append(bytes(data))
    assert replica.end_offset == slave.dispatcher.dispatched_offset == size


def test_a_record_of_another_place_is_none_here(tmp_path: Path) -> None:
    master, slave = filled(tmp_path / "m", 2), open_store(tmp_path / "s")
    second = replica_of(master).slice_at(master.log.max_offset // 2, 1 << 20)
    with pytest.raises(FrameError, match="at 0: no record's magic"):
        replica_of(slave).append(second or b"")


def test_a_size_that_no_record_has_is_not_waited_for(tmp_path: Path) -> None:
    head = bytes.fromhex("7fffffff daa320a7")
    with pytest.raises(FrameError, match="size leaves"):
        replica_of(open_store(tmp_path)).append(head + bytes(100))


def test_an_empty_log_begins_where_it_is_told(tmp_path: Path) -> None:
    master = filled(tmp_path / "m", 40)
    start = master.log.bases[-1]
    slave = open_store(tmp_path / "s")
    replica = replica_of(slave)
    with pytest.raises(StoreError, match="mappedFileSizeCommitLog"):
        replica.begin_at(start + 1)
    replica.begin_at(start)
    copy(master, replica)
    assert slave.log.min_offset == start
    assert bodies(slave, "T", 1) == bodies(master, "T", 1)[-len(bodies(slave, "T", 1)) :]
    assert slave.max_offset("T", 1) == master.max_offset("T", 1)
    with pytest.raises(StoreError, match="cannot begin"):
        replica.begin_at(0)
    slave.close()
    again = open_store(tmp_path / "s")
    assert (again.log.min_offset, again.log.max_offset) == (start, master.log.max_offset)


def test_readers_see_what_is_confirmed(tmp_path: Path) -> None:
    master, slave = filled(tmp_path / "m", 6), open_store(tmp_path / "s")
    confirm(slave, 0)
    copy(master, replica_of(slave))
    size = master.log.max_offset // 6
    assert bodies(slave, "T", 0) == []
    for confirmed, seen in [(size - 1, 0), (size, 1), (size + 5, 1), (5 * size, 3)]:
        confirm(slave, confirmed)
        assert len(bodies(slave, "T", 0)) == seen
    confirm(slave, None)
    assert bodies(slave, "T", 1) == bodies(master, "T", 1)


def test_a_put_is_read_when_it_is_confirmed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    confirm(store, 0)
    results = [put(store) for _ in range(3)]
    assert [result.queue_offset for result in results] == [0, 1, 2]
    assert store.max_offset("T", 0) == 0
    confirm(store, results[1].end_offset)
    assert store.max_offset("T", 0) == 2
    confirm(store, None)
    assert put(store).queue_offset == 3
    assert len(bodies(store)) == 4


def test_what_was_not_confirmed_is_hidden_after_a_start(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    confirm(store, 0)
    results = [put(store, KEYS=f"k{number}") for number in range(4)]
    confirm(store, results[1].end_offset)
    store.flush()
    store.write_checkpoint()
    store.abandon()
    again = MessageStore.open(store.config, background=False, confirmed_only=True)
    assert again.log.max_offset == results[3].end_offset
    assert (len(bodies(again)), again.readable.confirm_offset) == (2, results[1].end_offset)
    replica_of(again).take_over()
    assert put(again).queue_offset == 4
    confirm(again, None)
    assert len(bodies(again)) == 5


def test_whoever_takes_over_goes_on_in_every_queue(tmp_path: Path) -> None:
    master, slave = filled(tmp_path / "m", 41), open_store(tmp_path / "s")
    confirm(slave, 0)
    replica = replica_of(slave)
    copy(master, replica)
    replica.take_over()
    assert (put(slave, "T", 0).queue_offset, put(slave, "T", 1).queue_offset) == (21, 20)
    confirm(slave, None)
    assert slave.max_offset("T", 0) == 22
    assert put(slave, "T", 0).queue_offset == 22


def ends(store: MessageStore) -> list[int]:
    found, at = [], store.log.min_offset
    while at < store.log.max_offset:
        record = store.reader.record_at(at)
        at = at + record.size if record else at + store.log.file_size - at % store.log.file_size
        found.append(at)
    return found


@pytest.mark.parametrize("keep", [1, 5, 16, 17, 18, 30, 39])
@pytest.mark.parametrize("mode", FlushDiskType)
def test_a_cut_log_is_as_if_the_rest_had_never_come(tmp_path: Path, keep: int, mode: FlushDiskType) -> None:
    store = open_store(tmp_path, flush_disk_type=mode)
    for number in range(40):
        assert put(store, "T", number % 2, (b"%d|" % number).ljust(900, b"."), KEYS=f"k{number}").ok
    store.flush()
    store.write_checkpoint()
    before = {queue_id: bodies(store, "T", queue_id) for queue_id in (0, 1)}
    replica = replica_of(store)
    told: list[int] = []
    replica.on_cut.append(told.append)
    end = ends(store)[keep - 1]
    kept = replica.cut(end, "another master was elected")
    assert told == [end]
    assert sum(each.records for each in kept) + sum(len(bodies(store, "T", each)) for each in (0, 1)) == 40
    last = max(each for each in ends(store) if each % store.log.file_size)
    for _ in range(2):
        assert store.log.max_offset in (end, last)  # a start takes a blank at the very end for the end
        for queue_id in (0, 1):
            mine = bodies(store, "T", queue_id)
            assert mine == before[queue_id][: len(mine)]
        alive = [n for n in range(40) if store.reader.query("T", f"k{n}", 9, 0, 1 << 60)]
        assert alive == list(range(len(alive)))
        store.abandon()
        store = open_store(tmp_path, flush_disk_type=mode)
        assert not store.report.quarantined


@pytest.mark.parametrize("mode", FlushDiskType)
def test_a_cut_log_grows_again(tmp_path: Path, mode: FlushDiskType) -> None:
    master, slave = filled(tmp_path / "m", 30), open_store(tmp_path / "s", flush_disk_type=mode)
    replica = replica_of(slave)
    copy(master, replica)
    slave.flush()
    size = ends(master)[0]
    replica.cut(3 * size, "test")
    other = open_store(tmp_path / "o")
    copy_upto = replica_of(other)
    copy_upto.append(bytes(replica_of(master).slice_at(0, 3 * size) or b""))
    for number in count():
        if number == 40:
            break
        assert put(other, "U", number % 3, b"other%d" % number).ok
    copy(other, replica)
    slave.flush()
    same_log(other, slave)
    assert bodies(slave, "U", 2) == bodies(other, "U", 2)
    assert bodies(slave, "T", 0) == bodies(other, "T", 0)
    assert put(slave, "T", 0).queue_offset == 2


def test_a_log_is_cut_between_records_only(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    replica = replica_of(store)
    end = store.log.max_offset
    with pytest.raises(StoreError, match="no record begins at 5"):
        replica.cut(5, "test")
    assert replica.cut(end, "test") == []
    assert store.log.max_offset == end


def test_a_cut_can_leave_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path, 20)
    replica_of(store).cut(0, "test")
    assert store.log.max_offset == store.max_offset("T", 0) == 0
    assert put(store).queue_offset == 0
    store.close()
    assert len(bodies(open_store(tmp_path))) == 1


def test_a_transient_buffer_is_read_when_it_is_committed(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    assert put(store).ok
    replica = replica_of(store)
    assert replica.slice_at(0, 100) is None
    store.flush()
    assert len(replica.slice_at(0, 1 << 20) or b"") == store.log.max_offset


# -- a queue that was cleaned at the master, and begins again at 0


def cleaned_queue(root: Path) -> tuple[MessageStore, MessageStore]:
    """A master whose queue had three messages, was cleaned and has two new ones; a slave that has the whole log."""
    clock = FakeClock()
    master, slave = open_store(root / "m", clock), open_store(root / "s")
    for number in range(3):
        put(master, "Old", body=b"old %d" % number)
    while len(master.log.bases) < 3:
        put(master, body=bytes(3000))
    replica = replica_of(slave)
    copy(master, replica)
    assert slave.max_offset("Old", 0) == 3
    master.flush()
    os.utime(master.log.path_of(0), (0, 0))
    master.cleaner.delete_soon()
    clean(master)
    assert master.cleaner.clean_expired_queues() == 1
    for number in range(2):
        assert put(master, "Old", body=b"new %d" % number).queue_offset == number
    copy(master, replica)
    return master, slave


NEW = [b"new 0", b"new 1"]


def test_a_queue_that_was_cleaned_at_the_master_begins_anew_at_the_slave(tmp_path: Path) -> None:
    master, slave = cleaned_queue(tmp_path)
    assert bodies(master, "Old") == bodies(slave, "Old") == NEW
    put(master, "Old", body=b"new 2")
    copy(master, replica_of(slave))
    assert bodies(slave, "Old") == [*NEW, b"new 2"]
    replica_of(slave).take_over()
    assert put(slave, "Old").queue_offset == 3


@pytest.mark.parametrize("lost", ["nothing", "checkpoint", "consumequeue/Old", "consumequeue"])
def test_a_crash_leaves_the_new_messages_of_a_cleaned_queue(tmp_path: Path, lost: str) -> None:
    """What the slave's log has of the old ones is dispatched before them once more."""
    _, slave = cleaned_queue(tmp_path)
    slave.flush()
    slave.write_checkpoint()
    slave.abandon()
    if lost == "checkpoint":
        (tmp_path / "s" / lost).unlink()
    shutil.rmtree(tmp_path / "s" / lost, ignore_errors=True)
    view = StoreView(tmp_path / "s")
    entries = view.queues["Old", 0].entries(0, 1 << 40)
    again = open_store(tmp_path / "s")
    assert not again.report.clean
    assert bodies(again, "Old") == NEW
    queue = again.queues.find("Old", 0)
    assert queue is not None
    assert list(entries) == [(number, queue.entry(number)) for number in range(2)]


def test_a_crash_that_brings_the_old_queue_back_leaves_its_new_messages(tmp_path: Path) -> None:
    """Nobody waits until it is on disk that the files are gone."""
    master, _ = cleaned_queue(tmp_path)
    master.abandon()
    with (tmp_path / "m" / "consumequeue" / "Old" / "0" / f"{0:020}").open("r+b") as file:
        for number in range(3):  # as they were: places that the log no longer has
            file.write(struct.pack(">qiq", number * 100, 100, 0))
    again = open_store(tmp_path / "m")
    assert bodies(again, "Old") == NEW


def test_a_queue_is_not_cleaned_while_a_message_waits_for_its_flush(tmp_path: Path) -> None:
    store = open_store(tmp_path, FakeClock(), flush_disk_type=FlushDiskType.SYNC_FLUSH)
    put(store, "Old")
    while len(store.log.bases) < 3:
        put(store, body=bytes(3000))
    store.flush()
    os.utime(store.log.path_of(0), (0, 0))
    store.cleaner.delete_soon()
    clean(store)
    assert put(store, "Old", body=b"waits").queue_offset == 1
    assert store.cleaner.clean_expired_queues() == 0
    store.flush()
    assert bodies(store, "Old") == [b"waits"]
    assert put(store, "Old").queue_offset == 2
