"""An archive directory: Parquet files by topic and date, written so that a repeated batch leaves no second copy.

    ROOT/topic=orders/date=2026-11-15/part-00000007-00000009.parquet     the rows of batches 7 to 9
    ROOT/_batches/00000009.json                                          what batch 9 was: rows, and where it ended
    ROOT/_checkpoint                                                     Spark's own, when the input is a stream

A batch is written to `_staging`, its files are moved to their places, and its note is written last. A batch without a
note never happened: the next run removes its files. A file of several batches replaces the files of each of them, so a
compaction that was cut short is finished by removing what the larger file covers.

ROOT is a local path or an address of any filesystem that both Spark and pyarrow open: Spark writes the batches there,
and everything else is done through pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = re.compile(r"part-(\d{8})-(\d{8})\.parquet")
#: Files below this are joined.
SMALL_BYTES = 32 * 1024 * 1024


class Part(NamedTuple):
    """One file: the batches first to last of one topic and day."""

    path: str
    first: int
    last: int
    size: int


class ArchiveFolder:
    def __init__(self, address: Path | str, filesystem: Any = None) -> None:
        self.address = str(address).rstrip("/")
        self._files, self._root = (filesystem, self.address) if filesystem else _open(self.address)

    # -- notes --------------------------------------------------------------------------------------------------------

    def notes(self) -> list[dict[str, Any]]:
        """What every batch so far was, oldest first."""
        paths = sorted(info.path for info in self._list("_batches") if info.path.endswith(".json"))
        return [orjson.loads(self._read(path)) for path in paths]

    def next_batch(self) -> int:
        """The number after the last batch that was finished."""
        notes = self.notes()
        return int(notes[-1]["batch"]) + 1 if notes else 0

    def rows(self) -> int:
        return sum(int(note["rows"]) for note in self.notes())

    def topics(self) -> list[str]:
        names = sorted(info.base_name for info in self._list(""))
        return [name.removeprefix("topic=") for name in names if name.startswith("topic=")]

    # -- batches ------------------------------------------------------------------------------------------------------

    def write(self, frame: DataFrame, batch: int, **facts: Any) -> int:
        """Add a batch, once. Returns its rows, also when it was there already."""
        from pyspark.sql import functions as f

        known = [note for note in self.notes() if note["batch"] == batch]
        if known:
            return int(known[0]["rows"])
        self._discard(batch)
        dated = frame.withColumn("date", f.to_date("storeTimestamp"))
        writer = dated.repartition("topic", "date").sortWithinPartitions("queueId", "queueOffset").write
        writer.mode("overwrite").partitionBy("topic", "date").parquet(f"{self.address}/_staging")
        rows = self.place(batch)
        self._note(f"{batch:08}.json", {"batch": batch, "rows": rows, **facts})
        return rows

    def place(self, batch: int) -> int:
        """Move what is staged to where it belongs: one file per topic and day, unless that is too large for one."""
        from pyarrow import parquet

        rows = 0
        staged = sorted(info.path for info in self._walk("_staging") if info.path.endswith(".parquet"))
        for number, path in enumerate(staged):
            folder = path.rpartition("/")[0].replace(f"{self._root}/_staging/", f"{self._root}/", 1)
            rows += parquet.read_metadata(path, filesystem=self._files).num_rows
            self._files.create_dir(folder, recursive=True)
            self._files.move(path, f"{folder}/part-{batch:08}-{batch:08}{f'.{number}' if number else ''}.parquet")
        self._files.delete_dir(f"{self._root}/_staging")
        return rows

    def _discard(self, batch: int) -> None:
        for folder in self._days():
            for info in self._list(folder.removeprefix(f"{self._root}/")):
                if info.base_name.startswith(f"part-{batch:08}-{batch:08}."):
                    self._files.delete_file(info.path)

    def _note(self, name: str, facts: dict[str, Any]) -> None:
        folder = f"{self._root}/_batches"
        self._files.create_dir(folder, recursive=True)
        with self._files.open_output_stream(f"{folder}/{name}.tmp") as file:
            file.write(orjson.dumps(facts))
        self._files.move(f"{folder}/{name}.tmp", f"{folder}/{name}")

    # -- compaction ---------------------------------------------------------------------------------------------------

    def compact(self, small_bytes: int = SMALL_BYTES) -> int:
        """Join small files of one topic and day. Returns how many files that saved."""
        saved = 0
        for folder in self._days():
            self._finish_compaction(folder)
            for is_small, run in groupby(self._parts(folder), key=lambda part: part.size < small_bytes):
                parts = list(run)  # next to each other: a joined file must cover nothing that is not in it
                if is_small and len(parts) > 1:
                    self._join(folder, parts)
                    saved += len(parts) - 1
        return saved

    def _join(self, folder: str, parts: list[Part]) -> None:
        from pyarrow import parquet

        beside, schema = f"{folder}/_joined.tmp", parquet.read_schema(parts[0].path, filesystem=self._files)
        with parquet.ParquetWriter(beside, schema, filesystem=self._files, compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.ParquetFile(part.path, filesystem=self._files).read())
        self._files.move(beside, f"{folder}/part-{parts[0].first:08}-{parts[-1].last:08}.parquet")
        self._finish_compaction(folder)

    def _finish_compaction(self, folder: str) -> None:
        parts = self._parts(folder)
        for part in parts:
            covered = any(
                other is not part and other.first <= part.first and part.last <= other.last and other.first < other.last
                for other in parts
            )
            if covered:
                self._files.delete_file(part.path)

    # -- files --------------------------------------------------------------------------------------------------------

    def _days(self) -> Iterator[str]:
        for topic in self._list(""):
            if topic.base_name.startswith("topic="):
                days = self._list(topic.base_name)
                yield from sorted(day.path for day in days if day.base_name.startswith("date="))

    def _parts(self, folder: str) -> list[Part]:
        infos = sorted(self._list(folder.removeprefix(f"{self._root}/")), key=lambda info: str(info.base_name))
        found = [(info, _NAME.fullmatch(info.base_name)) for info in infos]
        return [Part(info.path, int(name[1]), int(name[2]), info.size) for info, name in found if name is not None]

    def _list(self, folder: str) -> list[Any]:
        return self._walk(folder, recursive=False)

    def _walk(self, folder: str, recursive: bool = True) -> list[Any]:
        from pyarrow.fs import FileSelector

        path = f"{self._root}/{folder}" if folder else self._root
        found: list[Any] = self._files.get_file_info(FileSelector(path, allow_not_found=True, recursive=recursive))
        return found

    def _read(self, path: str) -> bytes:
        with self._files.open_input_stream(path) as file:
            return bytes(file.read())


def _open(address: str) -> tuple[Any, str]:
    """The filesystem and the path in it. What Hadoop calls s3a is s3 to everybody else."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" not in address:
        return LocalFileSystem(), str(Path(address).absolute())
    filesystem, path = FileSystem.from_uri(re.sub("^s3a?n?://", "s3://", address))
    return filesystem, path.rstrip("/")
