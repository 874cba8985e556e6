"""Races that were in this store once, for the enumeration to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprocketmq.protocol.record.record import BLANK_BYTES, MAGIC_BLANK
from sprocketmq.store.files.files import sync_parents, sync_unless_gone
from sprocketmq.store.files.layout import file_name
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.log.commitlog import CommitLog, LogSegment
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.queue.table import QueueTable


def looks_twice(self: QueueTable, least_pages: int) -> None:
    """A queue that becomes due between the two looks is in neither list."""
    dirty = self._dirty.copy()
    del self._dirty[: len(dirty)]
    due = [queue for queue in dirty if queue.unflushed_bytes >= least_pages * PAGE]
    self._dirty += [queue for queue in dirty if queue.unflushed_bytes < least_pages * PAGE]
    self._sync_each(due)


def begins_before_it_is_placed(self: CommitLog) -> None:
    """A flush between the two takes the new file's end from the old one's offset."""
    writer, segment = self._writer, self._current
    self._allocate(writer.position + BLANK_BYTES)
    following = self._open_segment(segment.base + self.file_size, is_new=True)
    left = self.file_size - writer.position
    blank = left.to_bytes(4, "big") + MAGIC_BLANK.to_bytes(4, "big", signed=True)
    segment.view[writer.position : writer.position + BLANK_BYTES] = blank
    segment.end = writer.position + BLANK_BYTES
    self._begin(following)
    writer.place(None, following.base, 0, 0)


def syncs_below_its_file(self: CommitLog, segment: LogSegment, upto: int) -> None:
    end = min(upto - segment.base, segment.end)
    segment.file.sync()
    segment.synced = end


def remembers_a_path_for_both(self: ConsumeQueue, base: int) -> Path:
    if self._last_path is None or self._last_path[0] != base:
        self._last_path = (base, Path(f"{self.folder}/{file_name(base)}"))
    return self._last_path[1]


def counts_names_when_done(self: ConsumeQueue) -> None:
    upto = self.begin_sync()
    for base in [base for base in self.bases if base + self.file_size > self._flushed * ENTRY_SIZE]:
        sync_unless_gone(self._home.files, self.path_of(base))
    if self._files_end > self._named_upto:
        sync_parents(self._home.files, self.path_of(0), self.folder.parent.parent)
    self.end_sync(upto)
    self._named_upto = self._files_end


#: The race that shows each, and what is put in place of the methods as they are.
PLANTED: list[tuple[str, dict[tuple[type, str], Callable[..., Any]]]] = [
    ("a_queue_grows_while_the_dirty_ones_are_flushed", {(QueueTable, "flush"): looks_twice}),
    (
        "the_log_rolls_while_it_is_flushed",
        {(CommitLog, "_roll"): begins_before_it_is_placed, (CommitLog, "sync"): syncs_below_its_file},
    ),
    ("a_queue_begins_a_file_while_it_is_flushed", {(ConsumeQueue, "path_of"): remembers_a_path_for_both}),
    ("a_queue_begins_a_file_while_it_is_flushed", {(ConsumeQueue, "sync"): counts_names_when_done}),
]
