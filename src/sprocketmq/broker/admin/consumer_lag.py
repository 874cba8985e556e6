"""How far a group has come in a topic, queue by queue.

A queue in which the group has committed nothing is all before it: a consumer that hangs in the first message it was
given commits nothing, and that is the lag to be seen. In a static topic its commit may be in the queue of another
broker: there it is told as -1, and tools look further.
"""

from __future__ import annotations

from collections.abc import Container

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.tables.offsets import SEPARATOR, ConsumerOffsets
from sprocketmq.protocol.bodies.stats import ConsumeStats, OffsetWrapper
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore


class Lag:
    def __init__(
        self, store: MessageStore, offsets: ConsumerOffsets, stats: Stats, static_topics: Container[str] = ()
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._stats = stats
        self._static_topics = static_topics

    def of(self, group: str, topic: TopicConfig, broker_name: str) -> ConsumeStats:
        name = topic.topic_name
        every = range(topic.read_queue_nums)
        table = {MessageQueue(name, broker_name, queue_id): self._queue(group, name, queue_id) for queue_id in every}
        tps = self._stats.tps("GROUP_GET_NUMS", f"{name}{SEPARATOR}{group}")
        return ConsumeStats(offset_table=table, consume_tps=tps)

    def _queue(self, group: str, topic: str, queue_id: int) -> OffsetWrapper:
        end = self._store.max_offset(topic, queue_id)
        committed = self._offsets.query(group, topic, queue_id)
        if committed is None and topic in self._static_topics:
            return OffsetWrapper(broker_offset=end, consumer_offset=-1, pull_offset=-1, last_timestamp=0)
        at = self._store.min_offset(topic, queue_id) if committed is None else committed
        pulled = self._offsets.pulled.get(f"{topic}{SEPARATOR}{group}", {}).get(queue_id, at)
        stored = self._store.reader.message_store_timestamp(topic, queue_id, at - 1) if at > 0 else 0
        return OffsetWrapper(
            broker_offset=end, consumer_offset=at, pull_offset=max(pulled, at), last_timestamp=max(stored, 0)
        )


class FallBehind:
    """How far a group is behind the end of the log in one queue, at this moment.

    GROUP_GET_FALL_SIZE is bytes of the log, GROUP_GET_FALL_TIME milliseconds since its next message was stored; both
    are asked for with `queue@topic@group`.
    """

    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, clock: Clock) -> None:
        self._store = store
        self._offsets = offsets
        self._clock = clock

    def get(self, stats_name: str, key: str) -> int | None:
        """None for another name, and for a queue that the group has taken nothing from."""
        queue, _, topic_and_group = key.partition(SEPARATOR)
        topic, _, group = topic_and_group.partition(SEPARATOR)
        if stats_name not in ("GROUP_GET_FALL_SIZE", "GROUP_GET_FALL_TIME") or not queue.isdecimal():
            return None
        committed = self._offsets.query(group, topic, int(queue))
        at = self._offsets.pulled.get(f"{topic}{SEPARATOR}{group}", {}).get(int(queue), committed)
        if at is None:
            return None
        entry = self._store.reader.entry(topic, int(queue), at)
        if entry is None:
            return 0
        if stats_name == "GROUP_GET_FALL_SIZE":
            return self._store.log.max_offset - entry.commit_offset
        return max(0, self._clock.now_ms() - self._store.reader.message_store_timestamp(topic, int(queue), at))
