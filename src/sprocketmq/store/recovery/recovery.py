"""Opening a store: where does the log end, and do the queues and the index agree with it?

After a clean stop the last record that a queue knows is looked up, and what follows it is dispatched. After a crash
the log is walked from the last file that was whole at the checkpoint (or from where the index ends, if that is
earlier), every record is checked and dispatched again, which changes nothing where its entries already are whole.

Where the walk meets something that is no record, the log has ended there, with two exceptions:

- a later record that the checkpoint and its queue vouch for proves damage in the middle. Nothing is cut: what is
  damaged is reported and passed over;
- whole records behind an end that nothing vouches for are cut as RocketMQ cuts them, but set aside first.

A topic that was deleted stays so: its records are passed over, and queue entries that came back are dropped.

What is cut is also cleared on disk and synced before anything is served, in the log, the queues and the index: a
second crash must not find it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from sprocketmq.protocol.record.record import BLANK, NO_MAGIC, REASONS, WHOLE
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.files.checkpoint import Checkpoint
from sprocketmq.store.files.deleted_topics import DeletedTopics, Deletion
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.index.index import Index
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.ends import begins_late, find_both_ends, find_min
from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.queue.table import QueueTable
from sprocketmq.store.recovery.cut import cut_queues, found_from, set_aside_behind
from sprocketmq.store.recovery.quarantine import Quarantined
from sprocketmq.store.recovery.resync import FoundRecord, record_at, topic_and_place

_log = logging.getLogger("sprocketmq.store.recovery.recovery")


class RecoveryDamage(NamedTuple):
    """Bytes of the log in the middle of good records, from one offset up to another."""

    commit_offset: int
    end: int
    reason: str


@dataclass(slots=True)
class RecoveryReport:
    clean: bool = True
    start_offset: int = 0
    end_offset: int = 0
    damaged: list[RecoveryDamage] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    cut_queue_entries: int = 0


class Recovery:
    def __init__(
        self, files: Files, layout: Layout, log: CommitLog, queues: QueueTable, index: Index | None,
        dispatcher: Dispatcher, checkpoint: Checkpoint, deleted: DeletedTopics, clean: bool, check_crc: bool,
    ) -> None:  # fmt: skip
        self._files = files
        self._layout = layout
        self._log = log
        self._queues = queues
        self._index = index
        self._dispatcher = dispatcher
        self._checkpoint = checkpoint
        self._deleted = deleted
        self._check_crc = check_crc
        self._queues_lost = False
        #: Queues that end with a file, and where.
        self._full: dict[ConsumeQueue, int] = {}
        self.report = RecoveryReport(clean=clean)
        self._stopped_cleanly = clean

    def run(self) -> RecoveryReport:
        self._load()
        if not self._log.bases:
            self._forget_everything()
            self._deleted.settle(0, 0)
            return self.report
        start = min(self._start(), self._drop_deleted())
        self._vouch_for_index()
        self.report.start_offset = start
        end = self._walk(start)
        self._find_lost_ends()
        self._agree(end)
        self._settle_deletions(end)
        for queue in self._queues:
            if queue.cursor.dirty or queue.min_offset > queue.max_offset:  # else it is as it was when it was loaded
                find_min(queue, self._log.min_offset)
            queue.cursor.next_offset = queue.max_offset
        self._queues.complete = True
        self.report.end_offset = end
        self._say()
        return self.report

    def _load(self) -> None:
        for path, size in self._log.load():
            _log.error("%s has lost its end: %d bytes of %d are there", path, size, self._log.file_size)
            self.report.clean = False
        for before, base in pairwise(self._log.bases):
            if before + self._log.file_size != base:
                _log.error("the log has no file from %d to %d", before + self._log.file_size, base)
        self._queues.load()
        if self._index is not None:
            self._index.load()
        self._find_queue_ends()
        if self.report.clean:
            self._find_torn_queues()
        self._queues_lost = all(queue.max_offset == 0 for queue in self._queues)

    def _find_torn_queues(self) -> None:
        """A queue that a clean stop left whole and that lacks entries now is built again; one that ended early would
        give its offsets out twice.
        """
        for queue in self._queues:
            if queue.torn is None and self._log.min_offset == 0 and begins_late(queue, 0):
                queue.torn = queue.path_of(queue.bases[0])  # nothing was ever cleaned
            if queue.torn is not None:
                _log.error(
                    "%s is damaged, or files of it or before it are missing; its queue is built again", queue.torn
                )
                queue.gap = True
                self.report.clean = False

    def _find_queue_ends(self) -> None:
        safe_below = None if self.report.clean else self._checkpoint_file()
        for queue in self._queues:
            find_both_ends(queue, self._log.min_offset, safe_below)

    def _forget_everything(self) -> None:
        """Without a log, queues and index point nowhere."""
        for topic in self._queues.topics():
            self._queues.forget(topic)
        if self._index is not None:
            for name in list(self._index.names):
                self._index.remove(name)

    # -- topics that were deleted

    def _drop_deleted(self) -> int:
        """Empty the queues that still have entries of a deleted topic; from where on they are to be built again."""
        begin = self._log.max_known
        for topic, deletion in self._deleted.table.items():
            for queue in self._queues.of_topic(topic).values():
                if self._is_deleted(queue, deletion):
                    queue.empty()
                    base = self._log.base_of(deletion.commit_offset)
                    begin = min(begin, self._log.min_offset if base is None else base)
        return begin

    def _is_deleted(self, queue: ConsumeQueue, deletion: Deletion) -> bool:
        """Whether the queue's first entry is of the deleted topic: entries follow the log."""
        entry = queue.raw_entry(min(queue.min_offset, queue.max_offset - 1))
        if entry is None or entry.is_filler:
            return False
        base = self._log.base_of(entry.commit_offset)
        view = None if base is None else self._log.view_of(base)
        found = None if base is None or view is None else record_at(view, base, entry.commit_offset - base)
        timestamp = (
            0
            if base is None or view is None or found is None
            else (topic_and_place(view, entry.commit_offset - base)[4])
        )
        return deletion.covers(entry.commit_offset, timestamp)

    def _settle_deletions(self, end: int) -> None:
        """New records come from `end` on. A deleted topic of which nothing came again is not there at all."""
        for topic in self._deleted.table:
            if all(queue.max_offset == 0 for queue in self._queues.of_topic(topic).values()):
                self._queues.forget(topic)
        self._deleted.settle(self._log.min_offset, end)
        self._queues.deletions_changed()

    # -- where to begin

    def _start(self) -> int:
        if self.report.clean:
            start = self._behind_last_queued()
            if start is not None:
                return min(start, self._index_start(), self._behind_full_queues())
            self.report.clean = False
            self._find_queue_ends()
        self._drop_unsafe_indexes()
        return min(self._checkpoint_file(), self._index_start())

    def _behind_last_queued(self) -> int | None:
        """Behind the last record the queues know, the log's beginning when they know none; None when it is gone."""
        last = max(self._queues, key=lambda queue: queue.cursor.max_commit_offset, default=None)
        if last is None or last.cursor.max_commit_offset < 0:
            return self._log.min_offset
        entry = last.raw_entry(last.max_offset - 1)
        base = None if entry is None else self._log.base_of(entry.commit_offset)
        view = None if base is None else self._log.view_of(base)
        if entry is None or base is None or view is None:
            return None
        found = record_at(view, base, entry.commit_offset - base)
        if found is None or found.size != entry.size:
            return None
        self._dispatcher.store_timestamp = topic_and_place(view, entry.commit_offset - base)[4]
        return entry.commit_offset + entry.size

    def _behind_full_queues(self) -> int:
        """Behind the first record that a queue whose last file is full may have lost with the file after it. A queue
        of the default size is full once in 300,000 messages. Only the last file of the log is looked through: a queue
        that has been full for long must not make every start a walk through the whole log.
        """
        begin = max(self._log.bases)
        self._full = {
            queue: queue.max_offset
            for queue in self._queues
            if queue.is_full and queue.cursor.max_commit_offset >= begin
        }
        ends = (queue.cursor.max_commit_offset for queue in self._full)
        return max(min(ends, default=self._log.max_known), self._log.min_offset)

    def _find_lost_ends(self) -> None:
        for queue, end in self._full.items():
            if queue.max_offset > end:
                path = queue.path_of(end * ENTRY_SIZE)
                _log.error("%s is missing; the entries of its queue from %d on are built again", path, end)

    def _checkpoint_file(self) -> int:
        """The last file whose first record was safe, with all before it, at the checkpoint; else the first."""
        limit = self._checkpoint.recovery_timestamp
        for base in reversed(self._log.bases):
            view = self._log.view_of(base)
            if view is None or record_at(view, base, 0) is None:
                continue
            timestamp = topic_and_place(view, 0)[4]
            if 0 < timestamp <= limit:
                return base
        return self._log.min_offset

    def _index_start(self) -> int:
        """The last record the index has; what comes behind it is to be indexed."""
        if self._index is None:
            return self._log.max_known
        if not self._index.names:
            return self._log.min_offset
        if self.report.clean:
            return self._log.max_known
        end = self._index.header(self._index.names[-1]).end_offset
        return end if self._log.base_of(end) is not None else self._log.min_offset

    def _drop_unsafe_indexes(self) -> None:
        """Files that changed after the checkpoint may have lost any of their pages; they are built again.

        One without entries may be what is left of a file with the keys of the whole log, which an earlier recovery
        wrote: where no other file is kept, all of the log is indexed again.
        """
        if self._index is None:
            return
        for name, header in self._index.headers():
            is_safe = self._checkpoint.vouches_for_index(header.end_offset, header.end_timestamp)
            if not is_safe or header.index_count <= 1:
                self._index.remove(name)

    def _vouch_for_index(self) -> None:
        """The checkpoint vouches for the index files that are kept, and for none that is written from here on."""
        if self._index is None:
            return
        check = self._checkpoint
        headers = [header for _name, header in self._index.headers()]
        kept = [each for each in headers if check.vouches_for_index(each.end_offset, each.end_timestamp)]
        newest = max((header.end_timestamp for header in kept), default=0)
        last = max((header.end_offset for header in kept), default=0)
        if (newest, last) != (check.index_msg_timestamp, check.index_offset):
            check.index_msg_timestamp, check.index_offset = newest, last
            self._files.write_bytes(self._layout.checkpoint, check.encode())

    # -- the walk

    def _walk(self, start: int) -> int:
        self._queues.complete = start <= self._log.min_offset
        self._dispatcher.mending = 0 if self.report.clean else self._queues.file_size
        end = self._walk_from(start)
        self._dispatcher.mending = 0
        if any(queue.gap for queue in self._queues):
            self._rebuild_queues()
        return end

    def _rebuild_queues(self) -> None:
        """Queues that lack entries from before the walk are built again from the log's first record. One of which the
        log has nothing is not there.
        """
        lacking = [queue for queue in self._queues if queue.gap]
        for queue in lacking:
            queue.gap = False
            queue.empty()
        self._queues.complete = True
        self._walk_from(self._log.min_offset)
        for queue in lacking:
            if not queue.bases and not queue.cursor.held:
                self._queues.forget_queue(queue)

    def _walk_from(self, at: int) -> int:
        """Dispatch the log from a record on; returns its end."""
        log, dispatcher = self._log, self._dispatcher
        dispatcher.dispatched_offset = at
        while True:
            base = log.base_of(at)
            view = None if base is None else log.view_of(base)
            kind = NO_MAGIC
            if base is not None and view is not None:
                kind = dispatcher.walk(view, base, at - base, log.file_size, self._check_crc)
                at = dispatcher.dispatched_offset
                if kind in (WHOLE, BLANK) and base + log.file_size in log.bases:
                    at = dispatcher.dispatched_offset = base + log.file_size
                    continue
            beyond = self._beyond(at, REASONS.get(kind, "a missing file"))
            if beyond is None:
                return at
            at = dispatcher.dispatched_offset = beyond

    def _beyond(self, at: int, reason: str) -> int | None:
        """Where the log goes on behind something that is no record; None when it has ended there."""
        proof = False
        first: FoundRecord | None = None
        for found in found_from(self._files, self._log, at + 1):
            first = first or found
            verdict = self._vouched(found)
            if verdict is not None:
                proof = verdict
                break
        if first is None:
            return None
        if not proof:
            self._set_aside(at, reason)
            return None
        damage = RecoveryDamage(at, first.commit_offset, reason)
        if damage not in self.report.damaged:
            self.report.damaged.append(damage)
        return first.commit_offset

    def _vouched(self, found: FoundRecord) -> bool | None:
        """Whether a record was there at the checkpoint; None when it proves nothing.

        Its place, its store time and its queue's entry must all say so: an earlier recovery may have left an old record
        behind the end of the log. Only where all queues are gone, place and time have to do.
        """
        base = self._log.base_of(found.commit_offset)
        view = None if base is None else self._log.view_of(base)
        if base is None or view is None:
            return None
        topic, queue_id, queue_offset, sys_flag, timestamp = topic_and_place(view, found.commit_offset - base)
        if not is_queued(sys_flag):
            return None
        if not self._checkpoint.vouches_for(found.commit_offset + found.size, timestamp):
            return False
        if timestamp < self._dispatcher.store_timestamp:
            return None
        queue = self._queues.find(topic, queue_id)
        entry = None if queue is None else queue.raw_entry(queue_offset)
        if self._queues_lost or (entry is not None and entry.commit_offset == found.commit_offset):
            return True
        return None

    def _set_aside(self, at: int, reason: str) -> None:
        self.report.quarantined += set_aside_behind(self._files, self._layout, self._log, at, reason)

    # -- making queues, index and log agree

    def _agree(self, end: int) -> None:
        self.report.cut_queue_entries += cut_queues(self._files, self._queues, end, clear_all=not self.report.clean)
        self._log.cut(end)
        if self._index is not None and any(header.end_offset >= end for _name, header in self._index.headers()):
            self._rebuild_index(end)

    def _rebuild_index(self, end: int) -> None:
        index = self._index
        if index is None:
            return
        for name, header in index.headers():
            if header.end_offset >= end:
                index.remove(name)
        self._vouch_for_index()
        self.report.clean = False
        self._walk_from(self._index_start())

    def _say(self) -> None:
        if self.report.cut_queue_entries:
            # After a crash these may be messages that were never promised; after a clean stop all of them were.
            _log.log(
                logging.ERROR if self._stopped_cleanly else logging.WARNING,
                "the log ends at %d, in %s; %d entries of queues point behind it, where no message is, and go",
                self.report.end_offset, self._path_of(self.report.end_offset), self.report.cut_queue_entries,
            )  # fmt: skip
        for damage in self.report.damaged:
            _log.error("the log is damaged from %d to %d (%s); its neighbours are served", *damage)
        for kept in self.report.quarantined:
            _log.error(
                "the log ends at %d; %d whole records behind it were set aside in %s",
                self.report.end_offset, kept.records, kept.path,
            )  # fmt: skip

    def _path_of(self, end: int) -> object:
        return self._log.path_of(end - end % self._log.file_size)
