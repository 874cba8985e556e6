"""Getting the log onto the disk, on a thread that never blocks the store's owner.

ASYNC_FLUSH  every interval, when enough pages are waiting or the thorough interval has passed
with a transient buffer, the same, after what is buffered was copied to the file
SYNC_FLUSH   as soon as something is written; one sync answers everyone who waits below it (group commit)

A sync that fails is final: the kernel may have dropped the pages, so a second try would prove nothing. The store takes
no more messages and nobody who waits is answered with success. The same holds for whatever else ends a thread here. A
sync that was not even tried, for want of a descriptor, is tried again.

`on_progress` is called on the flush thread whenever more of the log became safe (or the flush failed): an event loop
hops back to its own thread from there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sprocketmq.errors import FlushFailed
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.pages import NO_SPACE, PAGE
from sprocketmq.store.files.passing_failure import PassingFailure, can_pass
from sprocketmq.store.log.commitlog import CommitLog, LogSegment

_RETRY_SECONDS = 0.1
#: Who writes wakes the thread. Should that fail, what is written is safe this much later.
_LONGEST_SLEEP_SECONDS = 1.0

_log = logging.getLogger("sprocketmq.store.log")


class LogFlusher:
    def __init__(
        self, files: Files, log: CommitLog, config: StoreConfig, fail: Callable[[FlushFailed], object]
    ) -> None:
        self._files = files
        self._log = log
        self._config = config
        self._fail = fail
        self.flushed_offset = 0
        self.committed_offset = 0
        self.flushed_timestamp = 0
        self.failure: FlushFailed | None = None
        self.on_progress: Callable[[], object] | None = None
        self._syncing_since: float | None = None
        self._moved = threading.Condition()
        self._wake = threading.Event()
        self._woken = False  # since the thread has looked last
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_flush = time.monotonic()
        self._demanded = False
        self._trouble = PassingFailure("the log is not flushed")
        #: Who stops the store, or saves a progress, flushes beside the thread; who cuts the log keeps all others away.
        self.flushing = threading.RLock()

    def begin_at(self, offset: int, store_timestamp: int) -> None:
        """What recovery found is on disk."""
        self.flushed_offset = self.committed_offset = offset
        self.flushed_timestamp = store_timestamp

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="flush-commitlog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after a last flush."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        if self.failure is None:
            self.flush()

    def abandon(self) -> None:
        """End the thread without a last flush."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        if not self._woken:  # asked after every append, and much cheaper than asking or setting the event
            self._woken = True
            self._wake.set()

    def flush_soon(self) -> None:
        """Have the thread flush what is written now, however little it is."""
        self._demanded = True
        self._wake.set()

    def wait(self, offset: int, timeout_ms: int) -> bool:
        """Block until the log is flushed up to `offset`; False when it took longer. Raises FlushFailed."""
        with self._moved:
            self._moved.wait_for(lambda: self.flushed_offset >= offset or self.failure is not None, timeout_ms / 1000)
        if self.flushed_offset >= offset:
            return True
        if self.failure is not None:
            raise self.failure
        return False

    def _run(self) -> None:
        try:
            self._flush_until_stopped()
        except Exception as error:  # noqa: BLE001 - a thread that ends without a word would go unseen
            _log.exception("the thread that flushes the log has ended")
            self._failed(error)

    def _flush_until_stopped(self) -> None:
        config = self._config
        interval = config.commit_interval_commit_log if config.transient_buffer else config.flush_interval_commit_log
        rest = _LONGEST_SLEEP_SECONDS if config.sync_flush else interval / 1000
        while not self._stopping.is_set() and self.failure is None:
            pause = _RETRY_SECONDS if self._trouble else rest
            self._wake.wait(pause)
            self._wake.clear()
            self._woken = False  # after the event, or a wake between the two would be lost with those that follow it
            if self._stopping.is_set():
                return
            if config.sync_flush:
                self.flush()
            else:
                self._flush_when_due()

    def _flush_when_due(self) -> None:
        config = self._config
        if config.transient_buffer:
            self.commit()
        waiting = self._log.max_offset - self.flushed_offset
        if self._demanded or self._trouble:
            self._demanded = False
            self.flush()
            return
        overdue = (time.monotonic() - self._last_flush) * 1000
        if (
            waiting >= max(1, config.flush_commit_log_least_pages * PAGE)
            and overdue >= config.flush_interval_commit_log
        ) or (waiting and overdue >= config.flush_commit_log_thorough_interval):
            self.flush()

    def commit(self) -> None:
        """Copy what is in the transient buffer to the file, where readers find it."""
        with self.flushing:
            self._commit()

    def _commit(self) -> bool:
        upto = self._log.max_offset
        try:
            for segment in list(self._log.unflushed):
                self._log.commit(segment, upto)
        except OSError as error:
            self._refused(error, can_pass(error) or error.errno in NO_SPACE)  # it is all in the buffer still
            return False
        if upto > self.committed_offset:
            self.committed_offset = upto
            self._progress()
        return True

    def flush(self) -> None:
        """Sync everything that is written now."""
        with self.flushing:
            self._flush()

    def _flush(self) -> None:
        self._last_flush = time.monotonic()
        timestamp = self._log.store_timestamp
        if self._config.transient_buffer:
            if not self._commit():
                return
            upto = self.committed_offset  # what came meanwhile is in the buffer alone
        else:
            upto = self._log.max_offset
        if self.failure is not None or upto <= self.flushed_offset:
            return
        self._syncing_since = time.monotonic()
        try:
            for segment in list(self._log.unflushed):
                self._sync(segment, upto)
                self._log.flushed(segment, upto)
        except OSError as error:
            self._refused(error, can_pass(error))
            return
        finally:
            self._syncing_since = None
        self._trouble.end()
        self.flushed_offset = upto
        self.flushed_timestamp = timestamp
        self._progress()

    def hangs(self, seconds: float) -> bool:
        """Whether the disk has not answered a sync for so long. From any thread."""
        since = self._syncing_since
        return since is not None and time.monotonic() - since > seconds

    def _sync(self, segment: LogSegment, upto: int) -> None:
        self._log.sync(segment, upto)
        if segment.is_new:
            self._files.sync_dir(segment.file.path.parent)
            self._files.sync_dir(segment.file.path.parent.parent)
            segment.is_new = False

    def _refused(self, error: OSError, passes: bool) -> None:
        if passes:
            self._trouble.begin(error)
        else:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        reason = error if isinstance(error, OSError) else repr(error)
        self.failure = FlushFailed(f"the log could not be flushed: {reason}; no more messages are taken")
        self._fail(self.failure)
        self._progress()

    def _progress(self) -> None:
        with self._moved:
            self._moved.notify_all()
        if self.on_progress is not None:
            try:
                self.on_progress()
            except Exception:  # noqa: BLE001 - it is the flush that counts
                _log.exception("nobody was told that the log is flushed to %d", self.flushed_offset)


