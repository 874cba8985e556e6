"""The few fields that two threads of a broker share, each as a race of two jobs and what must hold after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tests.fault.disk import SimDisk, keep_nothing
from tests.fault.ledger import Ledger, TickingClock, everything, open_store, small_config
from tests.fault.systematic.interleave import Job, Order, orders, run
from tests.unit.broker.support import FakeClock

from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.tables.offsets import ConsumerOffsets, key_of
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.files.config_files import SavedOffsets, consumer_offsets_file
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.files.table_text import TableText
from sprocketmq.store.store import MessageStore

#: Entries of a queue that are one short of being worth a sync.
ENTRY_BYTES = (100).to_bytes(4, "big")
NEARLY_DUE = 2 * PAGE // 20


@dataclass(frozen=True)
class Race:
    """`make` sets the scene: the flush thread's job, the owner's job, and what to check when both are done."""

    name: str
    make: Callable[[], tuple[Job, Job, Job]]


RACES: list[Race] = []


def race(make: Callable[[], tuple[Job, Job, Job]]) -> Callable[[], tuple[Job, Job, Job]]:
    RACES.append(Race(make.__name__, make))
    return make


def steps_of(one: Race) -> tuple[int, int]:
    """Of the flush thread alone, then of the owner."""
    thread, owner, check = one.make()
    steps = run(thread, owner, Order(1 << 60))
    check()
    return steps


def enumerate_orders(one: Race, stride: int) -> int:
    """Runs the race in every order; how many there were. Raises what the first bad one shows."""
    thread_steps, owner_steps = steps_of(one)
    count = 0
    for swapped, (steps, others) in enumerate(((thread_steps, owner_steps), (owner_steps, thread_steps))):
        for order in orders(steps, others, stride):
            thread, owner, check = one.make()
            try:
                run(*((owner, thread) if swapped else (thread, owner)), order)
                check()
            except Exception as error:
                error.add_note(f"{one.name}, {order}, {'owner' if swapped else 'thread'} first")
                raise
            count += 1
    return count


def _store(disk: SimDisk, **changes: Any) -> tuple[MessageStore, TickingClock]:
    clock = TickingClock()
    return open_store(disk, small_config(**changes), clock=clock), clock


@race
def a_queue_grows_while_the_dirty_ones_are_flushed() -> tuple[Job, Job, Job]:
    disk = SimDisk()
    store, _clock = _store(
        disk, flush_disk_type=FlushDiskType.ASYNC_FLUSH, mapped_file_size_consume_queue=20 * 1000,
        mapped_file_size_commit_log=1 << 20, message_index_enable=False,
    )  # fmt: skip
    cursor = store.queues.open_cursor("Alpha", 0)
    for number in range(NEARLY_DUE):
        cursor.put(number * 100, 100, 0)
    queue = store.queues.find("Alpha", 0)
    assert queue is not None

    def check() -> None:
        store.queues.flush(0)
        assert queue.unflushed_bytes == 0, f"{queue.unflushed_bytes} bytes are never flushed"
        (path,) = [name for name in disk.names if name.parent == queue.folder]
        assert disk.names[path].dirty() == []
        store.abandon()

    return lambda: store.queues.flush(2), lambda: cursor.put(NEARLY_DUE * 100, 100, 0), check


@race
def a_queue_begins_a_file_while_it_is_flushed() -> tuple[Job, Job, Job]:
    disk = SimDisk()
    store, _clock = _store(disk, flush_disk_type=FlushDiskType.ASYNC_FLUSH, message_index_enable=False)
    cursor = store.queues.open_cursor("Alpha", 0)
    for number in range(39):  # a file has forty
        cursor.put(number * 100, 100, 0)
    queue = store.queues.find("Alpha", 0)
    assert queue is not None

    def grow() -> None:
        cursor.put(3900, 100, 0)
        cursor.put(4000, 100, 0)

    def check() -> None:
        store.queues.flush(0)
        disk.sync_dir(disk.root)  # the folder of all queues is one for the whole store
        after = disk.power_cut(keep_nothing)
        files = [bytes(node.live) for path, node in after.names.items() if path.parent == queue.folder]
        kept = sum(file[at + 8 : at + 12] == ENTRY_BYTES for file in files for at in range(0, len(file), 20))
        assert kept == 41, f"{kept} of 41 entries are on disk"
        store.abandon()

    return lambda: store.queues.flush(0), grow, check


@race
def the_log_rolls_while_it_is_flushed() -> tuple[Job, Job, Job]:
    disk, ledger = SimDisk(), Ledger()
    store, clock = _store(disk, message_index_enable=False)
    while store.appender.position + 2 * 700 < store.log.file_size:
        ledger.put(store, 500)
    ledger.flush(store)
    ledger.put(store, 500)
    base = store.appender.base

    def unmap(_view: memoryview, start: int, end: int) -> None:
        assert 0 <= start <= end or end == 0, f"pages from {start} to {end} are taken out of the map"

    unmapped = patch("sprocketmq.store.log.commitlog.unmap_pages", unmap)

    def flush() -> None:
        with unmapped:
            store.flusher.flush()

    def roll() -> None:
        ledger.put(store, 1000)
        assert store.appender.base > base, "no file was begun"

    def check() -> None:
        for segment in store.log.unflushed:
            assert segment.synced >= 0, "what is synced of a file begins before it"
        safe = store.flushed_offset
        assert safe <= store.log.max_offset
        promised = {place for place in ledger.sent if place.commit_offset < safe}
        again = open_store(disk.power_cut(keep_nothing), small_config(message_index_enable=False), clock=clock)
        assert promised <= set(everything(again)), "flushed, and not on disk"
        again.abandon()
        with unmapped:
            store.flusher.flush()
        assert store.flushed_offset == store.log.max_offset
        store.abandon()

    return flush, roll, check


@race
def offsets_are_committed_while_they_are_saved() -> tuple[Job, Job, Job]:
    disk = SimDisk()
    file = consumer_offsets_file(disk, disk.root / "config")
    offsets = ConsumerOffsets(file, FakeClock())
    offsets.commit("G", "T", 0, 1)
    save = offsets.saver._take()

    def commit() -> None:
        offsets.commit("G", "T", 1, 7)
        offsets.commit("H", "T", 0, 3)
        offsets.forget_group("G")
        offsets.commit("G", "T", 0, 5)

    def check() -> None:
        offsets.save()
        again = ConsumerOffsets(file, FakeClock())
        again.load()
        assert again.table == offsets.table == {key_of("G", "T"): {0: 5}, key_of("H", "T"): {0: 3}}

    return save, commit, check


@race
def the_log_is_flushed_while_acknowledgements_are_given() -> tuple[Job, Job, Job]:
    """Whoever waits below what is flushed is answered, or somebody was asked to look."""
    disk, ledger = SimDisk(), Ledger()
    store, _clock = _store(disk, message_index_enable=False)
    acks = Acks(store, Saver("topics", lambda: lambda: None))
    asked: list[object] = []
    answered: list[bytes] = []
    loop: Any = type("Loop", (), {"call_soon_threadsafe": staticmethod(asked.append), "time": staticmethod(float)})
    acks._loop = loop
    acks.answers.time = loop.time
    store.on_progress = acks._flushed
    place = ledger.put(store)
    assert place is not None
    peer: Any = type("Peer", (), {"reply": staticmethod(lambda reply, _request: answered.append(reply))})
    acks.add(store.log.max_offset, peer, Command(RequestCode.SEND_MESSAGE_V2), b"done")

    def progress() -> None:
        with patch.object(asyncio, "get_running_loop", lambda: loop):
            acks.progress()

    def check() -> None:
        while asked:
            asked.pop()
            progress()
        assert answered == [b"done"]
        store.abandon()

    return store.flusher.flush, progress, check


@race
def a_topic_is_deleted_while_queues_are_flushed() -> tuple[Job, Job, Job]:
    """The flush meets files that go under its hands; whose queues stay is safe all the same."""
    disk = SimDisk()
    store, _clock = _store(disk, flush_disk_type=FlushDiskType.ASYNC_FLUSH, message_index_enable=False)
    for topic in ("Alpha", "Beta"):
        cursor = store.queues.open_cursor(topic, 0)
        for number in range(50):  # a file has forty
            cursor.put(number * 100, 100, 0)
    kept = store.queues.find("Beta", 0)
    assert kept is not None

    def check() -> None:
        store.queues.flush(0)
        assert store.queues.find("Alpha", 0) is None
        assert kept.unflushed_bytes == 0
        left = [path for path in disk.names if path.parent == kept.folder]
        assert left
        assert all(disk.names[path].dirty() == [] for path in left)
        store.abandon()

    return lambda: store.queues.flush(0), lambda: store.queues.forget("Alpha"), check


@race
def an_index_file_is_full_while_the_checkpoint_is_written() -> tuple[Job, Job, Job]:
    """Each is synced before the checkpoint vouches for it, and none is forgotten."""
    disk, ledger = SimDisk(), Ledger()
    store, _clock = _store(disk, flush_disk_type=FlushDiskType.ASYNC_FLUSH, max_index_num=4)
    writer, index = store.checkpoints, store.index
    assert index is not None
    while len(index.names) < 2 or index.cursor.count < index.cursor.limit:
        ledger.put(store)
    ledger.flush(store)
    assert len(writer._full_indexes) == 1

    def check() -> None:
        assert len(index.names) == 3, "no file was begun"
        ledger.flush(store)
        writer.write()
        assert writer._full_indexes == [], "an index file waits for ever"
        for name in index.names[:-1]:
            assert disk.names[index.path_of(name)].dirty() == [], f"{name} is vouched for, and not on disk"
        store.abandon()

    return writer._flush_indexes, index.make_room, check


@race
def the_log_grows_while_the_flush_thread_takes_its_waking() -> tuple[Job, Job, Job]:
    """Whoever has asked for a flush gets it: by the turn that is under way, or by another one."""
    disk, ledger = SimDisk(), Ledger()
    store, _clock = _store(disk, message_index_enable=False)
    flusher = store.flusher
    ledger.put(store)
    flusher.wake()
    turns = iter((False, False, True, True, True))

    def turn() -> None:
        with (
            patch.object(flusher._stopping, "is_set", lambda: next(turns)),
            patch.object(flusher._wake, "wait", lambda _pause: True),
        ):
            flusher._flush_until_stopped()

    def grow() -> None:
        ledger.put(store)
        flusher.wake()

    def check() -> None:
        due = store.flushed_offset < store.log.max_offset
        assert flusher._wake.is_set() or not due, "nobody flushes what is written"
        grow()
        assert flusher._wake.is_set(), "nobody flushes what comes next"
        store.abandon()

    return turn, grow, check


@race
def a_table_changes_while_its_text_is_made() -> tuple[Job, Job, Job]:
    """Of topics, groups and offsets alike."""
    table: dict[str, dict[int, int]] = {f"T{number}@G": {0: 1} for number in range(4)}
    file = consumer_offsets_file(SimDisk(), SimDisk().root / "config")
    text: TableText[dict[int, int]] = TableText(lambda rows: file.encode(SavedOffsets(offset_table=rows)), table.get)
    head = file.encode(SavedOffsets())
    text.note(tuple(table))

    def change() -> None:
        table["New@G"] = {0: 5}
        del table["T0@G"]
        text.note(("New@G", "T0@G"))

    def check() -> None:
        assert file.decode(text.text(head)).offset_table == table

    return lambda: text.text(head), change, check
