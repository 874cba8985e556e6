from __future__ import annotations

import itertools
import pickle
import shutil
from pathlib import Path

import pytest
from tests.stores import NAMES, unpack

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import ArrowSource, Damage, LogSplit, Selection, Split, StoreView, open_source, plan_splits
from sprocketmq.store.view.listing import open_log
from sprocketmq.store.view.scan_bounds import find_bounds


def walked(root: Path, parts: list[Split]) -> list[Record | Damage]:
    log = open_log(open_source(root))
    assert all(isinstance(part, LogSplit) for part in parts)
    return [one for part in parts for one in log.walk(part.begin, part.end, skip_damage=True)]


def offsets(root: Path, parts: list[Split]) -> list[int]:
    return [one.commit_offset for one in walked(root, parts) if isinstance(one, Record)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", [1, 1000, 20_000, 1 << 30])
def test_every_record_is_in_one_piece(name: str, target: int, tmp_path: Path) -> None:
    root = unpack(name, tmp_path).root
    every = [one.commit_offset for one in StoreView(root).read_log() if isinstance(one, Record)]
    parts = plan_splits(root, split_bytes=target)
    assert offsets(root, parts) == every
    assert all(first.end <= second.begin for first, second in itertools.pairwise(parts))
    if target == 20_000:
        assert max(part.end - part.begin for part in parts) < 25_000


@pytest.mark.parametrize("name", NAMES)
def test_the_log_ends_where_recovery_ends_it(name: str, tmp_path: Path) -> None:
    root = unpack(name, tmp_path).root
    view, bounds = StoreView(root), find_bounds(open_log(open_source(root)))
    assert (bounds.begin, bounds.end) == (view.log_begin, view.log_end)
    assert bounds.begin <= bounds.settled <= bounds.end
    assert view.crashed or bounds.settled == bounds.end


def test_the_end_is_found_window_by_window(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    root = unpack("killed", tmp_path).root
    remote = ArrowSource(fs.LocalFileSystem(), str(root))
    remote.window = 700
    assert find_bounds(open_log(remote)) == find_bounds(open_log(open_source(root)))


def test_a_store_that_is_written_to_needs_no_recovery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its broker keeps the log open, so the abort file is there; the checkpoint says that nothing is safe yet."""
    store = MessageStore.open(StoreConfig(store_path_root_dir=str(tmp_path)), background=False)
    for number in range(100):
        store.put_record(Record(topic="Live", queue_id=number % 2, body=b"%d" % number))
    monkeypatch.setattr("sprocketmq.store.view.scan_bounds.StoreView", None)
    parts = plan_splits(tmp_path, Selection(topics=frozenset({"Live"})))
    assert len(offsets(tmp_path, parts)) == 100
    store.close()
    assert {type(part).__name__ for part in plan_splits(tmp_path, Selection(topics=frozenset({"Live"})))} == {
        "QueueSplit"
    }


def test_boundaries_are_found_without_queues_too(tmp_path: Path) -> None:
    root = unpack("direct", tmp_path).root
    every = offsets(root, plan_splits(root, split_bytes=1 << 30))
    shutil.rmtree(root / "consumequeue")
    assert offsets(root, plan_splits(root, split_bytes=5000)) == every


def test_damage_lies_in_one_piece(tmp_path: Path) -> None:
    golden = unpack("clean", tmp_path)
    hit = golden.expect["topics"]["OrderEvents"]["2"]["messages"][3]["physicalOffset"]
    log = golden.root / "commitlog" / f"{hit // 65536 * 65536:020}"
    data = bytearray(log.read_bytes())
    data[hit % 65536 + 95] ^= 1
    log.write_bytes(data)
    for target in (500, 5000, 1 << 30):
        found = walked(golden.root, plan_splits(golden.root, split_bytes=target))
        assert [one.begin for one in found if isinstance(one, Damage)] == [hit]
        assert len(found) == 1018


def test_a_piece_travels(tmp_path: Path) -> None:
    root = unpack("features", tmp_path).root
    parts = plan_splits(root, split_bytes=10_000)
    assert pickle.loads(pickle.dumps(parts)) == parts


def test_a_folder_without_a_log_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a store: it has no commitlog files"):
        plan_splits(tmp_path)
