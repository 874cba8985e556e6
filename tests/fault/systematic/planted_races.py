"""Races that were in this store once, or would be there with one line in another place, for the enumeration to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprocketmq.protocol.record.record import BLANK_BYTES, MAGIC_BLANK
from sprocketmq.store.files.files import sync_parents, sync_unless_gone
from sprocketmq.store.files.layout import file_name
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.files.table_text import TableText
from sprocketmq.store.log.checkpoint_writer import CheckpointWriter
from sprocketmq.store.log.commitlog import CommitLog, LogSegment
from sprocketmq.store.log.flush import LogFlusher
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


def lists_again_what_is_left(self: CheckpointWriter) -> None:
    """A file that is full between the two is in neither list."""
    assert self._index is not None
    listed, safe = self._full_indexes.copy(), self._flusher.flushed_offset
    ready = [one for one in listed if one[1].end_offset < safe]
    self._sync_indexes(self._index, ready)
    self._full_indexes = listed[len(ready) :]


def forgets_before_it_looks(self: LogFlusher) -> None:
    """A wake between the two is taken for one that the thread has seen."""
    while not self._stopping.is_set():
        self._woken = False
        self._wake.wait(0)
        self._wake.clear()
        if self._stopping.is_set():
            return
        self.flush()


def takes_the_list_when_done(self: TableText[Any], head: bytes) -> bytes:
    """What is noted meanwhile goes with the rest."""
    for changed in self._changes.copy():
        for key in changed:
            self._touch(key)
    self._changes = []
    texts = [text for piece in self._pieces if (text := self._text_of(piece))]
    return b"".join((head[:-3], b"\n", b",\n".join(texts), b"\n\t", head[-3:]))


#: The race that shows each, and what is put in place of the methods as they are.
PLANTED: list[tuple[str, dict[tuple[type, str], Callable[..., Any]]]] = [
    ("a_queue_grows_while_the_dirty_ones_are_flushed", {(QueueTable, "flush"): looks_twice}),
    (
        "the_log_rolls_while_it_is_flushed",
        {(CommitLog, "_roll"): begins_before_it_is_placed, (CommitLog, "sync"): syncs_below_its_file},
    ),
    ("a_queue_begins_a_file_while_it_is_flushed", {(ConsumeQueue, "path_of"): remembers_a_path_for_both}),
    ("a_queue_begins_a_file_while_it_is_flushed", {(ConsumeQueue, "sync"): counts_names_when_done}),
    (
        "an_index_file_is_full_while_the_checkpoint_is_written",
        {(CheckpointWriter, "_flush_indexes"): lists_again_what_is_left},
    ),
    (
        "the_log_grows_while_the_flush_thread_takes_its_waking",
        {(LogFlusher, "_flush_until_stopped"): forgets_before_it_looks},
    ),
    ("a_table_changes_while_its_text_is_made", {(TableText, "text"): takes_the_list_when_done}),
]
