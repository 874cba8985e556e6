from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.unit.store.support import FakeClock, begin_cleaning, bodies, clean, finish_cleaning, open_store, put

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.pull.get import GetStatus
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.ends import find_min
from sprocketmq.store.store import MessageStore

HOUR_MS = 3_600_000
NOON = int(datetime(2026, 6, 1, 12).timestamp() * 1000)
FOUR = NOON + 16 * HOUR_MS


class MeteredDisk(Disk):
    used = 10

    def disk_usage(self, path: Path) -> tuple[int, int]:
        return self.used, 100


def fill(root: Path, clock: FakeClock, disk: MeteredDisk, age_hours: int = 100) -> MessageStore:
    """A store of four log files, all but the last of a certain age, flushed."""
    store = open_store(root, clock, disk)
    while len(store.log.bases) < 4:
        put(store, body=bytes(3000), KEYS="k" + str(store.log.max_offset))
        put(store, "Busy", body=b"x")
    store.flush()
    modified = clock.now / 1000 - age_hours * 3600
    for base in store.log.bases[:-1]:
        os.utime(store.log.path_of(base), (modified, modified))
    return store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


def test_expired_files_go_at_the_appointed_hour(tmp_path: Path, clock: FakeClock) -> None:
    store = fill(tmp_path, clock, MeteredDisk())
    assert clean(store) == []
    clock.now = FOUR
    before = store.max_offset("T", 0)
    assert len(clean(store)) == 3
    assert store.log.min_offset == 3 * store.log.file_size
    assert 0 < store.min_offset("T", 0) < store.max_offset("T", 0) == before
    low = store.min_offset("T", 0)
    entry = store.reader.entry("T", 0, low)
    assert entry is not None
    assert entry.commit_offset >= store.log.min_offset
    assert store.get_message("T", 0, low - 1, 1, 100).status is GetStatus.OFFSET_TOO_SMALL
    assert len(bodies(store)) == before - low
    store.close()
    store = open_store(tmp_path, clock)
    assert (store.min_offset("T", 0), store.max_offset("T", 0)) == (low, before)
    store.close()


def test_young_files_stay(tmp_path: Path, clock: FakeClock) -> None:
    clock.now = FOUR
    store = fill(tmp_path, clock, MeteredDisk(), age_hours=71)
    assert clean(store) == []
    store.close()


class SetClock(FakeClock):
    """`ahead` is by how much the wall clock was set."""

    ahead = 0

    def now_ms(self) -> int:
        return self.now + self.ahead


def test_a_wall_clock_that_was_set_makes_no_file_old_for_an_hour(tmp_path: Path) -> None:
    clock = SetClock(FOUR)
    store = fill(tmp_path, clock, MeteredDisk(), age_hours=1)
    store.cleaner.config = replace(store.config, delete_when=";".join(f"{hour:02}" for hour in range(24)))
    for clock.ahead in (0, 100 * HOUR_MS, 100 * HOUR_MS, 0):
        assert clean(store) == []
        clock.now += 10_000
    clock.ahead = 100 * HOUR_MS
    assert clean(store) == []
    clock.now += HOUR_MS + 1
    assert len(clean(store)) == 3  # it was right
    store.close()


def test_a_filling_disk_deletes_expired_files_at_any_hour(tmp_path: Path, clock: FakeClock) -> None:
    disk = MeteredDisk()
    store = fill(tmp_path, clock, disk)
    disk.used = 76
    assert len(clean(store)) == 3
    store.close()


def test_a_fuller_disk_deletes_young_files_oldest_first(tmp_path: Path, clock: FakeClock) -> None:
    disk = MeteredDisk()
    store = fill(tmp_path, clock, disk, age_hours=0)
    disk.used = 80
    assert clean(store) == []
    disk.used = 86
    assert len(clean(store)) == 3, "all but the one that is written"
    store.close()


def test_a_full_disk_stops_writing_until_there_is_room(tmp_path: Path, clock: FakeClock) -> None:
    disk = MeteredDisk()
    store = fill(tmp_path, clock, disk)
    disk.used = 91
    clean(store)
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    assert bodies(store)
    disk.used = 50
    clean(store)
    assert put(store).ok
    store.close()


def test_an_operator_can_ask_for_it(tmp_path: Path, clock: FakeClock) -> None:
    store = fill(tmp_path, clock, MeteredDisk())
    store.cleaner.delete_soon()
    assert len(clean(store)) == 3
    store.close()


def test_index_files_of_deleted_records_go_too(tmp_path: Path, clock: FakeClock) -> None:
    store = open_store(tmp_path, clock, MeteredDisk(), max_index_num=5)
    while len(store.log.bases) < 3:
        put(store, body=bytes(3000), KEYS="k")
    store.flush()
    assert store.index is not None
    before = len(store.index.names)
    store.cleaner.delete_soon()
    os.utime(store.log.path_of(0), (0, 0))
    clean(store)
    assert 0 < len(store.index.names) < before
    assert all(header.end_offset >= store.log.min_offset for _name, header in store.index.headers()[:-1])
    store.close()


