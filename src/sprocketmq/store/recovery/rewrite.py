"""Writing once more what a failed sync has left in the memory of the kernel.

After a sync that fails, Linux takes the pages for clean: they are read as they were written, no later sync writes them,
and they are on no disk. The process that saw it has said so in the `abort` file, which need not reach the disk either:
where it is gone with the power, so are those pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.queue.table import QueueTable

#: What the `abort` file says after a sync that failed; else it holds the number of a process.
SYNC_FAILED = b"a sync failed"
_PIECE = 1 << 20


def sync_had_failed(files: Files, layout: Layout) -> bool:
    return files.exists(layout.abort) and files.read_bytes(layout.abort) == SYNC_FAILED


def make_safe(files: Files, layout: Layout, log: CommitLog, queues: QueueTable, start: int) -> None:
    """What recovery found may be in the memory of the kernel alone: the process before was killed, the machine was
    not. From now on it counts as being on disk, so it goes there before anyone is told of it.
    """
    if sync_had_failed(files, layout):
        rewrite(files, layout, log, queues, start)
    for folder in {layout.root, *layout.commit_log_dirs}:
        if files.exists(folder):
            files.sync_all(folder)


def rewrite(files: Files, layout: Layout, log: CommitLog, queues: QueueTable, start: int) -> None:
    """Make all pages dirty that may not be on disk: of the log from its offset `start` on, and what follows the log."""
    paths = [log.path_of(base) for base in log.bases if base + log.file_size > start]
    for queue in queues:
        paths += _queue_files(queue, start)
    for place in (layout.consume_queue_exts, layout.root / "timerlog", layout.root / "timerwheel"):
        paths += _files_below(files, place)
    for path in paths:
        _rewrite_file(files, path)


def _queue_files(queue: ConsumeQueue, start: int) -> Iterator[Path]:
    """The files with entries of records behind `start`, the last first."""
    for base in reversed(queue.bases):
        yield queue.path_of(base)
        entry = queue.raw_entry(base // ENTRY_SIZE)
        if entry is not None and entry.commit_offset < start:
            return


def _files_below(files: Files, path: Path) -> Iterator[Path]:
    if files.is_dir(path):
        for name in files.list_dir(path):
            yield from _files_below(files, path / name)
    elif files.exists(path):
        yield path


def _rewrite_file(files: Files, path: Path) -> None:
    file = files.open(path)
    try:
        for start, end in file.data_ranges(0, file.size):
            for at in range(start, end, _PIECE):
                file.write(at, file.read(at, min(_PIECE, end - at)))
    finally:
        file.close()
