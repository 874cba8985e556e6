"""A deleted topic stays deleted and the one that is made after it keeps its messages, whatever happens between."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.disk import Choose, SimDisk, keep_everything, keep_nothing
from tests.fault.ledger import TickingClock, everything, open_store, small_config
from tests.fault.source import places_in, view_of

from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import FlushDiskType, StoreConfig
from sprocketmq.store.files.deleted_topics import FILE_NAME, Deletion
from sprocketmq.store.offline.rebuild import Rebuild
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view.scan_batches import scan
from sprocketmq.store.view.scan_select import Selection
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.store import StoreView

OLD, NEW = [b"old %d" % number for number in range(50)], [b"new %d" % number for number in range(10)]


def put_all(store: MessageStore, bodies: list[bytes], topic: str = "T") -> None:
    for body in bodies:
        properties = b"KEYS\x01key\x02"
        assert store.put_record(Record(topic=topic, queue_id=0, body=body, properties=properties)).ok
    store.flush()


def bodies_in(store: MessageStore) -> list[bytes]:
    return [body for _place, body in sorted(everything(store).items(), key=lambda each: each[0].queue_offset)]


def queried(store: MessageStore) -> set[bytes]:
    return {record.body for record in store.reader.query("T", "key", 64, 0, 1 << 62)}


def deleted_and_made_again(disk: SimDisk, config: StoreConfig) -> MessageStore:
    store = open_store(disk, config, TickingClock())
    put_all(store, OLD)
    store.queues.flush(0)
    store.delete_topic("T")
    put_all(store, NEW)
    return store


@pytest.mark.parametrize("mode", list(FlushDiskType))
@pytest.mark.parametrize("choose", [keep_nothing, keep_everything])
def test_a_power_cut_or_a_kill_brings_nothing_back(choose: Choose, mode: FlushDiskType) -> None:
    disk, config = SimDisk(), small_config(flush_disk_type=mode)
    deleted_and_made_again(disk, config).abandon()
    after = disk.power_cut(choose)
    assert sorted(places_in(view_of(after)).values()) == sorted(NEW)
    assert {record.body for record in view_of(after).find_key("T", "key")} <= set(NEW)
    for _ in range(2):
        again = open_store(after, config)
        assert bodies_in(again) == NEW
        assert queried(again) == set(NEW)
        again.abandon()
    assert not [finding for finding in verify(view_of(after)) if "queue" in finding.file]


def test_a_topic_that_is_only_deleted_is_not_there_after_a_kill() -> None:
    disk, config = SimDisk(), small_config()
    store = open_store(disk, config)
    put_all(store, OLD)
    put_all(store, [b"stays"], "Other")
    store.delete_topic("T")
    store.abandon()
    again = open_store(disk.power_cut(keep_everything), config)
    assert again.topics() == ["Other"]


def test_queue_files_that_came_back_are_dropped() -> None:
    """The power goes between the entry in the file and the removal of the queue."""
    disk, config = SimDisk(), small_config()
    store = open_store(disk, config)
    put_all(store, OLD)
    store.queues.flush(0)
    store.write_checkpoint()
    store.deletion("T").write()
    store.abandon()
    after = disk.power_cut(keep_everything)
    assert places_in(view_of(after)) == {}
    again = open_store(after, config)
    assert again.topics() == []
    put_all(again, NEW)
    assert bodies_in(again) == NEW


def test_what_comes_where_the_log_was_cut_is_new() -> None:
    """The log's end was lost after the deletion: the next records lie before the offset in the file."""
    disk, config = SimDisk(), small_config(flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    clock = TickingClock()
    store = open_store(disk, config, clock)
    put_all(store, OLD[:5])
    for body in OLD[5:20]:
        store.put_record(Record(topic="T", queue_id=0, body=body))
    store.delete_topic("T")
    store.abandon()
    again = open_store(disk.power_cut(keep_nothing), config, TickingClock(clock.time - 60_000))
    assert again.log.max_offset < store.log.max_offset
    put_all(again, NEW)
    again.dispatch_ready()
    assert bodies_in(again) == NEW
    again.abandon()


def test_the_entry_goes_with_the_log_before_it() -> None:
    disk, config = SimDisk(), small_config()
    store = open_store(disk, config)
    put_all(store, OLD)
    store.delete_topic("T")
    put_all(store, NEW, "Other")
    store.deleted.set(store.deleted.with_deletion([], Deletion(0, 0), store.log.max_offset))
    assert store.deleted.table == {}
    store.close()


def on_disk(tmp_path: Path) -> tuple[StoreConfig, Sizes]:
    config = small_config(store_path_root_dir=str(tmp_path))
    sizes = Sizes(
        config.mapped_file_size_commit_log, config.mapped_file_size_consume_queue, config.max_hash_slot_num,
        config.max_index_num,
    )  # fmt: skip
    return config, sizes


def test_rebuild_verify_and_scans_know_it(tmp_path: Path) -> None:
    config, sizes = on_disk(tmp_path)
    store = MessageStore.open(config, background=False)
    put_all(store, OLD)
    store.delete_topic("T")
    put_all(store, NEW[:3])
    store.close()
    assert (tmp_path / "config" / FILE_NAME).exists()
    Rebuild(tmp_path, sizes).run()
    view = StoreView(tmp_path, sizes)
    assert [record.body for _, _, record in view.read_queue("T", 0) if isinstance(record, Record)] == NEW[:3]
    assert [finding for finding in verify(view) if "consumequeue" in finding.file] == []
    (tmp_path / "abort").touch()  # as if the broker had died: what came last is read from the log
    (tmp_path / "checkpoint").write_bytes(bytes(4096))
    found = scan(tmp_path, columns=("body",), selection=Selection(topics=frozenset({"T"}))).read_all()
    assert found["body"].to_pylist() == NEW[:3]
    again = MessageStore.open(config, background=False)
    assert bodies_in(again) == NEW[:3]
    again.close()


def test_a_scan_of_a_topic_that_is_gone_finds_nothing(tmp_path: Path) -> None:
    config, _sizes = on_disk(tmp_path)
    store = MessageStore.open(config, background=False)
    put_all(store, OLD)
    store.delete_topic("T")
    store.close()
    assert scan(tmp_path, columns=("body",), selection=Selection(topics=frozenset({"T"}))).read_all().num_rows == 0


def test_a_message_that_comes_while_its_topic_is_deleted_goes_with_it() -> None:
    """The file of deletions is written on another thread meanwhile, and tells a place before the message."""
    disk = SimDisk()
    store = open_store(disk)
    put_all(store, OLD)
    deletion = store.deletion("T")
    deletion.write()
    put_all(store, [b"late"])
    assert not deletion.finish()
    store.delete_topic("T")
    put_all(store, NEW)
    after = disk.kill()
    store.abandon()
    assert bodies_in(open_store(after)) == NEW