class QueueFlusher:
    """Queues and index follow the log at leisure, for they can be built again from it; then the checkpoint moves."""

    def __init__(
        self, config: StoreConfig, flush: Callable[[int], object], checkpoint: Callable[[], object],
        fail: Callable[[FlushFailed], object],
    ) -> None:  # fmt: skip
        """A `checkpoint` that raises OSError is written at the next interval: until then the one before holds."""
        self._config = config
        self._flush = flush
        self._checkpoint = checkpoint
        self._fail = fail
        self._trouble = PassingFailure("the checkpoint is not written")
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_thorough = time.monotonic()
        self.flushing = threading.Lock()  # held by who cuts the queues, too

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="flush-consumequeue", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._flush_until_stopped()
        except Exception as error:  # noqa: BLE001 - as above
            _log.exception("the thread that flushes the queues has ended")
            self._fail(FlushFailed(f"the queues could not be flushed: {error!r}; no more messages are taken"))

    def _flush_until_stopped(self) -> None:
        while not self._stopping.wait(self._config.flush_interval_consume_queue / 1000):
            overdue = (time.monotonic() - self._last_thorough) * 1000
            with self.flushing:
                if overdue >= self._config.flush_consume_queue_thorough_interval:
                    self.flush_all()
                else:
                    self._flush(self._config.flush_consume_queue_least_pages)

    def flush_all(self) -> None:
        try:
            self._checkpoint()
        except OSError as error:
            self._trouble.begin(error)
            return
        self._trouble.end()
        self._last_thorough = time.monotonic()
