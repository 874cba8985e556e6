"""A disk that answers with errors: at each call in turn, of each kind. Nothing is acknowledged that is not safe."""

from __future__ import annotations

import errno
from contextlib import suppress

import pytest
from tests.fault.disk import SimDisk, SimFile, keep_everything, keep_nothing
from tests.fault.ledger import Ledger, TickingClock, check, check_serves, everything, open_store, small_config

from sprocketmq.errors import FlushFailed, StoreError
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

MESSAGES = 60


def run_script(store: MessageStore, ledger: Ledger) -> None:
    """Messages over several files, a flush after every fifth, a checkpoint in the middle."""
    for number in range(MESSAGES):
        ledger.put(store, 150)
        if number % 5 == 4:
            ledger.flush(store)
        if number == MESSAGES // 2:
            store.write_checkpoint()


def calls_of_a_quiet_run(kind: str) -> int:
    disk = SimDisk()
    store = open_store(disk)
    disk.faults.calls.clear()
    run_script(store, Ledger())
    return disk.faults.calls[kind]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("kind", ["sync", "sync_dir", "allocate", "create", "write"])
def test_an_error_at_any_call_loses_nothing_acknowledged(kind: str, code: int) -> None:
    for number in range(1, calls_of_a_quiet_run(kind) + 1):
        disk, ledger, clock = SimDisk(), Ledger(), TickingClock()
        store = open_store(disk, clock=clock)
        disk.faults.calls.clear()
        disk.faults.errors = {(kind, number): code}
        with suppress(StoreError, OSError):  # said to the caller, which is all that is asked
            run_script(store, ledger)
        held = everything(store)
        assert set(ledger.acknowledged) <= set(held), "what was acknowledged stays readable"
        store.abandon()
        for keep in (keep_nothing, keep_everything):
            again = open_store(disk.power_cut(keep), clock=clock)
            later = Ledger(dict(ledger.sent), dict(ledger.acknowledged), {}, dict(ledger.keys), ledger.number)
            check(again, later)
            check_serves(again, later)
            again.abandon()


@pytest.mark.parametrize("number", range(1, 6))
def test_a_failed_flush_is_final(number: int) -> None:
    """The next sync would succeed and prove nothing: the kernel has dropped the pages."""
    disk, ledger = SimDisk(), Ledger()
    store = open_store(disk)
    disk.faults.calls.clear()
    disk.faults.errors = {("sync", number): errno.EIO}
    while store.failure is None:
        ledger.put(store)
        ledger.flush(store)
    acknowledged = dict(ledger.acknowledged)
    assert isinstance(store.failure, FlushFailed)
    syncs = disk.faults.calls["sync"]
    assert ledger.put(store) is None
    ledger.flush(store)
    assert ledger.acknowledged == acknowledged
    assert disk.faults.calls["sync"] == syncs, "no second sync as a cure"
    assert set(everything(store)) == set(acknowledged)
    store.close()
    again = open_store(disk.power_cut(keep_nothing))
    check(again, ledger)


def test_a_full_disk_refuses_messages_serves_the_rest_and_comes_back() -> None:
    disk, ledger = SimDisk(), Ledger()
    disk.faults.capacity = 40 * 4096
    store = open_store(disk, small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH))
    while ledger.put(store, 300) is not None:
        assert ledger.number < 2000
    assert ledger.put(store, 300) is None
    assert set(everything(store)) <= set(ledger.sent)
    assert everything(store)
    disk.faults.capacity = None
    ledger.flush(store)
    check(store, ledger)
    check_serves(store, ledger)
    store.abandon()
    check(open_store(disk.power_cut(keep_everything)), ledger)


def test_after_a_failed_flush_the_status_says_so() -> None:
    disk, ledger = SimDisk(), Ledger()
    store = open_store(disk)
    disk.faults.calls.clear()
    disk.faults.errors = {("sync", 1): errno.EIO}
    ledger.put(store)
    ledger.flush(store)
    assert store.appender.status == PutStatus.SERVICE_NOT_AVAILABLE
    assert not ledger.acknowledged
    store.abandon()


def test_every_file_of_the_index_has_blocks_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk in memory refuses to sync what was stored into a hole; the second file follows a roll."""
    monkeypatch.setattr("sprocketmq.store.index.index._STEP_ENTRIES", 300)
    disk, ledger = SimDisk(), Ledger()
    config = small_config(max_index_num=1000, flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    store = open_store(disk, config)
    assert store.index is not None
    while len(store.index.names) < 3:
        ledger.put(store)
    store.index.sync(store.index.names)
    store.abandon()


def test_an_index_file_that_gets_no_blocks_leaves_nothing_behind() -> None:
    disk, ledger = SimDisk(), Ledger()
    store = open_store(disk, small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH))
    assert store.index is not None
    while len(store.index.names) < 2:
        ledger.put(store)
    while store.index.cursor.count < store.index.cursor.index_num:
        ledger.put(store)
    disk.faults.capacity = disk.disk_usage(disk.root)[0]
    for _ in range(5):
        ledger.put(store)
    assert disk.list_dir(store.layout.index) == store.index.names
    store.abandon()


def test_a_queue_that_begins_late_has_blocks_for_what_stands_before_it() -> None:
    disk = SimDisk()
    store = open_store(disk, small_config(mapped_file_size_consume_queue=20 * 1000))
    queue = store.queues.add("T", 0)
    queue.begin_at(900)
    queue.cursor.put(0, 100, 0)
    queue.sync()
    assert [entry.is_filler for number in range(899, 901) if (entry := queue.raw_entry(number))] == [True, False]
    store.abandon()


def test_what_comes_while_a_buffer_is_committed_is_not_taken_for_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is written without the GIL. When the log went on to its next file meanwhile, the rest of the file before
    was never copied: acknowledged messages were gone.
    """
    config = small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH, transient_store_pool_enable=True)
    disk, ledger = SimDisk(), Ledger()
    store = open_store(disk, config)
    write, files = SimFile.write, len(store.log.bases)

    def meanwhile(file: SimFile, at: int, data: bytes) -> None:
        write(file, at, data)
        while len(store.log.bases) < files + 2:
            assert ledger.put(store) is not None

    ledger.put(store)
    monkeypatch.setattr(SimFile, "write", meanwhile)
    store.flush()
    assert store.flushed_offset < store.log.max_offset
    monkeypatch.undo()
    ledger.flush(store)
    check(store, ledger)
    store.close()
    again = open_store(disk, config)
    assert check(again, ledger) == ledger.sent
    again.abandon()
