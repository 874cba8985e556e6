from __future__ import annotations

from tests.unit.broker.support import START_MS, Caller

from sprocketmq.broker.admin.consumer_lag import Lag
from sprocketmq.broker.broker import Broker
from sprocketmq.protocol.bodies.stats import OffsetWrapper
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.message_queue import MessageQueue


async def test_queues_one_by_one(caller: Caller, broker: Broker) -> None:
    for _ in range(2):
        await caller.send("T")
    topic = TopicConfig(topic_name="T", read_queue_nums=2)
    lag = Lag(broker.store, broker.offsets, broker.stats)
    unread = {MessageQueue("T", "b", 0): OffsetWrapper(broker_offset=2), MessageQueue("T", "b", 1): OffsetWrapper()}
    assert lag.of("G", topic, "b").offset_table == unread
    static = Lag(broker.store, broker.offsets, broker.stats, {"T"}).of("G", topic, "b").offset_table
    assert [(each.broker_offset, each.consumer_offset) for each in static.values()] == [(2, -1), (0, -1)]
    broker.offsets.commit("G", "T", 0, 1)
    expected = OffsetWrapper(broker_offset=2, consumer_offset=1, pull_offset=1, last_timestamp=START_MS)
    assert lag.of("G", topic, "b").offset_table[MessageQueue("T", "b", 0)] == expected
    broker.offsets.reset("G", "T", 0, 0)
    assert lag.of("G", topic, "b").offset_table[MessageQueue("T", "b", 0)].consumer_offset == 0
