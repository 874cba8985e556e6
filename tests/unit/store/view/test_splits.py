from __future__ import annotations

import itertools
import pickle
import shutil
from pathlib import Path

import pytest
from tests.stores import NAMES, unpack

from sprocketmq.protocol.record import Record
from sprocketmq.store.view import ArrowSource, Damage, StoreView
from sprocketmq.store.view.splits import LogRange, plan_splits, read_range


def offsets(parts: list[LogRange]) -> list[int]:
    found = [one for part in parts for one in read_range(part)]
    return [one.commit_offset for one in found if isinstance(one, Record)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", [1, 1000, 20_000, 1 << 30])
def test_every_record_is_in_one_range(name: str, target: int, tmp_path: Path) -> None:
    root = unpack(name, tmp_path).root
    every = [one.commit_offset for one in StoreView(root).read_log() if isinstance(one, Record)]
    parts = plan_splits(root, target)
    assert offsets(parts) == every
    assert all(first.end <= second.begin for first, second in itertools.pairwise(parts))
    if target == 20_000:
        assert max(part.end - part.begin for part in parts) < 25_000


def test_boundaries_are_found_without_queues_too(tmp_path: Path) -> None:
    root = unpack("direct", tmp_path).root
    every = offsets(plan_splits(root, 1 << 30))
    shutil.rmtree(root / "consumequeue")
    assert offsets(plan_splits(root, 5000)) == every


def test_damage_lies_in_one_range(tmp_path: Path) -> None:
    golden = unpack("clean", tmp_path)
    hit = golden.expect["topics"]["OrderEvents"]["2"]["messages"][3]["physicalOffset"]
    log = golden.root / "commitlog" / f"{hit // 65536 * 65536:020}"
    data = bytearray(log.read_bytes())
    data[hit % 65536 + 95] ^= 1
    log.write_bytes(data)
    for target in (500, 5000, 1 << 30):
        found = [one for part in plan_splits(golden.root, target) for one in read_range(part)]
        assert [one.begin for one in found if isinstance(one, Damage)] == [hit]
        assert len(found) == 1018


def test_a_range_travels(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    root = unpack("features", tmp_path).root
    part = pickle.loads(pickle.dumps(plan_splits(root, 10_000)[3]))
    remote = ArrowSource(fs.LocalFileSystem(), str(root))
    assert list(read_range(part, remote)) == list(read_range(part))
