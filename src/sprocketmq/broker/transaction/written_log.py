"""The records of transactions that are written, whether or not they may be read yet.

A master whose replicas confirm begins with a log that is longer than what they have confirmed: what is behind that is
in no queue yet, and perhaps in no index. It counts all the same, as what a master writes itself does: a half there is
open, and a mark or a committed message there has ended a transaction. So whoever looks for open transactions at a start
looks through that part of the log, once.
"""

from __future__ import annotations

from collections import defaultdict

from sprocketmq.broker.system_topics.delivery import origins
from sprocketmq.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_TOPIC
from sprocketmq.protocol.record.properties import UNIQUE_KEY, decode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT, transaction_type
from sprocketmq.store.store import MessageStore

#: Of the topics of halves and of marks, which have one.
QUEUE = 0


class WrittenLog:
    """The log as it is now; nothing is kept of a record behind the readable ones but where it is."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._places: dict[tuple[str, int], int] = {}
        self._committed: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for record in store.reader.records_between(store.dispatcher.dispatched_offset, store.log.max_offset):
            if record.topic in (TRANSACTION_HALF_TOPIC, TRANSACTION_OP_TOPIC) and record.queue_id == QUEUE:
                self._places[record.topic, record.queue_offset] = record.commit_offset
            elif transaction_type(record.sys_flag) == TRANSACTION_COMMIT:
                key = decode_properties(record.properties).get(UNIQUE_KEY, "")
                self._committed[record.topic, key].append(record.prepared_transaction_offset)

    def record(self, topic: str, queue_offset: int) -> Record | None:
        """None when it is gone."""
        place = self._places.get((topic, queue_offset))
        if place is None:
            return readable_record(self._store, topic, queue_offset)
        return self._store.reader.record_at(place)

    def committed(self, topic: str, key: str) -> list[int]:
        """Where the halves are in the log whose messages, with this unique key, are in this topic."""
        return origins(self._store, topic, key, 0) + self._committed.get((topic, key), [])


def readable_record(store: MessageStore, topic: str, queue_offset: int) -> Record | None:
    """None when it is gone, or may not be read yet."""
    entry = store.reader.entry(topic, QUEUE, queue_offset)
    return None if entry is None or entry.is_filler else store.reader.record_at(entry.commit_offset)


def written_end(store: MessageStore, topic: str) -> int:
    """The queue offset behind the last record that is written."""
    queue = store.queues.find(topic, QUEUE)
    return 0 if queue is None else queue.cursor.next_offset
