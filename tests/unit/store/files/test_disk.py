from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sprocketmq.errors import StoreLocked
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.files import sync_parents


def test_a_created_file_is_full_size_but_has_no_blocks_yet(tmp_path: Path) -> None:
    disk = Disk()
    file = disk.create(tmp_path / "a" / "b" / "f", 1 << 20)
    assert disk.size(file.path) == 1 << 20
    assert file.path.stat().st_blocks == 0
    file.allocate(0, 8192)
    assert file.path.stat().st_blocks * 512 >= 8192
    assert disk.size(file.path) == 1 << 20
    file.close()


@pytest.mark.parametrize(("size", "closers"), [(32 << 20, ["free-blocks"]), (4096, [])])
def test_the_blocks_of_a_large_file_are_freed_on_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, closers: list[str]
) -> None:
    """Who removes it does not wait for that."""
    file = Disk().create(tmp_path / "f", size)
    file.allocate(0, size)
    file.close()
    close, closed, by = os.close, threading.Event(), list[str]()

    def noted(descriptor: int) -> None:
        close(descriptor)
        by.append(threading.current_thread().name)
        closed.set()

    monkeypatch.setattr(os, "close", noted)
    Disk().remove(file.path)
    assert not file.path.exists()
    assert not closers or closed.wait(60)
    assert by == closers
    Disk().remove(file.path)  # one that is not there is no error


def test_what_is_made_ready_reads_as_zeros_and_nothing_before_it_changes(tmp_path: Path) -> None:
    file = Disk().create(tmp_path / "f", 1 << 20)
    view = file.map()
    file.allocate(0, 1 << 20)
    view[4090:4096] = b"before"
    file.ready(4096, 300_000)
    assert bytes(view[4090:4096]) == b"before"
    assert not any(view[4096:])
    view[4096:4101] = b"after"
    assert file.read(4090, 11) == b"beforeafter"
    assert file.size == 1 << 20
    file.close()


def test_a_map_outlives_its_file_and_its_name(tmp_path: Path) -> None:
    disk = Disk()
    file = disk.create(tmp_path / "f", 4096)
    view = file.map()
    view[0:2] = b"ab"
    part = view[0:2]
    file.sync()
    assert file.read(0, 2) == b"ab"
    file.close()
    disk.remove(tmp_path / "f")
    del view
    assert bytes(part) == b"ab"


def test_folders_list_sorted_names_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    disk = Disk()
    for name in "cab":
        disk.write_bytes(tmp_path / "d" / name, name.encode())
    sync_parents(disk, tmp_path / "d" / "a", tmp_path)
    assert disk.list_dir(tmp_path / "d") == ["a", "b", "c"]
    assert disk.list_dir(tmp_path / "none") == []
    disk.remove_tree(tmp_path / "d")
    assert not disk.exists(tmp_path / "d")


def test_a_second_owner_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    disk = Disk()
    lock = disk.lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_bytes() == b"lock"
    with pytest.raises(StoreLocked, match="running broker"):
        disk.lock(tmp_path / "lock")
    lock.release()
    disk.lock(tmp_path / "lock").release()
