"""The index as recovery would leave it: the files that the checkpoint vouches for, and the keys of what came after."""

from __future__ import annotations

from collections.abc import Iterable

from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.view import recovery
from sprocketmq.store.view.index import IndexBuilder, IndexShape, IndexView

Indexes = list[IndexView | IndexBuilder]


class Reindex:
    """Fed with records in log order. `queued_timestamp` is the store time of the last one that has a queue entry."""

    def __init__(self, kept: Indexes, shape: IndexShape, queued_timestamp: int) -> None:
        self.indexes, self.queued_timestamp = kept, queued_timestamp
        self._shape = shape

    def put_all(self, records: Iterable[Record]) -> None:
        for record in records:
            if is_queued(record.sys_flag):
                self.queued_timestamp = record.store_timestamp
            if not self.indexes or record.commit_offset >= self.indexes[-1].header.end_offset:
                for key_hash in record_dispatch.key_hashes(record, record_dispatch.properties_of(record)):
                    self._to_write().put(key_hash, record.commit_offset, record.store_timestamp)

    def _to_write(self) -> IndexBuilder:
        last = self.indexes[-1] if self.indexes else None
        if isinstance(last, IndexBuilder) and not last.full:
            return last
        if isinstance(last, IndexView) and last.count < self._shape.capacity:
            self.indexes[-1] = IndexBuilder.resume(last)
        else:
            name = recovery.index_name(self.queued_timestamp)
            self.indexes.append(IndexBuilder(name, self._shape, last.header if last else None))
        return self._to_write()
