from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.support import START_MS, FakeClock, bodies, open_store, put, read_all

from sprocketmq.errors import StoreError, StoreLocked
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.queue.format import ENTRY, QueueEntry
from sprocketmq.store.recovery.quarantine import quarantined, records_in, replay
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView

LOG = "commitlog/00000000000000000000"


def crashed(root: Path, count: int = 5, *, checkpoint: bool = False) -> list[int]:
    """A store that was killed; the commit offsets of its messages."""
    clock = FakeClock()
    store = open_store(root, clock)
    offsets = []
    for number in range(count):
        clock.now += 10_000
        offsets.append(put(store, body=b"message %d" % number, KEYS=f"k{number}").commit_offset)
    store.flush()
    if checkpoint:
        store.write_checkpoint()
    store.abandon()
    return offsets


def damage(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def entries(store: MessageStore, count: int) -> list[QueueEntry]:
    found = [store.reader.entry("T", 0, offset) for offset in range(count)]
    return [entry for entry in found if entry is not None]


def messages(*numbers: int) -> list[bytes]:
    return [b"message %d" % number for number in numbers]


def test_a_killed_store_loses_nothing(tmp_path: Path) -> None:
    crashed(tmp_path, 200)
    store = open_store(tmp_path)
    assert not store.report.clean
    assert bodies(store) == messages(*range(200))
    assert put(store).queue_offset == 200
    assert [r.body for r in store.reader.query("T", "k150", 5, 0, 1 << 62)] == [b"message 150"]
    store.close()
    assert not (tmp_path / "abort").exists()
    store = open_store(tmp_path)
    assert store.report.clean
    store.close()


def test_a_torn_tail_is_cut_and_cleared_on_disk(tmp_path: Path) -> None:
    offsets = crashed(tmp_path)
    damage(tmp_path / LOG, offsets[4] + 84, b"\xff" * 20)
    store = open_store(tmp_path)
    assert store.report.end_offset == offsets[4]
    assert store.report.quarantined == []
    assert store.report.cut_queue_entries == 1
    store.abandon()
    assert not any((tmp_path / LOG).read_bytes()[offsets[4] :])
    assert not any((tmp_path / "consumequeue/T/0/00000000000000000000").read_bytes()[80:])
    store = open_store(tmp_path)
    assert bodies(store) == messages(0, 1, 2, 3)
    assert put(store, body=b"new").queue_offset == 4
    assert [r.body for r in store.reader.query("T", "k4", 5, 0, 1 << 62)] == []
    store.close()


def test_past_the_checkpoint_whole_records_behind_damage_are_set_aside_and_can_be_replayed(tmp_path: Path) -> None:
    offsets = crashed(tmp_path)
    damage(tmp_path / LOG, offsets[2] + 90, b"X")
    store = open_store(tmp_path)
    assert bodies(store) == messages(0, 1)
    [kept] = store.report.quarantined
    assert (kept.commit_offset, kept.records) == (offsets[2], 2)
    [path] = quarantined(Disk(), store.layout)
    assert [r.body for r in records_in(Disk(), path)] == messages(3, 4)
    assert replay(Disk(), path, store.put_record) == 2
    assert bodies(store) == messages(0, 1, 3, 4)
    store.close()


def test_before_the_checkpoint_only_the_damaged_record_is_lost(tmp_path: Path) -> None:
    offsets = crashed(tmp_path, checkpoint=True)
    damage(tmp_path / LOG, offsets[2] + 90, b"X")
    store = open_store(tmp_path)
    assert [(d.commit_offset, d.end) for d in store.report.damaged] == [(offsets[2], offsets[3])]
    assert store.report.quarantined == []
    assert bodies(store) == messages(0, 1, 3, 4)
    assert put(store).queue_offset == 5
    store.close()


def test_damage_and_lost_queues_together_keep_the_other_offsets(tmp_path: Path) -> None:
    offsets = crashed(tmp_path, 50, checkpoint=True)
    damage(tmp_path / LOG, offsets[2] + 90, b"X")
    queue = tmp_path / "consumequeue/T/0"
    damage(queue / "00000000000000000000", 0, bytes(400))
    store = open_store(tmp_path)
    assert bodies(store)[:4] == messages(0, 1, 3, 4)
    assert [record.queue_offset for record in read_all(store)][:4] == [0, 1, 3, 4]
    assert store.max_offset("T", 0) == 50
    store.close()


@pytest.mark.parametrize("gone", ["consumequeue", "index", "checkpoint", "consumequeue/T/1"])
def test_what_the_log_can_rebuild_is_rebuilt(tmp_path: Path, gone: str) -> None:
    store = open_store(tmp_path)
    for number in range(100):
        put(store, queue_id=number % 2, body=b"%d" % number, KEYS=f"k{number}")
    store.abandon()
    disk = Disk()
    disk.remove_tree(tmp_path / gone)
    disk.remove(tmp_path / gone) if (tmp_path / gone).is_file() else None
    store = open_store(tmp_path)
    assert bodies(store, queue_id=0) == [b"%d" % number for number in range(0, 100, 2)]
    assert bodies(store, queue_id=1) == [b"%d" % number for number in range(1, 100, 2)]
    assert [r.body for r in store.reader.query("T", "k77", 5, 0, 1 << 62)] == [b"77"]
    store.close()


def test_a_clean_store_without_queues_or_index_is_rebuilt_too(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(60):
        put(store, body=b"%d" % number, KEYS=f"k{number}")
    store.close()
    Disk().remove_tree(tmp_path / "consumequeue")
    Disk().remove_tree(tmp_path / "index")
    store = open_store(tmp_path)
    assert len(bodies(store)) == 60
    assert [r.body for r in store.reader.query("T", "k7", 5, 0, 1 << 62)] == [b"7"]
    store.close()


def test_a_hole_in_a_queue_is_filled_from_the_log(tmp_path: Path) -> None:
    crashed(tmp_path, 100)
    damage(tmp_path / "consumequeue/T/0/00000000000000001200", 100, bytes(40))
    store = open_store(tmp_path)
    assert bodies(store) == messages(*range(100))
    store.close()


def test_a_queue_that_lost_more_than_the_checkpoint_says_is_built_again(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(tmp_path, clock, message_index_enable=False)
    for number in range(300):
        clock.now += 1000
        put(store, body=b"message %d" % number)
    store.flush()
    store.write_checkpoint()
    store.abandon()
    for path in sorted((tmp_path / "consumequeue/T/0").iterdir())[4:]:
        damage(path, 0, bytes(400))
    store = open_store(tmp_path, message_index_enable=False)
    assert bodies(store) == messages(*range(300))
    store.close()


def test_a_missing_middle_file_costs_only_its_own_records(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(tmp_path, clock)
    while len(store.log.bases) < 4:
        clock.now += 1000
        put(store, body=b"%d" % store.max_offset("T", 0) + bytes(1000))
    count = store.max_offset("T", 0)
    store.flush()
    store.write_checkpoint()
    store.abandon()
    (tmp_path / "commitlog" / f"{store.log.file_size:020d}").unlink()
    store = open_store(tmp_path)
    numbers = [int(body.rstrip(b"\0")) for body in bodies(store)]
    lost = set(range(count)) - set(numbers)
    assert lost == set(range(min(lost), max(lost) + 1))
    assert 0 < len(lost) < 17
    assert numbers[-1] == count - 1
    assert put(store).queue_offset == count
    store.close()


def test_a_truncated_last_file_is_made_whole(tmp_path: Path) -> None:
    offsets = crashed(tmp_path)
    path = tmp_path / LOG
    path.write_bytes(path.read_bytes()[: offsets[3] + 50])
    store = open_store(tmp_path)
    assert bodies(store) == messages(0, 1, 2)
    assert path.stat().st_size == store.log.file_size
    store.close()


@pytest.mark.parametrize("name", [LOG, "consumequeue/T/0/00000000000000000400", "index/20260101000000000"])
def test_files_of_no_length_are_as_if_they_were_not_there(tmp_path: Path, name: str) -> None:
    if name == LOG:
        store = open_store(tmp_path)
        store.abandon()
    else:
        crashed(tmp_path)
    Disk().create(tmp_path / name, 0).close()
    store = open_store(tmp_path)
    assert bodies(store) == ([] if name == LOG else messages(*range(5)))
    assert put(store).ok
    store.close()


def test_files_of_other_sizes_are_refused_with_the_key_to_set(tmp_path: Path) -> None:
    crashed(tmp_path)
    with pytest.raises(StoreError, match="mappedFileSizeCommitLog is 8192"):
        open_store(tmp_path, mapped_file_size_commit_log=8192)
    with pytest.raises(StoreError, match="mappedFileSizeConsumeQueue is 200"):
        open_store(tmp_path, mapped_file_size_consume_queue=200)


def test_a_second_broker_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(StoreLocked):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()


def test_without_a_log_nothing_else_counts(tmp_path: Path) -> None:
    crashed(tmp_path)
    Disk().remove_tree(tmp_path / "commitlog")
    store = open_store(tmp_path)
    assert store.topics() == []
    assert put(store).commit_offset == 0
    store.close()


def test_stale_bytes_behind_the_end_are_never_taken_for_messages(tmp_path: Path) -> None:
    """A Java broker leaves old records behind the end when it cuts a log; they are whole, but of another time."""
    offsets = crashed(tmp_path)
    old = (tmp_path / LOG).read_bytes()
    damage(tmp_path / LOG, offsets[1] + 90, b"X")
    store = open_store(tmp_path)
    assert len(bodies(store)) == 1
    store.close()
    damage(tmp_path / LOG, offsets[2], old[offsets[2] : offsets[4]])
    store = open_store(tmp_path)
    assert bodies(store) == messages(0)
    store.close()


def test_queue_entries_below_the_logs_beginning_do_not_count(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    store = open_store(tmp_path, clock)
    while len(store.log.bases) < 3:
        put(store, body=bytes(1000))
    top = store.max_offset("T", 0)
    store.close()
    (tmp_path / LOG).unlink()
    Disk().remove_tree(tmp_path / "consumequeue")
    store = open_store(tmp_path)
    assert 0 < store.min_offset("T", 0) < store.max_offset("T", 0) == top
    assert len(bodies(store)) == top - store.min_offset("T", 0)
    store.close()


@pytest.mark.parametrize("count", [52, 60])
@pytest.mark.parametrize("lost", [slice(0, 8), slice(0, 4), slice(4, 20), slice(12, 20), slice(16, 20)], ids=str)
def test_a_queue_entry_that_the_power_cut_tore_is_mended(tmp_path: Path, lost: slice, count: int) -> None:
    """Entry 51 of a queue file lies across two sectors: bytes 1020 to 1040."""
    settings: dict[str, Any] = {"mapped_file_size_consume_queue": 6000}
    store = open_store(tmp_path, **settings)
    for number in range(count):
        put(store, body=b"%d" % number, TAGS="tag")
    whole = entries(store, count)
    store.abandon()
    path = tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}"
    data = bytearray(path.read_bytes())
    entry = bytearray(data[1020:1040])
    entry[lost] = bytes(len(entry[lost]))
    data[1020:1040] = entry
    path.write_bytes(data)
    view = StoreView(tmp_path)
    assert [view.queues["T", 0].entry(offset) for offset in range(count)] == whole
    store = open_store(tmp_path, **settings)
    assert entries(store, count) == whole
    store.close()
    assert path.read_bytes()[1020:1040] == ENTRY.pack(*whole[51])
