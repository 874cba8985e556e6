"""The checkpoint vouches for files, so these are flushed before it is written: queues, then full index files.

A file of the index that takes no more entries is flushed once. Queues are flushed whenever enough of their pages are
due, on a thread of their own, and all of them before a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.errors import FlushFailed
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.files.checkpoint import Checkpoint, read_checkpoint
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.files.passing_failure import PassingFailure, can_pass
from sprocketmq.store.index.format import IndexHeader
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.flush import LogFlusher
from sprocketmq.store.log.held_queues import HeldQueues
from sprocketmq.store.log.readable import ReadableLog
from sprocketmq.store.queue.ext import ExtTable
from sprocketmq.store.queue.table import QueueTable


class CheckpointWriter:
    def __init__(
        self, files: Files, layout: Layout, dispatcher: Dispatcher, queues: QueueTable, held: HeldQueues,
        exts: ExtTable | None, index: Index | None, flusher: LogFlusher, readable: ReadableLog,
        fail: Callable[[FlushFailed], object], has_failed: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.checkpoint = Checkpoint()
        self._files = files
        self._path = layout.checkpoint
        self._dispatcher = dispatcher
        self._queues = queues
        self._held = held
        self._exts = exts
        self._index = index
        self._flusher = flusher
        self._readable = readable
        self._fail = fail
        self._has_failed = has_failed
        self._full_indexes: list[tuple[str, IndexHeader]] = []
        self._queue_trouble = PassingFailure("a queue is not flushed")
        if index is not None:
            index.on_full = self._index_file_full

    def load(self) -> None:
        self.checkpoint = read_checkpoint(self._files, self._path)

    def write(self) -> bool:
        """Flush queues and full index files, then note how far everything is safe; whether that is done.

        Raises OSError, after which it may be tried again.
        """
        logics = self._dispatcher.store_timestamp
        if not self.flush_queues(0) or self._has_failed():
            return False
        self._flush_indexes()
        self.checkpoint.flushed_offset = self._flusher.flushed_offset
        self.checkpoint.physic_msg_timestamp = self._flusher.flushed_timestamp
        self.checkpoint.logics_msg_timestamp = self._held.before(logics)
        if self._readable.confirm_offset is not None:
            self.checkpoint.confirm_offset = self._readable.confirm_offset
        self._files.write_bytes(self._path, self.checkpoint.encode())
        return True

    def flush_queues(self, least_pages: int) -> bool:
        """Whether all that was due is durable now."""
        try:
            self._queues.flush(least_pages)
            if self._exts is not None and least_pages == 0:
                self._exts.sync()
        except OSError as error:
            if can_pass(error):
                self._queue_trouble.begin(error)
            else:
                self._fail(FlushFailed(f"a queue could not be flushed: {error}; no more messages are taken"))
            return False
        self._queue_trouble.end()
        return True

    def _index_file_full(self, name: str, header: IndexHeader) -> None:
        self._full_indexes.append((name, header))

    def _flush_indexes(self) -> None:
        """An index is vouched for after the messages in it, never before; files that recovery dropped are forgotten.

        Called on the flush thread, without a lock, see `QueueTable.flush`: the owner appends to this one list.
        """
        if self._index is None:
            return
        safe = self._flusher.flushed_offset
        listed = self._full_indexes.copy()
        del self._full_indexes[: len(listed)]
        full = [one for one in listed if one[0] in self._index.names]
        ready = [one for one in full if one[1].end_offset < safe]
        self._full_indexes[:0] = full[len(ready) :]
        if ready:
            self._sync_indexes(self._index, ready)
            self.checkpoint.index_msg_timestamp = ready[-1][1].end_timestamp
            self.checkpoint.index_offset = ready[-1][1].end_offset

    def _sync_indexes(self, index: Index, ready: list[tuple[str, IndexHeader]]) -> None:
        try:
            index.sync([name for name, _header in ready])
        except OSError as error:
            self._full_indexes[:0] = ready
            if not can_pass(error):
                self._fail(FlushFailed(f"an index file could not be flushed: {error}; no more messages are taken"))
            raise
