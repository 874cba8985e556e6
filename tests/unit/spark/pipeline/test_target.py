"""The files of an archive, on filesystems that are not local."""

from __future__ import annotations

from typing import Any

import pytest

from sprocketmq.spark.pipeline.target import ArchiveFolder

pa = pytest.importorskip("pyarrow")
fs = pytest.importorskip("pyarrow.fs")
parquet = pytest.importorskip("pyarrow.parquet")

DAY = "topic=orders/date=2026-11-15"


@pytest.fixture
def files(tmp_path: Any) -> Any:
    """A filesystem whose root is nowhere on this machine, as a bucket's is."""
    return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())


def stage(files: Any, rows: list[int], name: str = "part-0.snappy.parquet") -> None:
    files.create_dir(f"bucket/archive/_staging/{DAY}", recursive=True)
    parquet.write_table(pa.table({"n": rows}), f"bucket/archive/_staging/{DAY}/{name}", filesystem=files)


def numbers(files: Any) -> list[int]:
    paths = [info.path for info in files.get_file_info(fs.FileSelector(f"bucket/archive/{DAY}"))]
    return sorted(n for path in paths for n in parquet.ParquetFile(path, filesystem=files).read()["n"].to_pylist())


def test_batches_are_placed_joined_and_listed(files: Any) -> None:
    folder = ArchiveFolder("bucket/archive", files)
    assert (folder.notes(), folder.topics(), folder.next_batch()) == ([], [], 0)
    for batch in range(3):
        stage(files, [batch * 2, batch * 2 + 1])
        assert folder.place(batch) == 2
    assert folder.topics() == ["orders"]
    assert folder.compact() == 2
    assert numbers(files) == list(range(6))
    assert folder.compact() == 0


def test_a_large_file_between_small_ones_survives_their_joining(files: Any) -> None:
    folder = ArchiveFolder("bucket/archive", files)
    sizes = {0: 1, 1: 1, 2: 5000, 3: 1, 4: 1}
    for batch, rows in sizes.items():
        stage(files, [batch] * rows if rows == 1 else list(range(100, 100 + rows)))
        folder.place(batch)
    assert folder.compact(small_bytes=5000) == 2
    assert numbers(files) == [0, 1, 3, 4, *range(100, 5100)]


def test_a_batch_of_several_files_keeps_them_all(files: Any) -> None:
    folder = ArchiveFolder("bucket/archive", files)
    stage(files, [1], "part-0.parquet")
    stage(files, [2], "part-1.parquet")
    assert folder.place(7) == 2
    assert folder.compact() == 0
    assert numbers(files) == [1, 2]
