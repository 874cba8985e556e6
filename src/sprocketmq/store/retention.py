"""Making room: old log files go, and with them what points into them.

Files are expired when nobody has written to them for `fileReservedTime` hours. They go at the hours of `deleteWhen`, at
once when the disk is over `diskMaxUsedSpaceRatio` or somebody asked, and unexpired ones go as well, oldest first, over
`diskSpaceCleanForciblyRatio`. Over `diskSpaceWarningLevelRatio` the store takes no messages until there is room again;
reading goes on. The file that is written, and one that is not flushed, always stay.

After a log file every queue has to be looked at, and there may be a hundred thousand: that is done some milliseconds at
a time, by `go_on`. Until a queue's turn comes, the entries whose records went with the file are passed over by readers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.append import Appender, PutStatus
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.log.flush import LogFlusher
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.ends import find_min
from sprocketmq.store.queue.ext import ExtTable
from sprocketmq.store.queue.table import QueueTable

_HOUR_MS = 3_600_000
_SET_MS = 60_000  # a wall clock that is off by more from one round to the next was set
_MANUAL_ROUNDS = 20
_SLICE_SECONDS = 0.002

_log = logging.getLogger("sprocketmq.store.retention")


class Cleaner:
    def __init__(
        self, config: StoreConfig, files: Files, clock: Clock, layout: Layout, log: CommitLog, queues: QueueTable,
        index: Index | None, appender: Appender, flusher: LogFlusher, has_failed: Callable[[], bool],
    ) -> None:  # fmt: skip
        """A store that `has_failed` takes no messages whatever room the disk has."""
        self.config = config
        self._files = files
        self._clock = clock
        self._ahead_ms = clock.now_ms() - clock.monotonic_ms()
        self._set_ms: int | None = None  # when the wall clock was seen to be set
        self._layout = layout
        self._log = log
        self._queues = queues
        self._index = index
        self._appender = appender
        self._flusher = flusher
        self._has_failed = has_failed
        self._manual_rounds = 0
        self.disk_full = False
        self.exts: ExtTable | None = None
        self._sweep: Iterator[None] | None = None
        self._sweep_again = False

    def delete_soon(self) -> None:
        """An operator asked for expired files to go now rather than at the appointed hour."""
        self._manual_rounds = _MANUAL_ROUNDS

    def run(self) -> list[Path]:
        """One round; the owner calls it every `cleanResourceInterval`. Returns the log files that went: first that is
        made durable by `sync`, then what pointed into them may be dropped.
        """
        self._follow_clock()
        used = self.commit_log_ratio()
        self._watch_disk(used)
        return self._delete_expired(used)

    def sync(self, removed: list[Path]) -> None:
        """From any thread, for it waits for the disk."""
        for folder in {path.parent for path in removed}:
            self._files.sync_dir(folder)

    def drop_what_points_nowhere(self) -> None:
        """Begin to drop what log files that went have left in queues and index."""
        self._sweep_again = True
        self.go_on()

    @property
    def busy(self) -> bool:
        """Whether there is something left for `go_on`."""
        return self._sweep is not None or self._sweep_again

    def go_on(self) -> None:
        """Do so for some milliseconds."""
        until = time.monotonic() + _SLICE_SECONDS
        while self.busy:
            if self._sweep is None:
                self._sweep, self._sweep_again = self._drops(), False
            for _ in self._sweep:
                if time.monotonic() >= until:
                    return
            self._sweep = None

    def commit_log_ratio(self) -> float:
        """How full the fullest partition of the log is."""
        return max(self.ratio(folder) for folder in self._layout.commit_log_dirs)

    def consume_queue_ratio(self) -> float:
        return self.ratio(self._layout.consume_queues)

    def ratio(self, folder: Path) -> float:
        """How full the partition of a folder is, from 0 to 1."""
        used, total = self.usage(folder)
        return used / total if total else 0.0

    def usage(self, folder: Path) -> tuple[int, int]:
        """Bytes used and in all, of the partition where a folder is or will be."""
        while not self._files.exists(folder) and folder != folder.parent:
            folder = folder.parent
        return self._files.disk_usage(folder)

    def _watch_disk(self, used: float) -> None:
        warning = min(max(self.config.disk_space_warning_level_ratio, 35), 90) / 100
        if used > warning and not self.disk_full:
            self.disk_full = True
            _log.error("the disk is %d%% full: no messages are taken", used * 100)
            if self._appender.status == PutStatus.PUT_OK:
                self._appender.status = PutStatus.SERVICE_NOT_AVAILABLE
        elif used <= warning and self.disk_full:
            self.disk_full = False
            self._appender.status = PutStatus.PUT_OK
            if self._has_failed():  # asked afterwards: it may fail at this moment, on another thread
                self._appender.status = PutStatus.SERVICE_NOT_AVAILABLE

    def _delete_expired(self, used: float) -> list[Path]:
        config = self.config
        forcibly = min(max(config.disk_space_clean_forcibly_ratio, 30), 85) / 100
        force = config.clean_file_forcibly_enable and used > forcibly
        if not (force or self._is_time(used)):
            return []
        removed: list[Path] = []
        while len(removed) < config.delete_file_batch_max and self._may_go(force):
            try:
                removed.append(self._log.remove_first())
            except OSError as error:
                _log.error("a log file could not be deleted: %s", error)
                break
        return removed

    def _is_time(self, used: float) -> bool:
        if self._manual_rounds:
            self._manual_rounds -= 1
            return True
        hour = datetime.fromtimestamp(self._clock.now_ms() / 1000).hour
        return hour in self.config.delete_hours or used > self.config.disk_max_used_space_ratio / 100

    def _may_go(self, force: bool) -> bool:
        bases = self._log.bases
        if len(bases) < 2 or bases[0] + self._log.file_size > self._flusher.flushed_offset:
            return False
        expires = self._files.modified_ms(self._log.path_of(bases[0])) + self.config.file_reserved_time * _HOUR_MS
        return force or (expires < self._clock.now_ms() and self._believes_clock())

    def _follow_clock(self) -> None:
        passed = self._clock.monotonic_ms()
        ahead = self._clock.now_ms() - passed
        if abs(ahead - self._ahead_ms) > _SET_MS:
            self._set_ms = passed
        self._ahead_ms = ahead

    def _believes_clock(self) -> bool:
        """One that was set may be wrong for a moment: by its time nothing is deleted for an hour."""
        return self._set_ms is None or self._clock.monotonic_ms() - self._set_ms > _HOUR_MS

    def _drops(self) -> Iterator[None]:
        """Queue files and index files whose every record the log no longer has; the last of each stays. In steps."""
        failed, last = 0, ""
        for drop in chain(self._queue_drops(), self._index_drops()):
            try:
                drop()
            except OSError as error:
                failed, last = failed + 1, str(error)
            yield
        if failed:
            _log.error("%d queues and index files could not be rid of old files, the last one: %s", failed, last)

    def _queue_drops(self) -> Iterator[Callable[[], None]]:
        for queue in self._queues:
            yield partial(self._trim, queue)

    def _trim(self, queue: ConsumeQueue) -> None:
        find_min(queue, self._log.min_offset)
        queue.remove_files_below(queue.min_offset)
        if self.exts is not None:
            self.exts.trim(queue)

    def _index_drops(self) -> Iterator[Callable[[], None]]:
        index = self._index
        if index is not None:
            for name, header in index.headers()[:-1]:
                if header.end_offset < self._log.min_offset:
                    yield partial(index.remove, name)

    def clean_expired_queues(self) -> int:
        """Forget queues whose last record is older than the log; returns how many. They begin again at 0.

        Those of the delay levels stay: how far each has been delivered counts from their offsets. So does one with a
        message that waits for its flush.
        """
        expired = [queue for queue in self._queues if self._is_expired(queue)]
        for queue in expired:
            self._queues.forget_queue(queue)
        return len(expired)

    def _is_expired(self, queue: ConsumeQueue) -> bool:
        cursor = queue.cursor
        if queue.topic == SCHEDULE_TOPIC or cursor.next_offset > cursor.max_offset:
            return False
        return 0 <= cursor.max_commit_offset <= self._log.min_offset
