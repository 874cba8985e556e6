"""Queues and index written anew from the CommitLog alone, as the broker would write them.

They are built beside the old ones, synced, and put in their place by renames. Until the last rename the old ones are
whole; in between a broker that starts finds none, and builds them from the log itself. The log is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sprocketmq.atomic_file import replace_file
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.files import Files, sync_parents
from sprocketmq.store.files.layout import Layout, file_name
from sprocketmq.store.files.lock import StoreLock
from sprocketmq.store.offline.verify_findings import Finding
from sprocketmq.store.queue.format import ENTRY, ENTRY_SIZE, FILLER, QueueEntry
from sprocketmq.store.view.index import IndexBuilder, IndexShape
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.recovery import index_name
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.store import StoreView

#: Entries that wait in memory, over all queues, before they are written.
_BUFFERED_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class Rebuilt:
    """What was written, and what of the log could not be read."""

    records: int = 0
    queues: int = 0
    queue_entries: int = 0
    index_files: int = 0
    index_entries: int = 0
    findings: list[Finding] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "queues": self.queues,
            "queueEntries": self.queue_entries,
            "indexFiles": self.index_files,
            "indexEntries": self.index_entries,
            "findings": [finding.row() for finding in self.findings],
        }


class Dispatched(NamedTuple):
    """What one record adds to queues and index; plain data, which may come from another machine."""

    topic: str
    queue_id: int
    queue_offset: int
    store_timestamp: int
    commit_offset: int
    size: int
    entry: QueueEntry | None
    key_hashes: tuple[int, ...]

    @classmethod
    def of(cls, record: Record, delays: tuple[int, ...]) -> Dispatched:
        properties = record_dispatch.properties_of(record)
        entry = record_dispatch.queue_entry(record, properties, delays) if is_queued(record.sys_flag) else None
        return cls(
            record.topic, record.queue_id, record.queue_offset, record.store_timestamp, record.commit_offset,
            record.size, entry, tuple(record_dispatch.key_hashes(record, properties)),
        )  # fmt: skip


class _Queue:
    """One queue being written; entries wait in `pending` until `flush`."""

    def __init__(self, folder: Path, file_size: int, files: Files) -> None:
        self._folder, self._file_size, self._files = folder, file_size, files
        self.next: int | None = None
        self.pending = bytearray()

    def put(self, offset: int, entry: QueueEntry) -> None:
        """The entry at its place. A lower offset than before begins the queue again: its topic was made anew."""
        if self.next is None or offset < self.next:
            self._begin(offset)
        self.pending += FILLER * (offset - (self.next or 0))
        self.pending += ENTRY.pack(*entry)
        self.next = offset + 1

    def flush(self) -> None:
        at = (self.next or 0) * ENTRY_SIZE - len(self.pending)
        rest = memoryview(bytes(self.pending))
        while rest:
            base = at // self._file_size * self._file_size
            length = min(len(rest), base + self._file_size - at)
            self._write(base, at - base, rest[:length])
            rest, at = rest[length:], at + length
        self.pending.clear()

    def _begin(self, offset: int) -> None:
        """The first file is filled from its start with entries that stand for nothing."""
        if self.next is not None:
            self._files.remove_tree(self._folder)
        self.pending.clear()
        self.next = offset - offset % (self._file_size // ENTRY_SIZE)

    def _write(self, base: int, at: int, data: memoryview) -> None:
        file = self._files.create(self._folder / file_name(base), self._file_size)
        try:
            file.allocate(at, at + len(data))
            file.write(at, data)
            file.sync()
        finally:
            file.close()


class Rebuild:
    """One run over a store directory that no broker has open."""

    def __init__(self, root: Path, sizes: Sizes | None = None, files: Files | None = None) -> None:
        self._layout, self._files = Layout(root), files or Disk()
        self._lock = StoreLock(self._layout.lock)
        self.view = StoreView(root, sizes)
        self._names = [path.rpartition("/")[2] for path, _ in self.view.index_paths]
        self._new_queues = root / "consumequeue.rebuild"
        self._new_index = root / "index.rebuild"
        self._queues: dict[tuple[str, int], _Queue] = {}
        self._index: IndexBuilder | None = None
        self._full_until = (0, 0)  # store time and offset of the last record in full index files
        self._buffered = 0
        self.done = Rebuilt()

    def run(
        self,
        progress: Callable[[int], None] = lambda _offset: None,
        found_in_log: Iterable[Dispatched | Damage] | None = None,
    ) -> Rebuilt:
        """Write everything anew. `found_in_log` is the whole log in its order, when somebody else has read it."""
        try:
            self._start()
            for found in self._read_log() if found_in_log is None else found_in_log:
                if isinstance(found, Damage):
                    self._skip(found)
                else:
                    self._put(found)
                    progress(found.commit_offset + found.size)
            self._finish()
        finally:
            self._lock.release()
        return self.done

    def _start(self) -> None:
        for folder in (self._new_queues, self._new_index):
            self._files.remove_tree(folder)
            self._files.make_dirs(folder)

    def _skip(self, found: Damage) -> None:
        what = f"{found.end - found.begin} bytes hold no whole record: {found.reason}"
        self.done.findings.append(Finding(found.path, found.begin - found.base, what))

    def _read_log(self) -> Iterable[Dispatched | Damage]:
        for found in self.view.read_log():
            yield found if isinstance(found, Damage) else Dispatched.of(found, self.view.delays)

    def _put(self, record: Dispatched) -> None:
        self.done.records += 1
        if record.entry is not None and not self._is_deleted(record):
            self._put_queue(record, record.entry)
        for key_hash in record.key_hashes:
            self._index_for(record).put(key_hash, record.commit_offset, record.store_timestamp)
            self.done.index_entries += 1

    def _is_deleted(self, record: Dispatched) -> bool:
        deletion = self.view.deleted.get(record.topic)
        return deletion is not None and deletion.covers(record.commit_offset, record.store_timestamp)

    def _put_queue(self, record: Dispatched, entry: QueueEntry) -> None:
        key = record.topic, record.queue_id
        if key not in self._queues:
            folder = self._new_queues / self._layout.consume_queue(*key).relative_to(self._layout.consume_queues)
            self._queues[key] = _Queue(folder, self.view.queue_file_size, self._files)
        self._queues[key].put(record.queue_offset, entry)
        self.done.queue_entries += 1
        self._buffered += ENTRY_SIZE
        if self._buffered >= _BUFFERED_BYTES:
            self._flush_queues()

    def _flush_queues(self) -> None:
        for queue in self._queues.values():
            queue.flush()
        self._buffered = 0

    def _index_for(self, record: Dispatched) -> IndexBuilder:
        """The index file to write to: the last one, or a new one when that is full."""
        if self._index is None or self._index.full:
            previous = self._index
            if previous is not None:
                self._write_index(previous)
                self._full_until = (previous.header.end_timestamp, previous.header.end_offset)
            name = self._index_name(record.store_timestamp, previous)
            shape: IndexShape = self.view.index_shape
            self._index = IndexBuilder(name, shape, previous.header if previous else None)
            self.done.index_files += 1
        return self._index

    def _index_name(self, timestamp: int, previous: IndexBuilder | None) -> str:
        """The name that the old file in this place had; else the time of its first message. Names only grow."""
        number = self.done.index_files
        name = self._names[number] if number < len(self._names) else index_name(timestamp)
        return name if previous is None or name > previous.name else f"{int(previous.name) + 1:017}"

    def _write_index(self, index: IndexBuilder) -> None:
        file = self._files.create(self._new_index / index.name, index.shape.file_size)
        try:
            for at, data in index.pieces():
                file.allocate(at, at + len(data))
                file.write(at, data)
            file.sync()
        finally:
            file.close()

    def _finish(self) -> None:
        self._flush_queues()
        if self._index is not None:
            self._write_index(self._index)
        self.done.queues = len(self._queues)
        self._sync_folders()
        self._swap(self._new_queues, self._layout.consume_queues)
        self._swap(self._new_index, self._layout.index)
        self._vouch_for_index()

    def _sync_folders(self) -> None:
        root = self._layout.root
        for topic in self._files.list_dir(self._new_queues):
            for queue in self._files.list_dir(self._new_queues / topic):
                sync_parents(self._files, self._new_queues / topic / queue / "0", root)
        self._files.sync_dir(self._new_index)

    def _swap(self, new: Path, live: Path) -> None:
        old = live.with_name(f"{live.name}.old")
        self._files.remove_tree(old)
        if self._files.exists(live):
            self._files.rename(live, old)
        self._files.rename(new, live)
        self._files.sync_dir(live.parent)
        self._files.remove_tree(old)

    def _vouch_for_index(self) -> None:
        """After a crash a broker drops index files newer than the checkpoint says; the full ones are on disk now."""
        checkpoint, (time, offset) = self.view.stored_checkpoint, self._full_until
        is_news = time > checkpoint.index_msg_timestamp
        if checkpoint.index_offset is not None:  # RocketMQ notes no places, and its checkpoint stays as it is
            is_news = (time, offset) != (checkpoint.index_msg_timestamp, checkpoint.index_offset)
            checkpoint.index_offset = offset
        if is_news and self._files.exists(self._layout.checkpoint):
            checkpoint.index_msg_timestamp = time
            replace_file(self._layout.checkpoint, checkpoint.encode(), self._files)
