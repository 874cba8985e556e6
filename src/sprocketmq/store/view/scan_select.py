"""Which messages a scan shows, and the scan itself, by queue or in commit order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.properties import TAGS
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.dispatch import record_dispatch
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.store import FOREVER, StoreView


@dataclass(frozen=True, slots=True)
class Selection:
    """Empty sets and the widest bounds select all. Bounds of offsets are half-open, those of time include both."""

    topics: frozenset[str] = frozenset()
    queue_ids: frozenset[int] = frozenset()
    tags: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    begin_time: int = 0
    end_time: int = FOREVER
    begin_offset: int = 0
    end_offset: int = FOREVER
    begin_physical: int = 0
    end_physical: int = FOREVER

    def wants_queue(self, topic: str, queue_id: int) -> bool:
        return (not self.topics or topic in self.topics) and (not self.queue_ids or queue_id in self.queue_ids)

    def wants_record(self, record: Record) -> bool:
        if not (
            self.wants_queue(record.topic, record.queue_id)
            and self.begin_time <= record.store_timestamp <= self.end_time
            and self.begin_offset <= record.queue_offset < self.end_offset
            and self.begin_physical <= record.commit_offset < self.end_physical
        ):
            return False
        if not self.tags and not self.keys:
            return True
        properties = record_dispatch.properties_of(record)
        if self.tags and properties.get(TAGS) not in self.tags:
            return False
        return not self.keys or not self.keys.isdisjoint(record_dispatch.index_keys(record, properties))


class Found(NamedTuple):
    """A message of a scan, at its place in its queue."""

    queue_offset: int
    tags_code: int
    record: Record


class Unreadable(NamedTuple):
    """A queue entry whose message cannot be read."""

    topic: str
    queue_id: int
    queue_offset: int
    entry: QueueEntry
    error: StoreCorrupt


def scan_queues(view: StoreView, selection: Selection) -> Iterator[Found | Unreadable]:
    """Every selected queue entry: topics and queues in order, then by offset."""
    for topic, queue_id in sorted(view.queues):
        if selection.wants_queue(topic, queue_id):
            yield from _scan_queue(view, topic, queue_id, selection)


def _scan_queue(view: StoreView, topic: str, queue_id: int, selection: Selection) -> Iterator[Found | Unreadable]:
    begin, end = selection.begin_offset, selection.end_offset
    if selection.begin_time > 0:
        begin = max(begin, view.offset_by_time(topic, queue_id, selection.begin_time))
    for offset, entry, found in view.read_queue(topic, queue_id, begin, end):
        if isinstance(found, StoreCorrupt):
            yield Unreadable(topic, queue_id, offset, entry, found)
        elif selection.wants_record(found):
            yield Found(offset, entry.tags_code, found)
        elif found.store_timestamp > selection.end_time:
            return


def scan_log(view: StoreView, selection: Selection) -> Iterator[Found | Damage]:
    """Every selected record in commit order, also those that are in no queue; none of a topic that was deleted."""
    for found in view.read_log(_record_start(view, selection.begin_physical), selection.end_physical):
        if isinstance(found, Damage):
            yield found
        elif selection.wants_record(found) and not view.is_deleted(found):
            entry = record_dispatch.queue_entry(found, record_dispatch.properties_of(found), view.delays)
            yield Found(found.queue_offset, entry.tags_code, found)


def _record_start(view: StoreView, offset: int) -> int:
    """A place at or before `offset` where the walk may begin: the start of its file."""
    file = view.log.file_at(offset)
    return file.base if file else view.log_begin
