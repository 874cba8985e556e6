"""A view of a store that a broker has open and writes to."""

from __future__ import annotations

from pathlib import Path

from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView


def bodies(view: StoreView) -> list[bytes]:
    return [found.body for found in view.read_log() if isinstance(found, Record)]


def test_it_shows_what_was_written_until_now(tmp_path: Path) -> None:
    config = StoreConfig(
        store_path_root_dir=str(tmp_path),
        mapped_file_size_commit_log=16384,
        mapped_file_size_consume_queue=2000,
        max_hash_slot_num=10,
        max_index_num=50,
    )
    store = MessageStore.open(config, background=False)
    views = []
    for number in range(300):
        store.put_record(Record(topic="Live", body=b"%d" % number, properties=b"KEYS\x01k%d\x02" % number))
        if number % 100 == 99:
            views.append(StoreView(tmp_path))
    for number, view in enumerate(views, 1):
        assert view.crashed, "the abort file is there while a broker runs"
        assert bodies(view) == [b"%d" % body for body in range(100 * number)]
        assert view.queue("Live", 0).max_offset == 100 * number
    assert [record.body for record in views[2].find_key("Live", "k250")] == [b"250"]
    store.close()
    assert not StoreView(tmp_path).crashed
    assert bodies(StoreView(tmp_path)) == bodies(views[2])
