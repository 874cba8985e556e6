from __future__ import annotations

import errno
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.support import START_MS, FakeClock, bodies, open_store, put, small

from sprocketmq.errors import FlushFailed, StoreError, StoreFull
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.files.disk import Disk, DiskFile
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.store import MessageStore

SYNC: Any = {"flush_disk_type": FlushDiskType.SYNC_FLUSH}


class BrokenFile(DiskFile):
    def __init__(self, disk: BrokenDisk, path: Path, descriptor: int) -> None:
        super().__init__(path, descriptor)
        self._disk = disk

    def sync(self) -> None:
        self._disk.fail("sync", self.path)
        super().sync()

    def allocate(self, start: int, end: int) -> None:
        self._disk.fail("allocate", self.path)
        super().allocate(start, end)


class BrokenDisk(Disk):
    """Fails where it is told to: (what, part of the path) -> error number."""

    def __init__(self) -> None:
        self.faults: dict[tuple[str, str], int] = {}
        self.syncs: list[Path] = []

    def fail(self, what: str, path: Path) -> None:
        if what == "sync":
            self.syncs.append(path)
        for (kind, part), number in self.faults.items():
            if kind == what and part in str(path):
                raise OSError(number, "made to fail")

    def create(self, path: Path, size: int) -> DiskFile:
        self.fail("create", path)
        return self._wrap(super().create(path, size))

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        return self._wrap(super().open(path, writable=writable))

    def _wrap(self, file: DiskFile) -> BrokenFile:
        descriptor, file._descriptor = file._descriptor, -1
        return BrokenFile(self, file.path, descriptor)


def test_async_messages_are_readable_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    result = put(store)
    assert store.readable.offset == result.end_offset
    assert store.flushed_offset == 0
    assert bodies(store) == [b"body"]
    store.flush()
    assert store.flushed_offset == result.end_offset
    store.close()


def test_under_sync_flush_nothing_is_readable_before_it_is_flushed(tmp_path: Path) -> None:
    store = open_store(tmp_path, **SYNC)
    first, second = put(store), put(store)
    assert (first.queue_offset, second.queue_offset) == (0, 1)
    assert store.max_offset("T", 0) == 0
    store.flush()
    assert store.max_offset("T", 0) == 2
    assert bodies(store) == [b"body", b"body"]
    store.close()


def test_one_sync_answers_everyone_who_waits(tmp_path: Path) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk, **SYNC)
    disk.syncs.clear()
    ends = [put(store).end_offset for _ in range(10)]
    store.flush()
    assert all(store.flusher.wait(end, 0) for end in ends)
    assert len([path for path in disk.syncs if "commitlog" in str(path)]) == 1
    store.close()


def test_the_flush_thread_reports_progress_and_the_owner_dispatches(tmp_path: Path) -> None:
    store = MessageStore.open(small(tmp_path, **SYNC), clock=FakeClock())
    moved = threading.Event()
    store.on_progress = moved.set
    result = put(store)
    assert moved.wait(60)
    assert store.flushed_offset == result.end_offset
    assert store.max_offset("T", 0) == 0, "only the owner dispatches"
    store.dispatch_ready()
    assert store.max_offset("T", 0) == 1
    store.close()


def test_who_waits_longer_than_he_would_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path, **SYNC)
    assert not store.flusher.wait(put(store).end_offset, 1)
    store.close()


def test_a_failed_flush_is_final(tmp_path: Path) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk, **SYNC)
    safe = put(store, body=b"safe")
    store.flush()
    disk.faults["sync", "commitlog"] = errno.EIO
    lost = put(store, body=b"lost")
    store.flush()
    disk.faults.clear()
    syncs = len(disk.syncs)
    store.flush()
    assert len(disk.syncs) == syncs, "the kernel may say yes the second time, and that means nothing"
    assert store.flushed_offset == safe.end_offset
    with pytest.raises(FlushFailed):
        store.flusher.wait(lost.end_offset, 0)
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    assert bodies(store) == [b"safe"], "reading goes on, up to what is safe"
    store.close()
    assert (tmp_path / "abort").exists(), "the next start must check everything"


def test_a_failed_flush_of_a_queue_stops_writing_too(tmp_path: Path) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk)
    put(store)
    disk.faults["sync", "consumequeue"] = errno.EIO
    store.write_checkpoint()
    assert store.failure is not None
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    store.close()


