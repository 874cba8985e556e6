from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.disk import SimDisk
from tests.unit.store.support import START_MS, finish_cleaning, open_store, put

from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.protocol.record.record import decode_records
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import file_name
from sprocketmq.store.queue.ext_format import ExtUnit, ext_offset, is_ext_address
from sprocketmq.store.store import MessageStore


def units(store: MessageStore, count: int) -> list[ExtUnit | None]:
    assert store.exts is not None
    found = []
    for offset in range(count):
        entry = store.reader.entry("T", 0, offset)
        assert entry is not None
        assert is_ext_address(entry.tags_code)
        found.append(store.exts.unit("T", 0, entry.tags_code))
    return found


def open_ext(root: Path, files: Files | None = None) -> MessageStore:
    store = open_store(root, files=files, enable_consume_queue_ext=True)
    assert store.exts is not None
    store.exts.filter_bits = lambda topic, properties: bytes([len(topic), len(properties)] * 20)
    return store


def test_entries_name_units_that_hold_tag_time_and_bits(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    for _ in range(120):  # two files of 4096 bytes
        put(store, TAGS="a")
    expected = ExtUnit(tags_code("a"), START_MS, bytes([1, 7] * 20))
    assert units(store, 120) == [expected] * 120
    assert len(list((tmp_path / "consumequeue_ext" / "T" / "0").iterdir())) == 2
    store.close()
    store = open_ext(tmp_path)
    put(store, TAGS="b")
    assert units(store, 121)[-1] == ExtUnit(tags_code("b"), START_MS, bytes([1, 7] * 20))
    store.close()


def test_a_filter_gets_the_unit_and_the_real_tag(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    put(store, body=b"1", TAGS="a")
    put(store, body=b"2", TAGS="bb")

    class LongTag:
        cost = 1

        def matches_entry(self, code: int, unit: ExtUnit | None) -> bool:
            return unit is not None and code == unit.tags_code and unit.bitmap[1] == 8

        def matches_properties(self, properties: bytes) -> bool:
            return True

    ruled = store.get_message("T", 0, 0, 32, 1 << 20, LongTag())
    tagged = store.get_message("T", 0, 0, 32, 1 << 20, frozenset({tags_code("bb")}))
    for result in (ruled, tagged):
        assert [r.body for r in decode_records(result.records)] == [b"2"]
    store.close()


def test_a_crash_leaves_units_and_entries_in_step(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    for _ in range(10):
        put(store, TAGS="a")
    store.abandon()
    store = open_ext(tmp_path)
    put(store, TAGS="b")
    assert [unit and unit.tags_code for unit in units(store, 11)] == [tags_code("a")] * 10 + [tags_code("b")]
    store.delete_topic("T")
    assert not (tmp_path / "consumequeue_ext" / "T").exists()
    store.close()


@pytest.mark.parametrize("kept", ["nothing", "name"])
@pytest.mark.parametrize("safe", [0, 1, 90])
def test_units_that_a_power_cut_took_are_written_again(safe: int, kept: str) -> None:
    """Entries reach the disk before their units, which the checkpoint alone syncs: here after `safe` of them. Of a file
    its name may be there, and not even its length.
    """
    disk = SimDisk()
    store = open_ext(disk.root, disk)
    for number in range(100):  # two files of 4096 bytes
        if number == safe:
            store.flush()
            store.write_checkpoint()
        put(store, TAGS=str(number))
    store.flush()
    store.queues.flush(0)
    after = disk.power_cut(lambda what: what == kept)
    store.abandon()
    again = open_ext(disk.root, after)
    put(again, TAGS="100")
    assert [unit and unit.tags_code for unit in units(again, 101)] == [tags_code(str(tag)) for tag in range(101)]
    again.close()


def test_a_message_whose_unit_is_damaged_is_wanted_by_all_and_keeps_its_place(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    put(store, body=b"1", TAGS="a")
    put(store, body=b"2", TAGS="b")
    store.close()
    path = tmp_path / "consumequeue_ext" / "T" / "0" / file_name(0)
    path.write_bytes(path.read_bytes()[:60] + bytes(path.stat().st_size - 60))  # a unit has 60 bytes
    store = open_ext(tmp_path)
    put(store, body=b"3", TAGS="c")
    result = store.get_message("T", 0, 0, 32, 1 << 20, frozenset({tags_code("a")}))
    assert [record.body for record in decode_records(result.records)] == [b"1", b"2"]
    store.close()


def test_a_topic_that_is_made_again_has_its_units_in_its_own_files(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    put(store, TAGS="a")
    store.delete_topic("T")
    put(store, TAGS="b")
    store.close()
    store = open_ext(tmp_path)
    put(store, TAGS="c")
    assert [unit and unit.tags_code for unit in units(store, 2)] == [tags_code("b"), tags_code("c")]
    store.close()


def test_units_of_messages_that_are_gone_go_with_them(tmp_path: Path) -> None:
    store = open_ext(tmp_path)
    folder = tmp_path / "consumequeue_ext" / "T" / "0"
    while len(store.log.bases) < 4 or len(list(folder.iterdir())) < 4:
        put(store, body=bytes(100), TAGS="a")
    store.log.remove_first()
    store.log.remove_first()
    store.cleaner.drop_what_points_nowhere()
    finish_cleaning(store)
    entry = store.reader.entry("T", 0, store.min_offset("T", 0))
    assert entry is not None
    first_file = ext_offset(entry.tags_code) // 4096 * 4096
    assert sorted(path.name for path in folder.iterdir())[0] == file_name(first_file)
    assert first_file > 0
    assert store.exts is not None
    assert store.exts.unit("T", 0, entry.tags_code) is not None
    put(store, TAGS="b")
    store.close()
    store = open_ext(tmp_path)
    assert store.report.clean
    assert store.min_offset("T", 0) > 0
    put(store, TAGS="c")
    assert [unit.tags_code for unit in last_units(store, 2)] == [tags_code("b"), tags_code("c")]
    store.close()


def last_units(store: MessageStore, count: int) -> list[ExtUnit]:
    end, found = store.max_offset("T", 0), []
    for offset in range(end - count, end):
        entry = store.reader.entry("T", 0, offset)
        assert entry is not None
        assert store.exts is not None
        unit = store.exts.unit("T", 0, entry.tags_code)
        assert unit is not None
        found.append(unit)
    return found
