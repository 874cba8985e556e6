"""The message store: one directory, one owner.

    put -> CommitLog -> [flush] -> dispatch -> ConsumeQueue, Index -> readers

The caller's thread owns everything but the flush, which has threads of its own. Under ASYNC_FLUSH a message is
dispatched before `put` returns. Under SYNC_FLUSH, and with a transient buffer, `readable` follows the disk:
`on_progress` is called on the flush thread when it has moved, and the owner then calls `dispatch_ready`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress

from sprocketmq.errors import FlushFailed
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import GROWTH_FILES, StoreConfig, default_mapped_queue_files, open_files
from sprocketmq.store.dispatch.dispatch import Dispatcher, OnDispatch
from sprocketmq.store.files.checkpoint import Checkpoint
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.deleted_topics import DeletedTopics, Deletion
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.sigbus import guard_maps
from sprocketmq.store.files.system_clock import SystemClock
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.append import Appender, PutResult, PutStatus
from sprocketmq.store.log.checkpoint_writer import CheckpointWriter
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.log.flush import LogFlusher, QueueFlusher
from sprocketmq.store.log.held_queues import HeldQueues
from sprocketmq.store.log.readable import ReadableLog, written_is_safe
from sprocketmq.store.lookup import Reader
from sprocketmq.store.pull.damaged_messages import DamagedMessages
from sprocketmq.store.pull.get import PullReader
from sprocketmq.store.queue.deletion import TopicDeletion
from sprocketmq.store.queue.ext import ExtTable
from sprocketmq.store.queue.table import QueueTable
from sprocketmq.store.recovery.cut import hide_behind
from sprocketmq.store.recovery.recovery import Recovery, RecoveryReport
from sprocketmq.store.recovery.rewrite import SYNC_FAILED, make_safe
from sprocketmq.store.retention import Cleaner

LOCAL_HOST = bytes([127, 0, 0, 1]) + (10911).to_bytes(4, "big")

_log = logging.getLogger("sprocketmq.store.store")
#: A disk that has not answered for so long is as good as dead.
DISK_SECONDS = 1.0


class MessageStore:
    """Open with `MessageStore.open`; `put`, `put_batch` and `get_message` are the hot calls."""

    @classmethod
    def open(
        cls, config: StoreConfig, *, files: Files | None = None, clock: Clock | None = None,
        store_host: bytes = LOCAL_HOST, background: bool = True, confirmed_only: bool = False,
    ) -> MessageStore:  # fmt: skip
        """Lock the directory, recover it, and take messages.

        `store_host` is the broker's address as records carry it. Without `background` nothing is flushed but by
        `flush`; tests use that. With `confirmed_only` readers see the log as far as it was confirmed, see `readable`.
        Raises StoreLocked when another broker runs here.
        """
        store = cls(config, files or Disk(), clock or SystemClock(), store_host)
        store._recover()
        if confirmed_only:
            store._hide_unconfirmed()
        store._start(background)
        return store

    def __init__(self, config: StoreConfig, files: Files, clock: Clock, store_host: bytes) -> None:
        self.config = config
        self.layout = config.layout
        self.clock = clock
        self._files = files
        self._lock = files.lock(self.layout.lock)
        guard_maps((self.layout.root, *self.layout.commit_log_dirs))
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
            written_is_safe(config),
        )  # fmt: skip
        self.log.appender = self.appender
        self.reader = Reader(self.log, self.queues, self.index, self.deleted.table, config.max_msgs_num_batch)
        self.getter = PullReader(config, self.appender, self.log.view_of, self.log.file_size, self.queues.file_size)
        self.damaged = DamagedMessages(self.log)
        self.getter.on_missing = self.damaged.note
        self.reader.on_damaged = lambda topic, at: self.damaged.is_being_mended(topic, 0, at)
        self.flusher = LogFlusher(files, self.log, config, self.fail)
        self.readable = ReadableLog(config, self.log, self.dispatcher, self.appender, self.flusher, self.fail)
        self.held = HeldQueues(self.dispatcher, self.queues, self.log, self.readable.walk)
        self.report = RecoveryReport()
        self.boot_timestamp = clock.now_ms()
        self.failure: FlushFailed | None = None
        self._closed = False
        self.cleaner = Cleaner(
            config, files, clock, self.layout, self.log, self.queues, self.index, self.appender, self.flusher,
            self.has_failed,
        )  # fmt: skip
        self.exts = self._make_exts()
        self.checkpoints = CheckpointWriter(
            files, self.layout, self.dispatcher, self.queues, self.held, self.exts, self.index, self.flusher,
            self.readable, self.fail, self.has_failed,
        )  # fmt: skip
        self.write_checkpoint = self.checkpoints.write
        self.queue_flusher = QueueFlusher(config, self.checkpoints.flush_queues, self.write_checkpoint, self.fail)
        self.put = self.appender.put
        self.put_batch = self.appender.put_batch
        self.get_message = self.getter.get_message

    def _make_index(self) -> Index | None:
        config = self.config
        if not config.message_index_enable:
            return None
        return Index(
            self._files, self._maps, self.clock, self.layout.index, config.max_hash_slot_num, config.max_index_num
        )

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
            self.checkpoints.load()
            self.deleted.load()
            clean = not self._files.exists(self.layout.abort)
            recovery = Recovery(
                self._files, self.layout, self.log, self.queues, self.index, self.dispatcher, self.checkpoint,
                self.deleted, clean, self.config.check_crc_on_recover,
            )  # fmt: skip
            self.report = recovery.run()
            if not self.report.clean:
                make_safe(self._files, self.layout, self.log, self.queues, self.report.start_offset)
            self.getter.check_below = self.report.end_offset
        except BaseException:
            self._lock.release()
            raise

    def _hide_unconfirmed(self) -> None:
        """Take the records back from the queues that not every replica was known to have."""
        limit = min(self.checkpoint.confirm_offset, self.report.end_offset)
        hide_behind(self._files, self.log, self.queues, self.dispatcher, limit)
        self.readable.limit(limit)

    def _start(self, background: bool) -> None:
        end = self.report.end_offset
        self.appender.place(None, end - end % self.log.file_size, end % self.log.file_size, 0)
        self.appender.store_timestamp = self.dispatcher.store_timestamp
        self.flusher.begin_at(end, self.dispatcher.store_timestamp)
        # An index may have been safe before the messages in it were, and damage may have cut what was safe.
        if self.checkpoint.lower(end, self.dispatcher.store_timestamp):
            self._files.write_bytes(self.layout.checkpoint, self.checkpoint.encode())
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
        whole = noted and not self.held
        if whole and self.flushed_offset == self.dispatcher.dispatched_offset == self.log.max_offset:
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
        self.readable.go_on()
        self.log.make_room(size)

    def dispatch_failed(self, error: Exception) -> None:
        """Called by the appender or the owner: what is safe in the log is dispatched when that works again."""
        self.readable.stall(error)

    def dispatch_ready(self) -> None:
        """Dispatch what became readable since the last time; the owner's thread calls it. Raises StoreFull."""
        self.readable.dispatch()

    # -- safety

    @property
    def flushed_offset(self) -> int:
        return self.flusher.flushed_offset

    def when_appended(self, hook: Callable[[], object] | None) -> None:
        """Have `hook` called after every put, or nobody. It must be quick: the sender waits for it."""
        wake = self.flusher.wake if self.config.sync_flush else None
        if wake is None or hook is None:
            self.appender.on_append = hook or wake
            return

        def both() -> None:
            wake()
            hook()

        self.appender.on_append = both

    @property
    def on_progress(self) -> Callable[[], object] | None:
        return self.flusher.on_progress

    @on_progress.setter
    def on_progress(self, hook: Callable[[], object] | None) -> None:
        self.flusher.on_progress = hook

    def flush(self) -> None:
        """Flush the log now, on this thread, and dispatch what that made readable."""
        self.flusher.flush()
        self.dispatch_ready()

    def fail(self, failure: FlushFailed) -> None:
        """Something that was promised cannot be kept, for good: from now on every put is refused. From any thread."""
        self.failure = self.failure or failure
        self.appender.status = PutStatus.SERVICE_NOT_AVAILABLE
        _log.critical("%s", failure)
        with suppress(OSError):  # it is for the next process on this machine, see `rewrite`
            self._files.write_bytes(self.layout.abort, SYNC_FAILED, sync=False)

    def has_failed(self) -> bool:
        return self.failure is not None

    def disk_answers(self) -> bool:
        """Whether what is written can be thought to last: no sync has failed, and none waits for long."""
        return self.failure is None and not self.flusher.hangs(DISK_SECONDS)

    @property
    def checkpoint(self) -> Checkpoint:
        """What is known to be safe; `write_checkpoint` flushes and writes it down."""
        return self.checkpoints.checkpoint

    # -- topics and queues

    def topics(self) -> list[str]:
        return self.queues.topics()

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.min_offset

    def files_needed(self) -> int:
        """Descriptors that this process must leave to its store: those open now, maps to come, files that grow."""
        return open_files() + self.queues.maps.room + GROWTH_FILES

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
        deletion = self.deletion(*topics)
        deletion.write()
        deletion.finish()
        deletion.sync()

    def deletion(self, *topics: str, at: Deletion | None = None) -> TopicDeletion:
        """For an owner that does not wait for the disk: the steps one by one. `at` is where a master deleted them."""
        return TopicDeletion(
            topics, self.deleted, self.queues, self.exts, self._files, self.layout.consume_queues,
            at or Deletion(self.log.max_offset, self.appender.store_timestamp), self.log.min_offset,
            is_past=at is not None,
        )  # fmt: skip