@pytest.mark.parametrize("place", ["commitlog", "consumequeue", "index"])
@pytest.mark.parametrize("what", ["create", "allocate"])
def test_a_full_disk_refuses_messages_and_serves_the_others(tmp_path: Path, place: str, what: str) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk)
    stored = 0
    for _ in range(10):
        stored += put(store, KEYS="k").ok
    disk.faults[what, place] = errno.ENOSPC
    results = [put(store, body=bytes(500), KEYS="a b c d e f") for _ in range(60)]
    refused = [result for result in results if not result.ok]
    assert {result.status for result in refused} == {PutStatus.SERVICE_NOT_AVAILABLE}
    accepted = stored + len(results) - len(refused)
    disk.faults.clear()
    assert put(store, body=b"again", KEYS="k").ok, "there is space again"
    assert len(bodies(store)) == accepted + 1
    store.close()
    store = open_store(tmp_path)
    assert store.report.clean
    assert len(bodies(store)) == accepted + 1
    store.close()


def test_an_acknowledged_message_that_is_not_dispatched_at_once_is_told_of_and_comes_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk)
    disk.faults["create", "index"] = errno.EIO
    with caplog.at_level(logging.INFO):
        assert put(store, KEYS="k").ok
        assert put(store, KEYS="k").status == PutStatus.SERVICE_NOT_AVAILABLE
        for _ in range(2):
            with pytest.raises(StoreError, match="made to fail"):
                store.dispatch_ready()
        disk.faults.clear()
        store.dispatch_ready()
    end = store.log.max_offset
    assert store.index is not None
    assert (store.max_offset("T", 0), list(store.index.search("T", "k", 0, START_MS * 2))) == (1, [0])
    assert [line.split(":")[0] for line in caplog.messages] == [
        "messages not dispatched from log offset 0 on",
        f"all messages dispatched again, up to log offset {end}",
    ]
    assert put(store, KEYS="k").ok
    store.close()


def test_other_errors_while_dispatching_are_raised_by_the_owners_call(tmp_path: Path) -> None:
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk, mapped_file_size_consume_queue=ENTRY_SIZE, **SYNC)
    put(store)
    put(store)  # into a second file, which is made when it is dispatched
    disk.faults["create", "consumequeue"] = errno.ENOSPC
    with pytest.raises(StoreFull):
        store.flush()
    disk.faults.clear()
    store.dispatch_ready()
    assert bodies(store) == [b"body"] * 2
    store.close()


