from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.unit.store.support import bodies, open_store, put

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.store import MessageStore


def open_spread(root: Path) -> MessageStore:
    return open_store(root, store_path_commit_log=f"{root}/first, {root}/second")


def spread(root: Path) -> list[bytes]:
    """A closed store of four log files in two folders; its messages."""
    store = open_spread(root)
    sent: list[bytes] = []
    while len(store.log.bases) < 4:
        sent.append(b"%05d" % len(sent) + bytes(500))
        put(store, body=sent[-1])
    store.close()
    return sent


def fill(store: MessageStore) -> None:
    """Until the store takes no more."""
    while put(store, body=bytes(500)).ok:
        pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_several_folders_take_the_files_in_turn(tmp_path: Path) -> None:
    sent = spread(tmp_path)
    size = 16 << 10
    assert names(tmp_path / "first") == [f"{0:020d}", f"{2 * size:020d}"]
    assert names(tmp_path / "second") == [f"{size:020d}", f"{3 * size:020d}"]
    store = open_spread(tmp_path)
    assert store.report.clean
    assert bodies(store) == sent
    store.abandon()
    store = open_spread(tmp_path)
    assert not store.report.clean
    assert bodies(store) == sent
    store.close()


def test_a_file_is_found_in_whichever_folder_it_is(tmp_path: Path) -> None:
    sent = spread(tmp_path)
    moved = tmp_path / "first" / names(tmp_path / "first")[0]
    moved.rename(tmp_path / "second" / moved.name)
    store = open_spread(tmp_path)
    assert bodies(store) == sent
    assert store.log.remove_first() == tmp_path / "second" / moved.name
    assert names(tmp_path / "first") == [f"{2 * store.log.file_size:020d}"]
    put(store, body=b"goes on")
    store.close()


def test_a_clean_stop_gives_back_the_blocks_allocated_ahead(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_commit_log=1 << 20)
    put(store, body=bytes(10_000))
    path, end = store.log.path_of(0), store.log.max_offset
    assert path.stat().st_blocks * 512 >= 1 << 20
    store.close()
    file = Disk().open(path, writable=False)
    assert path.stat().st_size == 1 << 20
    assert all(stop <= end + 4096 for _start, stop in file.data_ranges(0, file.size))
    file.close()
    store = open_store(tmp_path, mapped_file_size_commit_log=1 << 20)
    put(store, body=b"next")
    assert bodies(store) == [bytes(10_000), b"next"]
    store.close()


class Full(list[object]):
    def append(self, _value: object) -> None:
        raise MemoryError


@pytest.mark.parametrize("part", ["_begin", "bases", "unflushed"])
def test_a_roll_that_is_ended_on_its_way_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The writer stands at the beginning of the next file already: not of the one that is full."""
    store = open_store(tmp_path)
    put(store, body=b"first")
    with monkeypatch.context() as patched:
        old = getattr(store.log, part)
        patched.setattr(store.log, part, Full(old) if isinstance(old, list) else Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            fill(store)
    sent = bodies(store)
    assert len(sent) > 20
    put(store, body=b"goes on")
    assert bodies(store) == [*sent, b"goes on"]
    assert store.log.bases[-1] in {segment.base for segment in store.log.unflushed}
    store.close()
    store = open_store(tmp_path)
    assert bodies(store) == [*sent, b"goes on"]
    store.close()


def _map_flags(path: Path) -> list[str]:
    """The kernel's flags of every map of a file."""
    sections = Path("/proc/self/smaps").read_text().split("VmFlags:")
    return [flags.partition("\n")[0] for section, flags in pairwise(sections) if str(path) in section]


def test_the_kernel_reads_the_log_ahead_or_not(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, body=b"x")
    path = store.log.path_of(0)
    for on in (False, True):
        store.log.set_read_ahead(on)
        flags = _map_flags(path)
        assert flags
        assert all(("rr" in each.split()) is not on for each in flags)
    store.close()


def test_what_was_just_written_is_in_memory(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, body=b"x")
    assert store.log.is_in_memory(0)
    assert store.log.is_in_memory(1 << 50), "nobody can tell of what is not there"
    store.close()
