"""Parcels: what is gathered for the queues of a topic."""

from __future__ import annotations

import pyarrow as pa

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.spark.write.batches import TopicParcels
from sprocketmq.spark.write.columns import columns_of
from sprocketmq.spark.write.rows import EntryFill

QUEUES = [MessageQueue("T", broker, number) for broker in ("a", "b") for number in range(2)]


def test_each_queue_has_its_own() -> None:
    parcels = TopicParcels("T", QUEUES)
    found = parcels.by_id(1)
    assert found is not None
    assert found.queue == QUEUES[1], "the first of those with the id"
    assert parcels.by_id(2) is None
    assert [parcels.by_hash(value).queue for value in (0, 5, -3, -(1 << 31))] == [QUEUES[i] for i in (0, 1, 3, 0)]
    assert (parcels.any.topic, parcels.any.queue) == ("T", None)


def test_a_parcel_is_taken_once() -> None:
    batch = pa.RecordBatch.from_pydict({"body": ["x" * 5000, "y"], "queueId": [1, None]})
    rows = EntryFill("0" * 16, "", 1 << 20, 100)
    rows.open(columns_of(batch), 0)
    parcels = TopicParcels("T", QUEUES)
    rows.fill(parcels, 0, 2)
    held = parcels.held()
    assert [parcel.queue for parcel in held] == [None, QUEUES[1]]
    assert [decode_batch(parcel.take())[0][1] for parcel in held] == [b"y", b"x" * 5000]
    assert (parcels.held(), held[0].take()) == ([], b"")
