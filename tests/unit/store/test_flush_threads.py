"""What goes wrong on the threads that flush: seen, said, and final unless it can pass."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.log.test_flush import BrokenDisk
from tests.unit.store.support import FakeClock, bodies, open_store, put, small
from tests.unit.store.test_retention import MeteredDisk

from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.files.disk import Disk, DiskFile
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

PATIENCE = 30.0  # only a hang is longer
EAGER: Any = {
    "flush_interval_commit_log": 1, "flush_commit_log_least_pages": 0, "flush_commit_log_thorough_interval": 1,
    "flush_interval_consume_queue": 1, "flush_consume_queue_thorough_interval": 1,
}  # fmt: skip
SYNC: Any = {**EAGER, "flush_disk_type": FlushDiskType.SYNC_FLUSH}


class ScarceDisk(BrokenDisk):
    """A disk where folders, and files to write whole, cannot be opened while `scarce` is set."""

    scarce: int | None = None

    def sync_dir(self, path: Path) -> None:
        self._check()
        super().sync_dir(path)

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        self._check()
        super().write_bytes(path, data, sync=sync)

    def _check(self) -> None:
        if self.scarce is not None:
            raise OSError(self.scarce, "made to fail")


class DeletingDisk(Disk):
    """Somebody deletes the topic at the moment when `when` is about to be synced."""

    when = "nothing"
    delete: Callable[[], object]

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        self._look(path)
        return super().open(path, writable=writable)

    def sync_dir(self, path: Path) -> None:
        self._look(path)
        super().sync_dir(path)

    def _look(self, path: Path) -> None:
        if str(path).endswith(self.when):
            self.when = "nothing"
            self.delete()


def open_eager(root: Path, disk: Disk, **settings: Any) -> MessageStore:
    return MessageStore.open(small(root, **settings), files=disk, clock=FakeClock())


def until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it never came")


@pytest.mark.parametrize("settings", [EAGER, SYNC])
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_lack_of_descriptors_ends_with_the_lack(
    tmp_path: Path, settings: Any, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = ScarceDisk()
    store = open_eager(tmp_path, disk, **settings)
    disk.scarce = number
    with caplog.at_level(logging.ERROR):
        end = put(store).end_offset
        until(lambda: "the log is not flushed" in caplog.text)
    assert store.failure is None
    assert store.flushed_offset == 0, "nothing counts as flushed meanwhile"
    disk.scarce = None
    until(lambda: store.flushed_offset == end)
    assert put(store).ok
    store.close()
    assert not (tmp_path / "abort").exists()


def test_a_stop_during_a_lack_of_descriptors_is_no_clean_one(tmp_path: Path) -> None:
    disk = ScarceDisk()
    store = open_store(tmp_path, files=disk)
    put(store)
    disk.scarce = errno.EMFILE
    store.close()
    assert (tmp_path / "abort").exists()
    again = open_store(tmp_path)
    assert bodies(again) == [b"body"]
    again.close()


def test_a_queue_that_was_not_flushed_for_want_of_descriptors_is_flushed_later(tmp_path: Path) -> None:
    disk = ScarceDisk()
    store = open_store(tmp_path, files=disk)
    for number in range(5):
        put(store, queue_id=number)
    store.flush()
    disk.scarce = errno.EMFILE
    assert not store.write_checkpoint()
    assert store.failure is None
    disk.scarce = None
    disk.syncs.clear()
    assert store.write_checkpoint()
    assert len({path for path in disk.syncs if "consumequeue" in str(path)}) == 5
    store.close()


@pytest.mark.parametrize(
    "when",
    [
        "consumequeue/T/0/00000000000000000000", "consumequeue/T/0", "consumequeue/T",
        "consumequeue_ext/T/0/00000000000000000000", "consumequeue_ext/T/0", "consumequeue_ext/T",
    ],
)  # fmt: skip
def test_a_topic_that_is_deleted_while_its_queues_are_flushed_is_no_failure(tmp_path: Path, when: str) -> None:
    disk = DeletingDisk()
    store = open_store(tmp_path, files=disk, enable_consume_queue_ext=True)
    disk.delete = lambda: store.delete_topic("T")
    put(store)
    put(store, topic="U")
    store.flush()
    disk.when = when
    assert store.write_checkpoint()
    assert disk.when == "nothing", "it was deleted"
    assert store.failure is None
    assert put(store, topic="U").status == PutStatus.PUT_OK
    store.close()


def test_a_checkpoint_that_cannot_be_written_is_written_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    disk = BrokenDisk()
    store = open_eager(tmp_path, disk, **EAGER)
    disk.faults[("create", "checkpoint")] = errno.ENOSPC
    with caplog.at_level(logging.ERROR):
        put(store)
        until(lambda: "the checkpoint is not written" in caplog.text)
    assert store.failure is None
    before = (tmp_path / "checkpoint").stat().st_mtime_ns if (tmp_path / "checkpoint").exists() else 0
    disk.faults.clear()
    until(lambda: (tmp_path / "checkpoint").exists() and (tmp_path / "checkpoint").stat().st_mtime_ns > before)
    store.close()


def test_an_index_file_that_failed_to_sync_is_never_vouched_for(tmp_path: Path) -> None:
    disk = BrokenDisk()
    clock = FakeClock()
    store = open_store(tmp_path, clock, disk)
    for number in range(60):
        clock.now += 1
        put(store, KEYS=f"k{number}")
    store.flush()
    disk.faults[("sync", "/index/")] = errno.EIO
    with pytest.raises(OSError, match="made to fail"):
        store.write_checkpoint()
    disk.faults.clear()
    assert store.failure is not None
    assert not store.write_checkpoint()
    assert store.checkpoint.index_msg_timestamp == 0
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    store.abandon()


@pytest.mark.parametrize("thread", ["flush-commitlog", "flush-consumequeue"])
def test_whatever_ends_a_thread_stops_the_store(
    tmp_path: Path, thread: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_eager(tmp_path, Disk(), **EAGER)

    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(store.log if thread == "flush-commitlog" else store.queues, *_call_of(thread), exhausted)
    with caplog.at_level(logging.ERROR):
        put(store)
        until(lambda: store.failure is not None)
    assert "MemoryError" in str(store.failure)
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    assert caplog.records
    store.abandon()


def _call_of(thread: str) -> tuple[str]:
    return ("sync",) if thread == "flush-commitlog" else ("flush",)


def test_a_flush_goes_on_when_nobody_can_be_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_eager(tmp_path, Disk(), **EAGER)

    def closed() -> None:
        raise RuntimeError("the loop is closed")

    store.on_progress = closed
    with caplog.at_level(logging.ERROR):
        first = put(store).end_offset
        until(lambda: store.flushed_offset == first)
        second = put(store).end_offset
        until(lambda: store.flushed_offset == second)
    assert store.failure is None
    assert "the loop is closed" in caplog.text
    store.close()


class FullBrokenDisk(BrokenDisk, MeteredDisk):
    pass


def test_after_a_failed_queue_sync_room_on_the_disk_changes_nothing(tmp_path: Path) -> None:
    disk = FullBrokenDisk()
    store = open_store(tmp_path, files=disk)
    put(store)
    disk.faults[("sync", "consumequeue")] = errno.EIO
    store.write_checkpoint()
    assert store.failure is not None
    disk.faults.clear()
    for disk.used in (95, 10):
        store.cleaner.run()
        assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    store.abandon()


def test_what_nobody_woke_the_thread_for_is_flushed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_eager(tmp_path, Disk(), **SYNC)
    monkeypatch.setattr(store.flusher._wake, "set", lambda: None)
    end = put(store).end_offset
    assert store.flusher.wait(end, int(PATIENCE * 1000))
    monkeypatch.undo()
    store.close()


def test_two_flushes_at_once_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner flushes beside the thread, over several files: each is let go once, and nothing goes back."""
    store = open_store(tmp_path)
    while len(store.log.bases) < 3:
        put(store, body=bytes(3000))
    inside, let_go, order = threading.Event(), threading.Event(), list[str]()
    sync = store.log.sync

    def slow(segment: Any, upto: int) -> None:
        order.append(threading.current_thread().name)
        inside.set()
        assert let_go.wait(PATIENCE)
        sync(segment, upto)

    monkeypatch.setattr(store.log, "sync", slow)
    threads = [threading.Thread(target=store.flusher.flush, name=name, daemon=True) for name in ("one", "two")]
    threads[0].start()
    assert inside.wait(PATIENCE)
    threads[1].start()
    threads[1].join(0.05)
    let_go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["one"] * 3, "the second found nothing to do"
    assert store.flushed_offset == store.log.max_offset
    store.close()