def test_a_transient_buffer_is_readable_once_committed_and_safe_once_flushed(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    sent = [b"%d" % number + bytes(700) for number in range(60)]  # over several files
    for body in sent[:30]:
        put(store, body=body)
    assert store.max_offset("T", 0) == 0
    store.flusher.commit()
    store.dispatch_ready()
    assert bodies(store) == sent[:30]
    assert store.flushed_offset == 0
    for body in sent[30:]:
        put(store, body=body)
    store.close()
    store = open_store(tmp_path, transient_store_pool_enable=True)
    assert bodies(store) == sent
    put(store, body=b"more")
    store.flush()
    assert bodies(store) == [*sent, b"more"]
    store.close()


def test_a_transient_buffer_keeps_what_came_before_its_first_commit_and_its_second_allocation(tmp_path: Path) -> None:
    """Blocks are allocated 4 MiB at a time; with a disk that is nearly full, page by page."""
    store = open_store(tmp_path, transient_store_pool_enable=True, mapped_file_size_commit_log=16 << 20)
    sent = [b"%d" % number + bytes(2_000_000) for number in range(4)]
    assert all(put(store, body=body).ok for body in sent)
    store.flush()
    assert bodies(store) == sent
    store.close()
    again = open_store(tmp_path, mapped_file_size_commit_log=16 << 20)
    assert bodies(again) == sent
    again.close()


def test_the_last_blocks_of_a_full_disk_are_taken_page_by_page_and_an_operator_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    allocate, taken = DiskFile.allocate, list[int]()

    def allocate_little(file: DiskFile, start: int, end: int) -> None:
        if end - start > 4 * PAGE:
            raise OSError(errno.ENOSPC, "made to fail")
        if file.path == store.log.path_of(0):
            taken.append(end - start)
        allocate(file, start, end)

    store = open_store(tmp_path, mapped_file_size_commit_log=16 << 20)
    monkeypatch.setattr(DiskFile, "allocate", allocate_little)
    assert all(put(store, body=bytes(5000)).ok for _ in range(3))
    assert taken == [2 * PAGE, PAGE, PAGE]
    told = [line for line in caplog.messages if "page by page" in line]
    assert told == [f"{store.log.path_of(0)}: no 4194304 bytes ahead of the log, so page by page: made to fail"]
    monkeypatch.undo()
    store.close()


def test_what_was_only_in_the_transient_buffer_is_gone_with_the_process(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    put(store, body=b"committed")
    store.flusher.commit()
    put(store, body=b"buffered")
    store.abandon()
    store = open_store(tmp_path)
    assert bodies(store) == [b"committed"]
    store.close()


def test_async_flush_waits_for_enough_pages_or_long_enough(tmp_path: Path) -> None:
    store = open_store(tmp_path, flush_interval_commit_log=1, flush_commit_log_thorough_interval=1_000_000)
    store.flusher._last_flush -= 10
    put(store)
    store.flusher._flush_when_due()
    assert store.flushed_offset == 0
    put(store, body=bytes(4 * 4096 - 100))
    store.flusher._flush_when_due()
    assert store.flushed_offset == store.log.max_offset
    store.close()


def test_the_checkpoint_vouches_for_an_index_after_its_messages(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(tmp_path, clock, max_index_num=5)
    for number in range(12):
        clock.now += 1000
        put(store, KEYS=f"key-{number}")
    store.dispatch_ready()
    store.write_checkpoint()
    assert (store.checkpoint.physic_msg_timestamp, store.checkpoint.index_msg_timestamp) == (0, 0)
    store.flusher.flush()
    store.write_checkpoint()
    assert 0 < store.checkpoint.index_msg_timestamp < store.checkpoint.physic_msg_timestamp == clock.now
    store.close()


def test_an_index_that_fills_while_the_checkpoint_is_written_is_vouched_for_by_the_next(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, KEYS="k")
    store.flush()
    assert store.index is not None
    append = store.checkpoints._full_indexes.append  # the owner's thread has got so far when the checkpoint begins
    store.write_checkpoint()
    append((store.index.names[0], store.index.header(store.index.names[0])))
    store.write_checkpoint()
    assert store.checkpoint.index_msg_timestamp == START_MS
    store.close()


def test_a_transient_log_goes_on_in_its_file_when_the_next_cannot_be_made(tmp_path: Path) -> None:
    """Smaller messages still fit; each is committed, readable and has an offset of its own."""
    disk = BrokenDisk()
    store = open_store(tmp_path, files=disk, transient_store_pool_enable=True)
    sent = [b"%d" % number + bytes(3000) for number in range(5)]
    assert all(put(store, body=body).ok for body in sent)
    disk.faults[("create", f"{store.log.file_size:020}")] = errno.EMFILE
    assert put(store, body=bytes(3000)).status == PutStatus.SERVICE_NOT_AVAILABLE
    sent += [b"small %d" % number for number in range(3)]
    assert [put(store, body=body).queue_offset for body in sent[5:]] == [5, 6, 7]
    store.flush()
    assert bodies(store) == sent
    disk.faults.clear()
    sent.append(b"late" + bytes(3000))
    assert put(store, body=sent[-1]).queue_offset == 8
    store.flush()
    assert bodies(store) == sent
    store.close()
    again = open_store(tmp_path)
    assert bodies(again) == sent
    again.close()


def test_only_a_blank_record_ends_a_file(tmp_path: Path) -> None:
    """Zeros where records should be are an error; the messages behind them are not passed over."""
    store = open_store(tmp_path, **SYNC)
    first, second = put(store), put(store)
    view = store.log.view_of(0)
    assert view is not None
    view[second.commit_offset : second.end_offset] = bytes(second.size)
    with pytest.raises(StoreError, match=str(second.commit_offset)):
        store.flush()
    assert store.dispatcher.dispatched_offset == first.end_offset
    store.abandon()


class FlushingWriter:
    """An appender beside which the log is flushed just when the next file begins."""

    def __init__(self, store: MessageStore) -> None:
        self._store, self._appender = store, store.appender

    def __getattr__(self, name: str) -> Any:
        return getattr(self._appender, name)

    def place(self, *where: Any) -> None:
        self._store.flusher.flush()
        self._appender.place(*where)
        self._store.flusher.flush()


def test_a_flush_while_a_file_begins_touches_nothing_before_its_map(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store)
    store.log.appender = FlushingWriter(store)  # type: ignore[assignment]
    sent = [b"body"]
    while len(store.log.bases) < 3:
        sent.append(bytes(3000))
        assert put(store, body=sent[-1]).ok
        assert all(segment.synced >= 0 for segment in store.log.unflushed)
    segment = store.log.unflushed[-1]
    store.log.sync(segment, segment.base - 4096)
    assert segment.synced == 0
    store.log.appender = store.appender
    assert bodies(store) == sent
    store.close()