def test_a_view_outlives_the_file_it_came_from(tmp_path: Path, clock: FakeClock) -> None:
    store = fill(tmp_path, clock, MeteredDisk())
    held = store.get_message("T", 0, 0, 1, 1 << 20)
    copy = held.records
    store.cleaner.delete_soon()
    clean(store)
    assert held.records == copy
    store.close()


def test_a_deleted_topic_is_gone_and_may_come_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store)
    put(store, "Other")
    store.delete_topic("T")
    assert not (tmp_path / "consumequeue" / "T").exists()
    assert store.topics() == ["Other"]
    assert put(store, body=b"anew").queue_offset == 0
    assert bodies(store) == [b"anew"]
    store.close()


def test_queues_older_than_the_log_can_be_forgotten(tmp_path: Path, clock: FakeClock) -> None:
    store = open_store(tmp_path, clock, MeteredDisk())
    put(store, "Old")
    while len(store.log.bases) < 3:
        put(store, body=bytes(3000))
    store.flush()
    os.utime(store.log.path_of(0), (0, 0))
    store.cleaner.delete_soon()
    clean(store)
    assert store.cleaner.clean_expired_queues() == 1
    assert store.topics() == ["Old", "T"], "a topic goes when it is deleted"
    assert store.queues.of_topic("Old") == {}
    store.close()


def test_times_are_real(tmp_path: Path) -> None:
    disk = Disk()
    disk.write_bytes(tmp_path / "f", b"x")
    assert abs(disk.modified_ms(tmp_path / "f") - time.time() * 1000) < 60_000


def test_what_is_reserved_for_the_system_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_a_thousand = os.statvfs_result((1, 1, 1000, 900, 300, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: of_a_thousand)
    assert Disk().disk_usage(tmp_path) == (100, 400)


class StubbornDisk(MeteredDisk):
    """Deletes nothing whose path has `kept` in it."""

    kept = ""

    def remove(self, path: Path) -> None:
        if self.kept and self.kept in str(path):
            raise OSError(errno.EROFS, "made to fail")
        super().remove(path)


@pytest.mark.parametrize("kept", ["commitlog", "consumequeue", "index"])
def test_a_file_that_cannot_be_deleted_is_served_as_before(tmp_path: Path, clock: FakeClock, kept: str) -> None:
    disk = StubbornDisk()
    store = fill(tmp_path, clock, disk)
    before = bodies(store)
    disk.kept = kept
    clock.now = FOUR
    for _ in range(3):
        with suppress(OSError):
            clean(store)
    if kept == "commitlog":
        assert bodies(store) == before
        assert len(store.log.bases) == 4
    for queue in store.queues:
        assert all(queue.path_of(base).exists() for base in queue.bases)
        assert len(queue.bases) == len(list(queue.folder.iterdir()))
    assert store.index is not None
    assert len(store.index.names) == len(list((tmp_path / "index").iterdir()))
    disk.kept = ""
    clean(store)
    store.close()


def test_queues_are_looked_at_a_slice_at_a_time(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No turn does more than fits into one; readers pass over what a queue still has of a file that went."""
    store = fill(tmp_path, clock, MeteredDisk())
    for number in range(50):
        put(store, f"Many{number}")
    clock.now = FOUR
    ticks = iter(range(10_000))
    monkeypatch.setattr("sprocketmq.store.retention.time.monotonic", lambda: next(ticks) * 0.001)
    looked: list[str] = []

    def counted(queue: ConsumeQueue, log_min_offset: int) -> None:
        looked.append(queue.topic)
        find_min(queue, log_min_offset)

    monkeypatch.setattr("sprocketmq.store.retention.find_min", counted)
    queue_count = len(list(store.queues))
    assert len(begin_cleaning(store)) == 3
    slices = [len(looked)]
    while store.cleaner.busy:
        assert all(body in (b"x", bytes(3000)) for topic in ("T", "Busy") for body in bodies(store, topic))
        store.cleaner.go_on()
        slices.append(len(looked) - sum(slices))
    assert max(slices) <= 3
    assert len(looked) == queue_count
    assert store.min_offset("T", 0) > 0
    monkeypatch.undo()
    store.close()


def test_a_file_that_goes_meanwhile_has_all_queues_looked_at_once_more(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(tmp_path, clock, MeteredDisk())
    clock.now = FOUR
    monkeypatch.setattr("sprocketmq.store.retention._SLICE_SECONDS", 0)
    store.cleaner.config = replace(store.config, delete_file_batch_max=1)
    assert len(begin_cleaning(store)) == 1
    assert store.cleaner.busy
    assert len(begin_cleaning(store)) == 1
    finish_cleaning(store)
    for queue in store.queues:
        entry = queue.raw_entry(queue.min_offset)
        assert entry is None or entry.commit_offset >= store.log.min_offset
    store.close()
