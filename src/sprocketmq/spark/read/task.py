"""What a task does: one range of one queue, from the broker's bytes to Arrow batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.blocking.range_reader import RangeReader
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.arrow.columns import decode_columns
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.plan import QueueRange, report_loss
from sprocketmq.spark.schema import record_columns, shaped
from sprocketmq.spark.worker.gc_tuning import settle
from sprocketmq.spark.worker.kept_connections import kept_cluster

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("sprocketmq.spark.read")

#: Pulls are gathered until they hold so many bytes: an Arrow batch of 32 rows costs more than its rows.
_BATCH_BYTES = 512 * 1024


@dataclass
class RangePartition(InputPartition):
    """One task's work."""

    range: QueueRange


def read_range(options: SourceOptions, schema: StructType, wanted: QueueRange) -> Iterator[pa.RecordBatch]:
    """The range's messages that pass the filters, in the columns of `schema`."""
    settle()
    with kept_cluster(options.connect) as cluster:
        batches = _batches(cluster, options, schema, wanted)
        yield from shaped(batches, schema, brokerName=wanted.queue.broker_name)


def _batches(
    cluster: BlockingCluster, options: SourceOptions, schema: StructType, wanted: QueueRange
) -> Iterator[pa.RecordBatch]:
    subscription = Subscription.of(wanted.queue.topic, options.tags, options.sql)
    filtered = options.tags != "*" or options.sql is not None
    columns = _decoded(schema, filtered)
    for data in _gathered(cluster, options, subscription, wanted):
        batch = decode_columns(data, columns=columns)
        yield _selected(batch, wanted, subscription.tags) if filtered else batch


def _decoded(schema: StructType, filtered: bool) -> tuple[str, ...]:
    """The columns to decode: those asked for, and those that decide whether a row stays."""
    columns = record_columns(schema.fieldNames())
    needed = ("queueOffset", "tags") if filtered else ()
    return (*columns, *(name for name in needed if name not in columns)) or ("queueOffset",)


def _gathered(
    cluster: BlockingCluster, options: SourceOptions, subscription: Subscription, wanted: QueueRange
) -> Iterator[bytes]:
    group = options.connect.full_name(options.group)
    reader = RangeReader(
        cluster, group, wanted.queue, subscription, batch=options.pull_batch, patience=options.patience
    )
    parts: list[bytes] = []
    size = 0
    for pulled in reader.read(wanted.begin, wanted.end):
        if pulled.lost:
            loss = f"{wanted.queue} no longer has offsets {pulled.begin} to {min(pulled.next_offset, wanted.end) - 1}"
            report_loss([loss], options.fail_on_data_loss, log.warning)
        parts.append(pulled.data)
        size += len(pulled.data)
        if size >= _BATCH_BYTES:
            yield parts[0] if len(parts) == 1 else b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)


def _selected(batch: pa.RecordBatch, wanted: QueueRange, tags: frozenset[str]) -> pa.RecordBatch:
    """A broker compares tags by hash, and with a filter it reads beyond the range's end."""
    from sprocketmq.client.pull.arrow import before, tagged

    return tagged(before(batch, wanted.end), tags)
