"""A store directory, seen and never changed.

The directory may belong to a broker that runs, was stopped, or died. What a crash left is shown as it would be after
recovery, which is worked out in memory: the log ends after its last whole record, queue entries beyond are gone, and
those that were never written are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from sprocketmq.errors import StoreCorrupt, StoreError
from sprocketmq.protocol.record.hashing import index_key_hash
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.config import DEFAULT_DELAY_LEVELS, parse_delay_levels
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.files.checkpoint import Checkpoint, decode_checkpoint
from sprocketmq.store.files.layout import is_index_name
from sprocketmq.store.queue.ext_format import MAX_UNIT_SIZE, ExtUnit, decode_unit, ext_offset
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.view import configs, recovery, sizes
from sprocketmq.store.view.index import IndexView, find
from sprocketmq.store.view.listing import list_queues, open_log, queue_files
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.queue import QueueView
from sprocketmq.store.view.redispatch import Redispatch
from sprocketmq.store.view.reindex import Indexes, Reindex
from sprocketmq.store.view.source import ByteSource, checked, open_source, read_whole

FOREVER = (1 << 63) - 1
#: A query by key answers no more than this, as the broker does.
MAX_RESULTS = 64


class StoreView:
    """Read-only. `log_begin` and `log_end` bound the records; `queues` holds every queue by topic and id."""

    def __init__(
        self,
        root: Path | str | ByteSource,
        given: sizes.Sizes | None = None,
        delays: tuple[int, ...] | None = None,
    ) -> None:
        given = given or sizes.Sizes()
        self.source = open_source(root) if isinstance(root, Path | str) else root
        self.crashed = any(entry.name == "abort" for entry in self.source.entries(""))
        self.stored_checkpoint = decode_checkpoint(read_whole(self.source, "checkpoint") or b"")
        self.delays = delays or parse_delay_levels(DEFAULT_DELAY_LEVELS)
        self.deleted = configs.deletions(self.source)
        self.log = open_log(self.source, given.commit_log)
        self.queues = self._open_queues(given)
        self.index_paths = self._index_files()
        self.index_shape = sizes.index_shape(self.source, self.index_paths, given)
        self._kept_indexes = self._open_indexes()
        self.damage: list[Damage] = []
        self._again = Redispatch(
            self.log, self._known_queue, self._new_queue, self.deleted, self.delays, self.queue_file_size
        )
        self._recover()

    @property
    def log_begin(self) -> int:
        return self.log.min_offset

    @cached_property
    def reindex(self) -> Reindex:
        """The index files; those of a crashed store are worked out when they are first asked for."""
        found = Reindex(self._kept_indexes, self.index_shape, self.stored_checkpoint.logics_msg_timestamp)
        records = (found for found in self.read_log(self._start) if isinstance(found, Record))
        found.put_all(record for record in records if record.commit_offset >= self._undispatched)
        return found

    @property
    def indexes(self) -> Indexes:
        return self.reindex.indexes

    @property
    def checkpoint(self) -> Checkpoint:
        """As recovery would leave it."""
        return replace(self.stored_checkpoint, logics_msg_timestamp=self.reindex.queued_timestamp)

    def queue(self, topic: str, queue_id: int) -> QueueView:
        found = self.queues.get((topic, queue_id))
        if found is None:
            raise StoreError(f"no queue {queue_id} of topic {topic}")
        return found

    def read_log(self, begin: int | None = None, end: int | None = None) -> Iterator[Record | Damage]:
        """Every record in commit order; damage among them is reported in its place."""
        begin = self.log_begin if begin is None else begin
        end = self.log_end if end is None else min(end, self.log_end)
        return self.log.walk(begin, end, skip_damage=True)

    def read_queue(
        self, topic: str, queue_id: int, begin: int = 0, end: int = FOREVER
    ) -> Iterator[tuple[int, QueueEntry, Record | StoreCorrupt]]:
        """The queue's messages with offset in [begin, end), each with its entry, or with why it cannot be read."""
        for offset, entry in self.queue(topic, queue_id).entries(begin, end):
            if entry.is_filler:
                continue
            try:
                yield offset, entry, self.log.record(entry.commit_offset, entry.size)
            except StoreCorrupt as error:
                yield offset, entry, error

    def find_key(
        self, topic: str, key: str, begin: int = 0, end: int = FOREVER, limit: int = MAX_RESULTS
    ) -> list[Record]:
        """The newest `limit` messages with that key stored in [begin, end], in log order.

        As in RocketMQ, a message that recovery indexed a second time is found twice.
        """
        found: list[Record] = []
        for offset in find(self.indexes, index_key_hash(topic, key), begin, end):
            if len(found) >= min(limit, MAX_RESULTS):
                break
            if (record := self._keyed(offset, topic, key)) is not None and begin <= record.store_timestamp <= end:
                found.append(record)
        return sorted(found, key=lambda record: record.commit_offset)

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, *, upper: bool = False) -> int:
        """The first offset stored at `timestamp` or later; for `upper` the last one stored then or earlier."""
        return self.queue(topic, queue_id).offset_by_time(timestamp, self._store_time, upper=upper)

    def ext_unit(self, topic: str, queue_id: int, address: int) -> ExtUnit | None:
        """The ConsumeQueueExt unit that an entry's tags code names; None when it is not there."""
        folder, offset = f"consumequeue_ext/{topic}/{queue_id}", ext_offset(address)
        for file in queue_files(self.source, folder):
            if file.base <= offset < file.base + file.size:
                return checked(decode_unit(self.source.open(file.path).read(offset - file.base, MAX_UNIT_SIZE)))
        return None

    def _keyed(self, offset: int, topic: str, key: str) -> Record | None:
        """The record, when it really has the key: others may share its hash."""
        if not self.log_begin <= offset < self.log_end:
            return None
        try:
            record = self.log.record(offset)
        except StoreCorrupt:
            return None
        keys = record_dispatch.index_keys(record, record_dispatch.properties_of(record))
        return record if record.topic == topic and key in keys and not self.is_deleted(record) else None

    def is_deleted(self, record: Record) -> bool:
        """Whether its topic was deleted since."""
        deletion = self.deleted.get(record.topic)
        return deletion is not None and deletion.covers(record.commit_offset, record.store_timestamp)

    def _drop_deleted(self) -> int:
        """Forget the queues whose entries are of a deleted topic; from where on they are to be built again."""
        begin = self.log.limit
        for (topic, queue_id), queue in list(self.queues.items()):
            deletion = self.deleted.get(topic)
            if deletion is None:
                continue
            queue.cut(self.log_begin, self.log.limit)
            if queue.begins_deleted(deletion, self._store_time):
                del self.queues[topic, queue_id]
                file = self.log.file_at(deletion.commit_offset)
                begin = min(begin, self.log_begin if file is None else file.base)
        return begin

    def _store_time(self, entry: QueueEntry) -> int:
        try:
            return self.log.record(entry.commit_offset, entry.size, check_crc=False).store_timestamp
        except StoreCorrupt:
            return -1

    @cached_property
    def _crash_start(self) -> int:
        return recovery.crash_start(self.log, self.stored_checkpoint)

    def _open_queues(self, given: sizes.Sizes) -> dict[tuple[str, int], QueueView]:
        listed = list_queues(self.source)
        self.queue_file_size = sizes.queue_file_size(listed.values(), given.consume_queue)
        safe_below = self._crash_start if self.crashed else self.log.limit
        return {
            key: QueueView(self.source, *key, files, self.queue_file_size, safe_below)
            for key, files in sorted(listed.items())
        }

    def _index_files(self) -> list[tuple[str, int]]:
        entries = self.source.entries("index")
        return [(f"index/{entry.name}", entry.size) for entry in entries if is_index_name(entry.name)]

    def _open_indexes(self) -> Indexes:
        """After a crash only files that the checkpoint vouches for are kept."""
        views = [IndexView(self.source, path, self.index_shape) for path, size in self.index_paths if size]
        safe = self.stored_checkpoint.vouches_for_index
        return [view for view in views if not self.crashed or safe(view.header.end_offset, view.header.end_timestamp)]

    def _recover(self) -> None:
        behind = self._drop_deleted()
        self.log_end = self._start = start = min(self._find_start(), behind)
        queued = max((queue.max_physical() for queue in self.queues.values()), default=0)
        self._queues_lost = not queued
        self._newest = 0
        self._undispatched = start if self.crashed else min(max(start, queued), behind)
        self._cut_queues(self.log.limit)
        for found in recovery.surviving(self.log, start, self._vouched, self._pass_over):
            if isinstance(found, Damage):
                self.damage.append(found)
                continue
            self.log_end = found.commit_offset + found.size
            self._newest = found.store_timestamp
            if found.commit_offset >= self._undispatched:
                self._dispatch(found)
        self._cut_queues(self.log_end)

    def _vouched(self, record: Record) -> bool | None:
        """A store time alone may be that of an old record which an earlier recovery left behind the log's end."""
        if not is_queued(record.sys_flag):
            return None
        if not self.stored_checkpoint.vouches_for(record.commit_offset + record.size, record.store_timestamp):
            return False
        queue = self.queues.get((record.topic, record.queue_id))
        entry = queue.stored(record.queue_offset) if queue else None
        known = self._queues_lost or (entry is not None and entry.commit_offset == record.commit_offset)
        return True if known and record.store_timestamp >= self._newest else None

    def _cut_queues(self, log_end: int) -> None:
        for queue in self.queues.values():
            queue.cut(self.log_begin, log_end)

    def _find_start(self) -> int:
        if self.crashed:
            return self._crash_start
        return recovery.clean_start(self.log, list(self.queues.values()))

    def _pass_over(self, at: int) -> int:
        if at < self._undispatched:
            return at
        passed = self._again.run(at)
        if self._again.end > self.log_end:
            self.log_end, self._newest = self._again.end, self._again.newest
        return passed

    def _dispatch(self, record: Record) -> None:
        if is_queued(record.sys_flag) and not self.is_deleted(record):
            entry = record_dispatch.queue_entry(record, record_dispatch.properties_of(record), self.delays)
            self._again.room(record.topic, record.queue_id).add(record.queue_offset, entry)

    def _known_queue(self, topic: str, queue_id: int) -> QueueView | None:
        return self.queues.get((topic, queue_id))

    def _new_queue(self, topic: str, queue_id: int) -> QueueView:
        found = self.queues[topic, queue_id] = QueueView(self.source, topic, queue_id, [], self.queue_file_size, 0)
        return found
