"""An archive directory: Parquet files by topic and date, written so that a repeated batch leaves no second copy.

    ROOT/topic=orders/date=2026-11-15/part-00000007-00000009.parquet     the rows of batches 7 to 9
    ROOT/_batches/00000009.json                                          what batch 9 was: rows, and where it ended
    ROOT/_checkpoint                                                     Spark's own, when the input is a stream

A batch is written to `_staging`, its files are moved to their places, and its note is written last. A batch without a
note never happened: the next run removes its files. A file of several batches replaces the files of each of them, so a
compaction that was cut short is finished by removing what the larger file covers.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_NAME = re.compile(r"part-(\d{8})-(\d{8})\.parquet")
#: Files below this are joined.
SMALL_BYTES = 32 * 1024 * 1024


class Part(NamedTuple):
    """One file: the batches first to last of one topic and day."""

    path: Path
    first: int
    last: int


@dataclass(frozen=True)
class ArchiveFolder:
    root: Path

    # -- notes --------------------------------------------------------------------------------------------------------

    def notes(self) -> list[dict[str, Any]]:
        """What every batch so far was, oldest first."""
        return [orjson.loads(path.read_bytes()) for path in sorted((self.root / "_batches").glob("*.json"))]

    def next_batch(self) -> int:
        """The number after the last batch that was finished."""
        notes = self.notes()
        return int(notes[-1]["batch"]) + 1 if notes else 0

    def rows(self) -> int:
        return sum(int(note["rows"]) for note in self.notes())

    # -- batches ------------------------------------------------------------------------------------------------------

    def write(self, frame: DataFrame, batch: int, **facts: Any) -> int:
        """Add a batch, once. Returns its rows, also when it was there already."""
        note = self.root / "_batches" / f"{batch:08}.json"
        if note.exists():
            return int(orjson.loads(note.read_bytes())["rows"])
        self._discard(batch)
        staging = self.root / "_staging"
        dated = frame.withColumn("date", f.to_date("storeTimestamp"))
        writer = dated.repartition("topic", "date").sortWithinPartitions("queueId", "queueOffset").write
        writer.mode("overwrite").partitionBy("topic", "date").parquet(str(staging))
        rows = self._place(staging, batch)
        self._note(note, {"batch": batch, "rows": rows, **facts})
        return rows

    def _place(self, staging: Path, batch: int) -> int:
        from pyarrow import parquet

        rows = 0
        for path in sorted(staging.rglob("*.parquet")):
            folder = self.root / path.parent.relative_to(staging)
            folder.mkdir(parents=True, exist_ok=True)
            rows += parquet.read_metadata(path).num_rows
            self._move(path, folder, batch)
        shutil.rmtree(staging)
        return rows

    def _move(self, path: Path, folder: Path, batch: int) -> None:
        """Spark writes one file per topic and day here, unless a day is larger than a file may be."""
        name = folder / f"part-{batch:08}-{batch:08}.parquet"
        number = 1
        while name.exists():
            name = folder / f"part-{batch:08}-{batch:08}.{number}.parquet"
            number += 1
        path.rename(name)

    def _discard(self, batch: int) -> None:
        for path in self.root.glob(f"topic=*/date=*/part-{batch:08}-{batch:08}*.parquet"):
            path.unlink()

    def _note(self, note: Path, facts: dict[str, Any]) -> None:
        note.parent.mkdir(parents=True, exist_ok=True)
        beside = note.with_suffix(".tmp")
        beside.write_bytes(orjson.dumps(facts))
        beside.rename(note)

    # -- compaction ---------------------------------------------------------------------------------------------------

    def compact(self, small_bytes: int = SMALL_BYTES) -> int:
        """Join small files of one topic and day. Returns how many files that saved."""
        saved = 0
        for folder in sorted(self.root.glob("topic=*/date=*")):
            self._finish_compaction(folder)
            small = [part for part in _parts(folder) if part.path.stat().st_size < small_bytes]
            if len(small) > 1:
                self._join(folder, small)
                saved += len(small) - 1
        return saved

    def _join(self, folder: Path, parts: list[Part]) -> None:
        from pyarrow import parquet

        beside = folder / "_joined.tmp"
        with parquet.ParquetWriter(beside, parquet.read_schema(parts[0].path), compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.ParquetFile(part.path).read())
        beside.rename(folder / f"part-{parts[0].first:08}-{parts[-1].last:08}.parquet")
        self._finish_compaction(folder)

    def _finish_compaction(self, folder: Path) -> None:
        parts = _parts(folder)
        for part in parts:
            covered = any(
                other is not part and other.first <= part.first and part.last <= other.last and other.first < other.last
                for other in parts
            )
            if covered:
                part.path.unlink()


def _parts(folder: Path) -> list[Part]:
    found = [(path, _NAME.fullmatch(path.name)) for path in sorted(folder.iterdir())]
    return [Part(path, int(name[1]), int(name[2])) for path, name in found if name is not None]
