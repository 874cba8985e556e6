"""The log ends earlier than its bytes do: what is behind is set aside, and queues forget it, durably."""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.table import QueueTable
from sprocketmq.store.recovery.quarantine import Quarantined, set_aside
from sprocketmq.store.recovery.resync import FoundRecord, records_behind


def found_from(files: Files, log: CommitLog, start: int) -> Iterator[FoundRecord]:
    """Whole records that begin at `start` or behind, wherever they are."""
    for base in log.bases:
        if base + log.file_size <= start:
            continue
        view = log.view_of(base)
        if view is None:
            continue
        file = files.open(log.path_of(base), writable=False)
        try:
            yield from records_behind(file, view, base, max(start - base, 0))
        finally:
            file.close()


def set_aside_behind(files: Files, layout: Layout, log: CommitLog, at: int, reason: str) -> list[Quarantined]:
    """Keep every file's part from `at` on that holds whole records."""
    found = list(found_from(files, log, at))
    return [
        kept
        for base in log.bases
        if (inside := [record for record in found if log.base_of(record.commit_offset) == base])
        and (kept := _set_aside_of_file(files, layout, log, base, max(at, base), inside, reason)) is not None
    ]


def _set_aside_of_file(
    files: Files, layout: Layout, log: CommitLog, base: int, start: int, inside: list[FoundRecord], reason: str
) -> Quarantined | None:
    view = log.view_of(base)
    end = inside[-1].commit_offset + inside[-1].size
    if view is None:
        return None
    return set_aside(files, layout, start, view[start - base : end - base], len(inside), reason)


def cut_queues(files: Files, queues: QueueTable, log_end: int, *, clear_all: bool = False) -> int:
    """Drop the entries of records at `log_end` and behind, on disk too; returns how many.

    With `clear_all` what is behind the last entry is cleared even where nothing was cut.
    """
    total = 0
    for queue in queues:
        cut = queue.cut(log_end)
        total += cut
        if (cut or clear_all) and queue.clear_behind():
            files.sync_dir(queue.folder)
    return total


def hide_behind(files: Files, log: CommitLog, queues: QueueTable, dispatcher: Dispatcher, limit: int) -> None:
    """Take the records at `limit` and behind back from the queues. They stay in the log, and are dispatched again."""
    cut_queues(files, queues, limit)
    reached = max((queue.cursor.max_commit_offset for queue in queues), default=0)
    dispatcher.dispatched_offset = max(min(dispatcher.dispatched_offset, reached), log.min_offset)
