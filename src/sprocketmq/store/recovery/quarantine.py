"""What recovery cut off although it held whole records.

quarantine/NAME.log     the bytes that were cut, exactly; NAME is the commit offset of the first, 20 digits
quarantine/NAME.json    why, when, and how many whole records are in it
quarantine/NAME.replayed    the same bytes, once their records are in the log again

Nothing in here is served or deleted by the store. `replay` appends the records anew: they get new offsets, for the old
ones may have been given away since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sprocketmq.protocol.record.record import Record, decode_record
from sprocketmq.store.files.files import Files, sync_parents
from sprocketmq.store.files.layout import Layout, base_offset_of, file_name
from sprocketmq.store.recovery.resync import Found, records_behind


class Quarantined(NamedTuple):
    path: Path
    commit_offset: int
    size: int
    records: int


def set_aside(
    files: Files, layout: Layout, commit_offset: int, data: memoryview, records: int, why: str
) -> Quarantined:
    """Keep bytes of the log, durably, before they are cut."""
    path = layout.quarantine / f"{file_name(commit_offset)}.log"
    report = {"commitOffset": commit_offset, "size": len(data), "records": records, "reason": why}
    files.make_dirs(layout.quarantine)
    files.write_bytes(path, bytes(data))
    files.write_bytes(path.with_suffix(".json"), json.dumps(report, indent=2).encode() + b"\n")
    sync_parents(files, path, layout.root)
    return Quarantined(path, commit_offset, len(data), records)


def quarantined(files: Files, layout: Layout) -> list[Path]:
    """The files whose records were not replayed yet, in the order of the log."""
    names = [name for name in files.list_dir(layout.quarantine) if name.endswith(".log")]
    return [layout.quarantine / name for name in names if base_offset_of(name.removesuffix(".log")) is not None]


def records_in(files: Files, path: Path) -> Iterator[Record]:
    """The whole records of a quarantined file, in the order of the log."""
    base = base_offset_of(path.name.removesuffix(".log"))
    if base is None:
        raise ValueError(f"{path} is no quarantined file")
    file = files.open(path, writable=False)
    try:
        view = file.map(writable=False)
        found: list[Found] = list(records_behind(file, view, base, 0))
    finally:
        file.close()
    for record in found:
        yield decode_record(view, record.commit_offset - base)


def set_replayed(files: Files, path: Path) -> Path:
    """Call when the replayed records are durable: the file is kept, and not offered again."""
    done = path.with_suffix(".replayed")
    files.rename(path, done)
    files.sync_dir(path.parent)
    return done


def replay(files: Files, path: Path, put: Callable[[Record], object]) -> int:
    """Hand every record of a quarantined file to `put`; returns how many. The file stays."""
    count = 0
    for record in records_in(files, path):
        put(record)
        count += 1
    return count
