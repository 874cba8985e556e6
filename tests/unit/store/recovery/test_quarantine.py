from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from tests.unit.store.support import bodies, open_store, put

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.recovery.quarantine import quarantined, records_in, replay, set_aside, set_replayed


def log_of(root: Path, count: int) -> bytes:
    """The bytes of a log with so many messages."""
    store = open_store(root)
    for number in range(count):
        put(store, body=b"%d" % number, TAGS="t")
    data = (root / "commitlog" / f"{0:020d}").read_bytes()[: store.log.max_offset]
    store.close()
    return data


def test_what_is_set_aside_is_kept_byte_for_byte_and_explained(tmp_path: Path) -> None:
    data = log_of(tmp_path / "old", 3)
    size = len(data) // 3
    layout = Layout(tmp_path / "new")
    kept = set_aside(Disk(), layout, size, memoryview(data)[size:], 2, "a torn record")
    assert kept == (layout.quarantine / f"{size:020d}.log", size, 2 * size, 2)
    assert kept.path.read_bytes() == data[size:]
    assert json.loads(kept.path.with_suffix(".json").read_bytes()) == {
        "commitOffset": size,
        "size": 2 * size,
        "records": 2,
        "reason": "a torn record",
    }
    assert quarantined(Disk(), layout) == [kept.path]
    assert [record.body for record in records_in(Disk(), kept.path)] == [b"1", b"2"]


def test_replayed_records_are_new_messages(tmp_path: Path) -> None:
    data = log_of(tmp_path / "old", 3)
    kept = set_aside(Disk(), Layout(tmp_path / "new"), 0, memoryview(data), 3, "why")
    store = open_store(tmp_path / "new")
    put(store, body=b"here before")
    assert replay(Disk(), kept.path, store.put_record) == 3
    assert bodies(store) == [b"here before", b"0", b"1", b"2"]
    assert kept.path.exists()
    store.close()


def test_garbage_between_records_is_passed_over(tmp_path: Path) -> None:
    data = bytearray(log_of(tmp_path / "old", 3))
    size = len(data) // 3
    data[size + 88] ^= 0xFF
    kept = set_aside(Disk(), Layout(tmp_path / "new"), 0, memoryview(data), 2, "why")
    assert [record.body for record in records_in(Disk(), kept.path)] == [b"0", b"2"]


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_bytes(b"x")
    with pytest.raises(ValueError, match="no quarantined file"):
        list(records_in(Disk(), tmp_path / "notes.log"))


def test_what_was_set_aside_before_is_never_written_over(tmp_path: Path) -> None:
    """Not even when it was replayed; the same bytes once more are the same file, for recovery may have begun again."""
    layout, disk = Layout(tmp_path), Disk()
    first = set_aside(disk, layout, 7, memoryview(b"first"), 1, "torn")
    assert set_aside(disk, layout, 7, memoryview(b"first"), 1, "torn").path == first.path
    second = set_aside(disk, layout, 7, memoryview(b"second"), 1, "torn")
    third = set_aside(disk, layout, 7, memoryview(b"third"), 1, "torn")
    assert [path.read_bytes() for path in (first.path, second.path, third.path)] == [b"first", b"second", b"third"]
    assert quarantined(disk, layout) == [first.path, second.path, third.path]
    done = set_replayed(disk, first.path)
    again = set_aside(disk, layout, 7, memoryview(b"again"), 1, "torn")
    set_replayed(disk, again.path)
    assert done.read_bytes() == b"first"
    assert len({path.name for path in layout.quarantine.iterdir()}) == 8


def test_a_second_file_of_one_offset_is_replayed_as_the_first(tmp_path: Path) -> None:
    data = log_of(tmp_path / "old", 2)
    layout = Layout(tmp_path / "new")
    set_aside(Disk(), layout, 0, memoryview(b"other"), 1, "torn")
    kept = set_aside(Disk(), layout, 0, memoryview(data), 2, "torn")
    assert [record.body for record in records_in(Disk(), kept.path)] == [b"0", b"1"]


class FullDisk(Disk):
    """Takes the first half of a file, and then there is room."""

    full = True

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        if self.full:
            self.full = False
            super().write_bytes(path, data[: len(data) // 2], sync=sync)
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_bytes(path, data, sync=sync)


def test_half_of_what_is_to_be_set_aside_is_never_offered(tmp_path: Path) -> None:
    """The start fails on a full disk, and the next one sets all of it aside: each record is replayed once."""
    data, layout, disk = log_of(tmp_path / "old", 4), Layout(tmp_path / "new"), FullDisk()
    with pytest.raises(OSError, match="No space"):
        set_aside(disk, layout, 0, memoryview(data), 4, "torn")
    assert quarantined(disk, layout) == []
    set_aside(disk, layout, 0, memoryview(data), 4, "torn")
    found = [record.body for path in quarantined(disk, layout) for record in records_in(disk, path)]
    assert found == [b"0", b"1", b"2", b"3"]
