"""How far a group has come in a topic, queue by queue.

A queue in which the group has committed nothing has no lag that anyone knows: it is left out, save when the queue is
empty, where there is nothing to lag behind.
"""

from __future__ import annotations

from sprocketmq.broker.offsets import SEPARATOR, ConsumerOffsets
from sprocketmq.broker.stats import Stats
from sprocketmq.protocol.bodies.stats import ConsumeStats, OffsetWrapper
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.store.store import MessageStore


class Lag:
    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, stats: Stats) -> None:
        self._store = store
        self._offsets = offsets
        self._stats = stats

    def of(self, group: str, topic: TopicConfig, broker_name: str) -> ConsumeStats:
        name = topic.topic_name
        table = {}
        for queue_id in range(topic.read_queue_nums):
            wrapper = self._queue(group, name, queue_id)
            if wrapper is not None:
                table[MessageQueue(name, broker_name, queue_id)] = wrapper
        tps = self._stats.tps("GROUP_GET_NUMS", f"{name}{SEPARATOR}{group}")
        return ConsumeStats(offset_table=table, consume_tps=tps)

    def _queue(self, group: str, topic: str, queue_id: int) -> OffsetWrapper | None:
        end = self._store.max_offset(topic, queue_id)
        committed = self._offsets.query(group, topic, queue_id)
        if committed is None and end > 0:
            return None
        at = committed or 0
        pulled = self._offsets.pulled.get(f"{topic}{SEPARATOR}{group}", {}).get(queue_id, at)
        stored = self._store.reader.message_store_timestamp(topic, queue_id, at - 1) if at > 0 else 0
        return OffsetWrapper(
            broker_offset=end, consumer_offset=at, pull_offset=max(pulled, at), last_timestamp=max(stored, 0)
        )
