from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import START_MS, FakeClock, open_store, put

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.hashing import index_key_hash
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.index.format import IndexHeader
from sprocketmq.store.index.index import MAX_EXAMINED, Index, name_after, time_name

EVER = (0, 1 << 62)


def make_index(folder: Path, clock: FakeClock | None = None, slots: int = 4, entries: int = 5) -> Index:
    """An index whose files take four entries: number 0 stays unused."""
    return Index(Disk(), MapCache(Disk(), 16), clock or FakeClock(), folder, slots, entries)


def add(index: Index, key: str, offset: int, timestamp: int = START_MS) -> None:
    index.cursor.ready()
    index.cursor.put(index_key_hash("T", key), offset, timestamp)


def found(index: Index, key: str, begin: int = 0, end: int = 1 << 62) -> list[int]:
    return list(index.search("T", key, begin, end))


def test_a_key_is_found_newest_first_across_files(tmp_path: Path) -> None:
    index = make_index(tmp_path)
    for number in range(10):
        add(index, "even" if number % 2 == 0 else "odd", number * 100)
    assert len(index.names) == 3
    assert found(index, "even") == [800, 600, 400, 200, 0]
    assert found(index, "odd") == [900, 700, 500, 300, 100]
    assert found(index, "neither") == []


def test_a_chain_holds_other_keys_and_passes_over_them(tmp_path: Path) -> None:
    index = make_index(tmp_path, slots=1, entries=100)
    for number in range(20):
        add(index, f"k{number}", number)
    assert [found(index, f"k{number}") for number in range(20)] == [[number] for number in range(20)]


def test_the_time_range_is_kept_to_the_second(tmp_path: Path) -> None:
    index = make_index(tmp_path, entries=100)
    for second in range(5):
        add(index, "k", second, START_MS + second * 1000)
    assert found(index, "k", START_MS + 1000, START_MS + 3000) == [3, 2, 1]
    assert found(index, "k", START_MS + 9000) == []
    assert found(index, "k", 0, START_MS - 1) == []


def test_a_full_file_is_reported_and_the_next_begins_with_its_own_first(tmp_path: Path) -> None:
    index, full = make_index(tmp_path), []
    index.on_full = lambda name, header: full.append((name, header))
    for number in range(5):
        add(index, "k", 100 + number, START_MS + number)
    [(name, header)] = full
    assert name == index.names[0] == time_name(START_MS)
    assert header == IndexHeader(START_MS, START_MS + 3, 100, 103, 1, 5)
    assert index.header(index.names[1]) == IndexHeader(START_MS + 4, START_MS + 4, 104, 104, 1, 2)


def test_names_of_one_moment_differ(tmp_path: Path) -> None:
    index = make_index(tmp_path)
    for number in range(9):
        add(index, "k", number)
    assert index.names == [time_name(START_MS), time_name(START_MS + 1), time_name(START_MS + 2)]


def test_an_index_is_found_again_and_goes_on(tmp_path: Path) -> None:
    index = make_index(tmp_path)
    for number in range(6):
        add(index, "k", number)
    again = make_index(tmp_path)
    again.load()
    assert again.names == index.names
    add(again, "k", 6)
    assert found(again, "k") == [6, 5, 4, 3, 2, 1, 0]
    assert len(again.names) == 2


def test_files_that_never_got_their_size_go_and_larger_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / time_name(START_MS)).write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"not an index")
    index = make_index(tmp_path)
    index.load()
    assert index.names == []
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / time_name(START_MS)).write_bytes(bytes(index.file_size + 1))
    with pytest.raises(StoreError, match="its settings ask for"):
        index.load()


def test_a_damaged_chain_ends_the_search(tmp_path: Path) -> None:
    index = make_index(tmp_path, slots=1, entries=10)
    for number in range(3):
        add(index, "k", number)
    view = index.view_of(index.names[0])
    last = 40 + 4 + 3 * 20
    view[last + 16 : last + 20] = (3).to_bytes(4, "big")  # names itself
    assert found(index, "k") == [2]
    view[last + 16 : last + 20] = (-7).to_bytes(4, "big", signed=True)
    assert found(index, "k") == [2]


def test_an_equal_hash_is_not_an_equal_key(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, body=b"1", KEYS="Aa")
    put(store, body=b"2", KEYS="BB")  # hashes like "Aa"
    assert index_key_hash("T", "Aa") == index_key_hash("T", "BB")
    assert [record.body for record in store.reader.query("T", "Aa", 9, *EVER)] == [b"1"]
    assert [record.body for record in store.reader.query("T", "BB", 9, *EVER)] == [b"2"]
    store.close()


@pytest.mark.parametrize("back_ms", [1, 3_600_000, 30 * 86_400_000])
def test_a_clock_that_went_back_costs_no_search_for_a_name(tmp_path: Path, back_ms: int) -> None:
    """The next name follows the last at once, and the names stay in the order of the files."""
    clock = FakeClock()
    index = make_index(tmp_path, clock)
    for number in range(20):
        add(index, "k", number)
        if number == 6:
            clock.now -= back_ms
    assert index.names == [time_name(START_MS + number) for number in range(5)]
    assert index.names == sorted(index.names)
    assert name_after("20261231235959999") == "20270101000000000"
    assert name_after("99999999999999998") == "99999999999999999", "digits, though no time"


def colliding(count: int) -> list[str]:
    """So many keys with one hash code: "Aa" and "BB" have the same."""
    keys = [""]
    while len(keys) < count:
        keys = [key + part for key in keys for part in ("Aa", "BB")]
    return keys[:count]


def test_a_query_looks_at_so_many_entries_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path, max_hash_slot_num=20, max_index_num=5000, mapped_file_size_commit_log=1 << 20)
    keys = colliding(2048)
    for key in keys:
        put(store, body=key.encode(), KEYS=key)
    reads: list[int] = []
    read = store.reader.record_at

    def counted(offset: int) -> Record | None:
        reads.append(offset)
        return read(offset)

    monkeypatch.setattr(store.reader, "record_at", counted)
    assert [record.body for record in store.reader.query("T", keys[-1], 9, *EVER)] == [keys[-1].encode()]
    assert [record.body for record in store.reader.query("T", keys[-500], 1, *EVER)] == [keys[-500].encode()]
    reads.clear()
    assert store.reader.query("T", keys[0], 9, *EVER) == []
    assert len(reads) <= MAX_EXAMINED // 16
    assert "was cut" in caplog.text
    store.close()


def test_other_keys_of_a_slot_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sprocketmq.store.index.index.MAX_EXAMINED", 100)
    index = make_index(tmp_path, slots=1, entries=1000)
    for number in range(200):
        add(index, f"k{number}", number)
    assert found(index, "k150") == [150]
    assert found(index, "k50") == []
