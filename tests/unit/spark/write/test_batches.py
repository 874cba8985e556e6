"""Batches: what is gathered for the queues of a topic."""

from __future__ import annotations

import pyarrow as pa

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.spark.write.batches import QueueBatch, TopicBatches
from sprocketmq.spark.write.columns import columns_of
from sprocketmq.spark.write.rows import EntryFill

QUEUES = [MessageQueue("T", broker, number) for broker in ("a", "b") for number in range(2)]


def test_each_queue_has_its_own() -> None:
    batches = TopicBatches("T", QUEUES)
    found = batches.by_id(1)
    assert found is not None
    assert found.queue == QUEUES[1], "the first of those with the id"
    assert batches.by_id(2) is None
    assert [batches.by_hash(value).queue for value in (0, 5, -3, -(1 << 31))] == [QUEUES[i] for i in (0, 1, 3, 0)]
    assert (batches.any.topic, batches.any.queue) == ("T", None)


class Nowhere:
    """For rows that all fit in."""

    def send_batch(self, batch: QueueBatch) -> None:
        raise AssertionError

    def send_delayed(self, rows: EntryFill, row: int, batch: QueueBatch) -> None:
        raise AssertionError


def test_a_batch_is_taken_once() -> None:
    columns = pa.RecordBatch.from_pydict({"body": ["x" * 5000, "y"], "queueId": [1, None]})
    rows = EntryFill("0" * 16, "", 1 << 20, 100)
    rows.open(columns_of(columns), 0)
    batches = TopicBatches("T", QUEUES)
    rows.fill(batches, 0, 2, Nowhere())
    held = batches.held()
    assert [batch.queue for batch in held] == [None, QUEUES[1]]
    assert [decode_batch(batch.take())[0][1] for batch in held] == [b"y", b"x" * 5000]
    assert (batches.held(), held[0].take()) == ([], b"")
