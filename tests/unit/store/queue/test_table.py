from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import bodies, finish_cleaning, open_store, put

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.table import FEW
from sprocketmq.store.store import MessageStore


class CountingDisk(Disk):
    """Counts what is mapped or read of queue files, and the syncs of the whole file system."""

    def __init__(self) -> None:
        self.opened: list[Path] = []
        self.synced_all = 0

    def open(self, path: Path, *, writable: bool = True):  # type: ignore[no-untyped-def]
        self.opened.append(path)
        return super().open(path, writable=writable)

    def sync_all(self, path: Path) -> None:
        self.synced_all += 1
        super().sync_all(path)


def filled(root: Path, queues: int, messages: int, disk: Disk | None = None) -> MessageStore:
    store = open_store(root, files=disk)
    for number in range(messages):
        for queue_id in range(queues):
            put(store, queue_id=queue_id, body=b"%d" % number)
    return store


def offsets(store: MessageStore, queues: int) -> list[tuple[int, int]]:
    return [(store.min_offset("T", queue_id), store.max_offset("T", queue_id)) for queue_id in range(queues)]


def test_queues_are_found_again_whatever_their_length(tmp_path: Path) -> None:
    for messages in (1, 19, 20, 21, 45):  # a file has 20 entries
        root = tmp_path / str(messages)
        filled(root, 3, messages).close()
        store = open_store(root)
        assert store.report.clean
        assert offsets(store, 3) == [(0, messages)] * 3
        assert bodies(store, queue_id=2) == [b"%d" % number for number in range(messages)]
        store.close()


def test_a_long_file_is_searched_and_a_short_queue_read_once(tmp_path: Path) -> None:
    size = 20 * 1000
    for messages in (5, 204, 205, 700):
        root = tmp_path / str(messages)
        store = open_store(root, mapped_file_size_consume_queue=size, mapped_file_size_commit_log=1 << 20)
        for _ in range(messages):
            put(store)
        store.close()
        disk = CountingDisk()
        store = open_store(root, files=disk, mapped_file_size_consume_queue=size, mapped_file_size_commit_log=1 << 20)
        assert store.max_offset("T", 0) == messages
        if messages < 204:
            assert len([path for path in disk.opened if "consumequeue" in str(path)]) == 1 + 1  # and its last record
        store.close()


def test_a_queue_whose_first_messages_are_gone_begins_later(tmp_path: Path) -> None:
    store = filled(tmp_path, 1, 400)
    assert len(store.log.bases) > 1
    store.log.remove_first()
    store.cleaner.drop_what_points_nowhere()
    finish_cleaning(store)
    low = store.min_offset("T", 0)
    assert low > 0
    store.close()
    store = open_store(tmp_path)
    assert offsets(store, 1) == [(low, 400)]
    store.close()


def test_folders_that_are_no_queues_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 1, 1).close()
    for name in ("T/lost+found", "bad name/0", "T/00000000000"):
        (tmp_path / "consumequeue" / name).mkdir(parents=True)
    store = open_store(tmp_path)
    assert store.topics() == ["T"]
    assert list(store.queues.of_topic("T")) == [0]
    store.close()
    assert (tmp_path / "consumequeue" / "bad name" / "0").is_dir()


def test_many_queues_are_synced_at_once(tmp_path: Path) -> None:
    disk = CountingDisk()
    store = filled(tmp_path, FEW, 1, disk)
    store.write_checkpoint()
    assert disk.synced_all == 0
    for queue_id in range(FEW + 1):
        put(store, queue_id=queue_id)
    store.write_checkpoint()
    assert disk.synced_all == 1
    assert all(queue.unflushed_bytes == 0 for queue in store.queues)
    store.close()


def test_a_forgotten_topic_takes_its_files_along(tmp_path: Path) -> None:
    store = filled(tmp_path, 2, 3)
    put(store, topic="Other")
    store.delete_topic("T")
    assert store.topics() == ["Other"]
    assert not (tmp_path / "consumequeue" / "T").exists()
    assert put(store).queue_offset == 0
    store.close()


def test_a_queue_that_grows_while_it_is_looked_at_is_flushed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path, 1, 1)
    queue = store.queues.find("T", 0)
    assert queue is not None

    def looked_at(queue: ConsumeQueue) -> int:
        size = (queue.max_offset - queue._flushed) * 20
        for _ in range(PAGE // 20 + 1):
            put(store)
        return size

    with monkeypatch.context() as patch:
        patch.setattr(ConsumeQueue, "unflushed_bytes", property(looked_at))
        store.queues.flush(1)
    assert queue.unflushed_bytes > PAGE
    store.queues.flush(1)
    assert queue.unflushed_bytes == 0
    store.close()


def test_a_queue_that_is_listed_while_the_list_is_taken_is_flushed_later(tmp_path: Path) -> None:
    store = filled(tmp_path, 1, 1)
    queue = store.queues.find("T", 0)
    assert queue is not None
    store.queues.flush(0)
    append = store.queues._dirty.append  # the owner's thread has got so far in `touched` when the flush begins
    queue.cursor.dirty = True
    put(store)
    store.queues.flush(0)
    append(queue)
    store.queues.flush(0)
    assert queue.unflushed_bytes == 0
    store.close()


@pytest.mark.parametrize("step", ["_look_for_deletion", "cursors"])
def test_a_queue_whose_beginning_was_cut_short_is_whole_with_the_next_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever it was: memory that lacked, say. Else messages would be taken that no pull finds before a restart."""
    store = open_store(tmp_path)

    class NoRoom(dict[str, object]):
        def setdefault(self, *_arguments: object) -> object:
            raise MemoryError

    with monkeypatch.context() as patched:
        if step == "cursors":
            patched.setattr(store.queues, "cursors", NoRoom())
        else:
            patched.setattr(store.queues, step, lambda _queue: NoRoom().setdefault())
        with pytest.raises(MemoryError):
            put(store)
    assert put(store, body=b"next").ok
    assert bodies(store) == [b"next"]
    store.close()
