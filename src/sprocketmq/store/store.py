"""The message store: one directory, one owner.

    put -> CommitLog -> [flush] -> dispatch -> ConsumeQueue, Index -> readers

The caller's thread owns everything but the flush, which has threads of its own. Under ASYNC_FLUSH a message is
dispatched before `put` returns. Under SYNC_FLUSH, and with a transient buffer, `readable_offset` follows the disk:
`on_progress` is called on the flush thread when it has moved, and the owner then calls `dispatch_ready`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection

from sprocketmq.errors import FlushFailed, StoreError
from sprocketmq.protocol.record.record import BLANK, REASONS, WHOLE, Record
from sprocketmq.store.config import StoreConfig, default_mapped_queue_files
from sprocketmq.store.dispatch.dispatch import Dispatcher, OnDispatch
from sprocketmq.store.files.checkpoint import Checkpoint, read_checkpoint
from sprocketmq.store.files.deleted_topics import DeletedTopics, Deletion
from sprocketmq.store.files.files import Clock, Disk, Files, SystemClock, can_pass
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.trouble import Trouble
from sprocketmq.store.index.format import IndexHeader
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.append import Appender, PutResult, PutStatus
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.log.flush import LogFlusher, QueueFlusher
from sprocketmq.store.lookup import Reader
from sprocketmq.store.pull.get import PullReader
from sprocketmq.store.queue.ext import ExtTable
from sprocketmq.store.queue.table import QueueTable
from sprocketmq.store.recovery.recovery import Recovery, RecoveryReport
from sprocketmq.store.retention import Cleaner

LOCAL_HOST = bytes([127, 0, 0, 1]) + (10911).to_bytes(4, "big")

_log = logging.getLogger("sprocketmq.store.store")


class MessageStore:
    """Open with `MessageStore.open`; `put`, `put_batch` and `get_message` are the hot calls."""

    @classmethod
    def open(
        cls, config: StoreConfig, *, files: Files | None = None, clock: Clock | None = None,
        store_host: bytes = LOCAL_HOST, background: bool = True,
    ) -> MessageStore:  # fmt: skip
        """Lock the directory, recover it, and take messages.

        `store_host` is the broker's address as records carry it. Without `background` nothing is flushed but by
        `flush`; tests use that. Raises StoreLocked when another broker runs here.
        """
        store = cls(config, files or Disk(), clock or SystemClock(), store_host)
        store._recover()
        store._start(background)
        return store

    def __init__(self, config: StoreConfig, files: Files, clock: Clock, store_host: bytes) -> None:
        self.config = config
        self.layout = config.layout
        self.clock = clock
        self._files = files
        self._lock = files.lock(self.layout.lock)
        maps = MapCache(files, config.max_mapped_queue_files or default_mapped_queue_files())
        self._maps = maps
        self.log = CommitLog(files, maps, self.layout, config.mapped_file_size_commit_log, config.transient_buffer)
        self.log.set_read_ahead(config.data_read_ahead_enable)
        self.deleted = DeletedTopics(files, self.layout.config)
        self.queues = QueueTable(files, maps, self.layout, config.mapped_file_size_consume_queue, self.deleted.table)
        self.index = self._make_index()
        self.dispatcher = Dispatcher(
            self.queues.cursors,
            self.queues.open_cursor,
            self.index.cursor if self.index else None,
            config.delay_level_ms,
        )
        self.appender = Appender(
            self, self.dispatcher, clock.now_ms, store_host, config.mapped_file_size_commit_log,
            config.max_message_size, config.max_topic_length, config.enabled_append_prop_crc,
            not config.sync_flush and not config.transient_buffer,
        )  # fmt: skip
        self.log.appender = self.appender
        self.reader = Reader(self.log, self.queues, self.index, self.deleted.table)
        self.getter = PullReader(config, self.appender, self.log.view_of, self.log.file_size, self.queues.file_size)
        self.flusher = LogFlusher(files, self.log, config, self.fail)
        self.queue_flusher = QueueFlusher(config, self._flush_queues, self.write_checkpoint, self.fail)
        self.checkpoint = Checkpoint()
        self.report = RecoveryReport()
        self.boot_timestamp = clock.now_ms()
        self.failure: FlushFailed | None = None
        self._full_indexes: list[tuple[str, int]] = []
        self._queue_trouble = Trouble("a queue is not flushed")
        self._stalled = False
        self._closed = False
        self.cleaner = Cleaner(
            config,
            files,
            clock,
            self.layout,
            self.log,
            self.queues,
            self.index,
            self.appender,
            self.flusher,
            self.has_failed,
        )
        self.exts = self._make_exts()
        self.put = self.appender.put
        self.put_batch = self.appender.put_batch
        self.get_message = self.getter.get_message

    def _make_index(self) -> Index | None:
        config = self.config
        if not config.message_index_enable:
            return None
        index = Index(
            self._files, self._maps, self.clock, self.layout.index, config.max_hash_slot_num, config.max_index_num
        )
        index.on_full = self._index_file_full
        return index

    def _make_exts(self) -> ExtTable | None:
        config = self.config
        if not config.enable_consume_queue_ext:
            return None
        exts = ExtTable(self._files, self._maps, self.layout, config.mapped_file_size_consume_queue_ext, self.queues)
        self.dispatcher.extend = exts.extend
        self.getter.exts = self.cleaner.exts = exts
        return exts

    def reconfigure(self, config: StoreConfig) -> None:
        """Go on with `config`, which differs from the one before in keys that may change while the store is open."""
        self.config = self.cleaner.config = config
        self.getter.configure(config)
        self.appender.max_message_size = config.max_message_size
        self.log.set_read_ahead(config.data_read_ahead_enable)

    # -- opening and closing

    def _recover(self) -> None:
        try:
            self.checkpoint = read_checkpoint(self._files, self.layout.checkpoint)
            self.deleted.load()
            clean = not self._files.exists(self.layout.abort)
            recovery = Recovery(
                self._files, self.layout, self.log, self.queues, self.index, self.dispatcher, self.checkpoint,
                self.deleted, clean, self.config.check_crc_on_recover,
            )  # fmt: skip
            self.report = recovery.run()
            self.getter.check_below = self.report.end_offset
        except BaseException:
            self._lock.release()
            raise

    def _start(self, background: bool) -> None:
        end = self.report.end_offset
        self.appender.place(None, end - end % self.log.file_size, end % self.log.file_size, 0)
        self.appender.store_timestamp = self.dispatcher.store_timestamp
        self.flusher.begin_at(end, self.dispatcher.store_timestamp)
        self.checkpoint.index_msg_timestamp = min(
            self.checkpoint.index_msg_timestamp, self.dispatcher.store_timestamp
        )  # an index may have been safe before the messages in it were
        self._files.write_bytes(self.layout.abort, str(os.getpid()).encode())
        self._files.sync_dir(self.layout.root)
        if self.config.sync_flush:
            self.appender.on_append = self.flusher.wake
        if background:
            self.flusher.start()
            self.queue_flusher.start()

    def close(self) -> None:
        """Flush everything and leave the directory as a clean stop does. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self.appender.status = PutStatus.SERVICE_NOT_AVAILABLE
        self.flusher.stop()
        self.queue_flusher.stop()
        try:
            if self.failure is None:
                self._close_clean()
        finally:
            self.log.close()
            self._maps.clear()
            self._lock.release()

    def _close_clean(self) -> None:
        self.dispatch_ready()
        if self.index is not None:
            self.index.sync(self.index.names[-1:])
        noted = self.write_checkpoint()
        if noted and self.flushed_offset == self.dispatcher.dispatched_offset == self.log.max_offset:
            self.log.free_rest()
            self._files.remove(self.layout.abort)
            self._files.sync_dir(self.layout.root)

    def abandon(self) -> None:
        """Let go of the directory as a crash would: nothing is flushed, the abort file stays."""
        self._closed = True
        self.appender.status = PutStatus.SERVICE_NOT_AVAILABLE
        self.flusher.abandon()
        self.queue_flusher.stop()
        self.log.close()
        self._maps.clear()
        self._lock.release()

    # -- writing

    def put_record(self, record: Record) -> PutResult:
        """Append a message given as a value; offsets, store time and store host are the store's own."""
        return self.appender.put(
            record.topic, record.queue_id, record.flag, record.sys_flag, record.body, record.properties,
            record.born_timestamp, record.born_host, record.reconsume_times, record.prepared_transaction_offset,
        )  # fmt: skip

    def make_room(self, size: int) -> None:
        """Called by the appender."""
        if self._stalled:
            self.dispatch_ready()
        self.log.make_room(size)

    def dispatch_failed(self) -> None:
        """Called by the appender or the owner: what is safe in the log is dispatched when there is space again."""
        self._stalled = True
        self.appender.inline = False
        self.appender.hold()

    def dispatch_ready(self) -> None:
        """Dispatch what became readable since the last time; the owner's thread calls it. Raises StoreFull."""
        readable = self.readable_offset
        while self.dispatcher.dispatched_offset < readable:
            at = self.dispatcher.dispatched_offset
            base = self.log.base_of(at)
            view = None if base is None else self.log.view_of(base)
            if base is None or view is None:
                raise StoreError(f"the log has no file for offset {at}")
            end = min(readable - base, self.log.file_size)
            kind = self.dispatcher.walk(view, base, at - base, end, False)
            if kind == BLANK:
                self.dispatcher.dispatched_offset = base + self.log.file_size
            elif kind != WHOLE:
                raise StoreError(f"no whole record at offset {self.dispatcher.dispatched_offset}: {REASONS[kind]}")
        if self._stalled:
            self._stalled = False
            self.appender.inline = not self.config.sync_flush and not self.config.transient_buffer

    # -- safety

    @property
    def flushed_offset(self) -> int:
        return self.flusher.flushed_offset

    @property
    def readable_offset(self) -> int:
        """Up to here a reader may see the log: as far as the acknowledgements of this mode promise."""
        if self.config.sync_flush:
            return self.flusher.flushed_offset
        return self.flusher.committed_offset if self.config.transient_buffer else self.appender.wrote_offset

    @property
    def on_progress(self) -> Callable[[], object] | None:
        return self.flusher.on_progress

    @on_progress.setter
    def on_progress(self, hook: Callable[[], object] | None) -> None:
        self.flusher.on_progress = hook

    def wait_flushed(self, offset: int, timeout_ms: int | None = None) -> PutStatus:
        """Block until a put that ended at `offset` is on disk, then dispatch. For owners without an event loop."""
        timeout = self.config.sync_flush_timeout if timeout_ms is None else timeout_ms
        self.flusher.wake()
        done = self.flusher.wait(offset, timeout)
        self.dispatch_ready()
        return PutStatus.PUT_OK if done else PutStatus.FLUSH_DISK_TIMEOUT

    def flush(self) -> None:
        """Flush the log now, on this thread, and dispatch what that made readable."""
        self.flusher.flush()
        self.dispatch_ready()

    def fail(self, failure: FlushFailed) -> None:
        """Something that was promised cannot be kept, for good: from now on every put is refused. From any thread."""
        self.failure = self.failure or failure
        self.appender.status = PutStatus.SERVICE_NOT_AVAILABLE
        _log.critical("%s", failure)

    def has_failed(self) -> bool:
        return self.failure is not None

    def _flush_queues(self, least_pages: int) -> bool:
        """Whether all that was due is durable now."""
        try:
            self.queues.flush(least_pages)
            if self.exts is not None and least_pages == 0:
                self.exts.sync()
        except OSError as error:
            if can_pass(error):
                self._queue_trouble.begin(error)
            else:
                self.fail(FlushFailed(f"a queue could not be flushed: {error}; no more messages are taken"))
            return False
        self._queue_trouble.end()
        return True

    def _index_file_full(self, name: str, header: IndexHeader) -> None:
        """A file that takes no more entries is flushed once; the checkpoint then vouches for it."""
        self._full_indexes.append((name, header.end_timestamp))

    def _flush_indexes(self) -> None:
        """An index is vouched for after the messages in it, never before; files that recovery dropped are forgotten.

        Called on the flush thread, without a lock, see `QueueTable.flush`: the owner appends to this one list.
        """
        if self.index is None:
            return
        safe = self.flusher.flushed_timestamp
        listed = self._full_indexes.copy()
        del self._full_indexes[: len(listed)]
        full = [one for one in listed if one[0] in self.index.names]
        ready = [one for one in full if one[1] <= safe]
        self._full_indexes[:0] = full[len(ready) :]
        if ready:
            try:
                self.index.sync([name for name, _timestamp in ready])
            except OSError as error:
                self._full_indexes[:0] = ready
                if not can_pass(error):
                    self.fail(FlushFailed(f"an index file could not be flushed: {error}; no more messages are taken"))
                raise
            self.checkpoint.index_msg_timestamp = ready[-1][1]

    def write_checkpoint(self) -> bool:
        """Flush queues and full index files, then note how far everything is safe; whether that is done.

        Raises OSError, after which it may be tried again.
        """
        logics = self.dispatcher.store_timestamp
        if not self._flush_queues(0) or self.failure is not None:
            return False
        self._flush_indexes()
        self.checkpoint.physic_msg_timestamp = self.flusher.flushed_timestamp
        self.checkpoint.logics_msg_timestamp = logics
        self._files.write_bytes(self.layout.checkpoint, self.checkpoint.encode())
        return True

    # -- topics and queues

    def topics(self) -> list[str]:
        return self.queues.topics()

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.min_offset

    def max_offset(self, topic: str, queue_id: int) -> int:
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.max_offset

    def watch(self, topic: str, queue_id: int, watched: bool = True) -> None:
        """Have `on_dispatch` called for the queue's new messages, or no more."""
        self.dispatcher.queue(topic, queue_id).watched = watched

    @property
    def on_dispatch(self) -> OnDispatch | None:
        """Called as (topic, queue_id, max_offset, tags_code, store_timestamp, properties) for watched queues."""
        return self.dispatcher.on_dispatch

    @on_dispatch.setter
    def on_dispatch(self, hook: OnDispatch | None) -> None:
        self.dispatcher.on_dispatch = hook

    def delete_topic(self, *topics: str) -> None:
        """Delete topics' queues. Their messages stay in the log until its files go, but never come back."""
        deletion = Deletion(self.log.max_offset, self.appender.store_timestamp)
        self.deleted.add(topics, deletion, self.log.min_offset)
        for topic in topics:
            self.queues.forget(topic)
            if self.exts is not None:
                self.exts.forget(topic)
        if self._files.exists(self.layout.consume_queues):
            self._files.sync_dir(self.layout.consume_queues)

    def clean_unused_topics(self, keep: Collection[str]) -> list[str]:
        """Delete the topics that are not among `keep`; returns their names."""
        unused = [topic for topic in self.topics() if topic not in keep]
        if unused:
            self.delete_topic(*unused)
        return unused
