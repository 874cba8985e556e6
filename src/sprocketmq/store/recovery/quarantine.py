"""What recovery cut off although it held whole records.

quarantine/NAME.log     the bytes that were cut, exactly; NAME is the commit offset of the first, 20 digits, and NAME-2,
                        NAME-3 ... what was cut there at other times
quarantine/NAME.json    why, when, and how many whole records are in it
quarantine/NAME.replayed    the same bytes, once their records are in the log again
quarantine/behind-NAME/     log files of a slave that began anew, see `log_reset`: they are never replayed

Nothing in here is served or deleted by the store. `replay` appends the records anew: they get new offsets, for the old
ones may have been given away since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sprocketmq.atomic_file import replace_file
from sprocketmq.protocol.record.record import Record, decode_record
from sprocketmq.store.files.files import Files, sync_parents
from sprocketmq.store.files.layout import Layout, base_offset_of, file_name
from sprocketmq.store.recovery.resync import FoundRecord, records_behind


class Quarantined(NamedTuple):
    path: Path
    commit_offset: int
    size: int
    records: int


def set_aside(
    files: Files, layout: Layout, commit_offset: int, data: memoryview, records: int, why: str
) -> Quarantined:
    """Keep bytes of the log, durably, before they are cut: on a full disk there is the whole file or none."""
    path = _path_for(files, layout.quarantine, commit_offset, data)
    report = {"commitOffset": commit_offset, "size": len(data), "records": records, "reason": why}
    files.make_dirs(layout.quarantine)
    replace_file(path, bytes(data), files)
    files.write_bytes(path.with_suffix(".json"), json.dumps(report, indent=2).encode() + b"\n")
    sync_parents(files, path, layout.root)
    return Quarantined(path, commit_offset, len(data), records)


def _path_for(files: Files, folder: Path, commit_offset: int, data: memoryview) -> Path:
    """A name that nothing has; that of a file with these very bytes, when a recovery was cut short and begins again."""
    names = set(files.list_dir(folder))
    stem = file_name(commit_offset)
    paths = (folder / (f"{stem}-{number}.log" if number > 1 else f"{stem}.log") for number in count(1))
    return next(
        path
        for path in paths
        if names.isdisjoint({path.name, path.with_suffix(".json").name, path.with_suffix(".replayed").name})
        or (path.name in names and files.read_bytes(path) == data)
    )


def _offset_of(name: str) -> int | None:
    return base_offset_of(name.removesuffix(".log").partition("-")[0]) if name.endswith(".log") else None


def quarantined(files: Files, layout: Layout) -> list[Path]:
    """The files whose records were not replayed yet, in the order of the log, and of time."""
    names = [name for name in files.list_dir(layout.quarantine) if _offset_of(name) is not None]
    return [layout.quarantine / name for name in sorted(names, key=lambda name: (_offset_of(name), len(name), name))]


def records_in(files: Files, path: Path) -> Iterator[Record]:
    """The whole records of a quarantined file, in the order of the log."""
    base = _offset_of(path.name)
    if base is None:
        raise ValueError(f"{path} is no quarantined file")
    file = files.open(path, writable=False)
    try:
        view = file.map(writable=False)
        found: list[FoundRecord] = list(records_behind(file, view, base, 0))
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
