"""Batch reads of topics."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.compat import PushFilters
from sprocketmq.spark.options.offset_maps import Offsets
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.plan import clamp, find_losses, ranges_between, report_loss, split_ranges
from sprocketmq.spark.read.positions import Positions
from sprocketmq.spark.read.pushdown import Narrowing, narrow
from sprocketmq.spark.read.task import RangePartition, read_range
from sprocketmq.spark.schema import check_schema
from sprocketmq.spark.short_errors import one_line
from sprocketmq.store.view.store import FOREVER

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("sprocketmq.spark.read.batch")


class BatchReader(DataSourceReader):
    """Plans once, on the driver; what has been written by then up to the ending offsets is read."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options, self._schema, self._narrowing = options, schema, Narrowing()
        if options.pushdown:
            self.pushFilters = PushFilters(self._push)  # type: ignore[method-assign]

    def _push(self, filters: Iterable[Any]) -> Iterable[Any]:
        self._narrowing = narrow(self._narrowing, filters)
        if (tags := self._narrowing.tags) and self._options.tags == "*" and self._options.sql is None:
            self._options = replace(self._options, tags=as_expression(tags) or "*")
        return filters

    @one_line
    def partitions(self) -> Sequence[InputPartition]:
        if self._narrowing.nothing:
            return []
        options, narrowing = self._options, self._narrowing
        with options.connect.open() as cluster:
            positions = Positions(cluster, options)
            queues = positions.queues()
            start = positions.resolve(options.start, queues)
            end = positions.resolve(options.end, queues, end=True)
            kept = [q for q in queues if narrowing.allows(q.topic, q.broker_name, q.queue_id)]
            start, end = self._existing(positions, {q: start[q] for q in kept}, {q: end[q] for q in kept})
            begin = {queue: self._begin(positions, queue, offset) for queue, offset in start.items()}
            stop = {queue: self._stop(positions, queue, offset) for queue, offset in end.items()}
        ranges = split_ranges(ranges_between(begin, stop), options.min_partitions, options.max_records)
        return [RangePartition(one) for one in ranges]

    def _existing(self, positions: Positions, start: Offsets, end: Offsets) -> tuple[Offsets, Offsets]:
        """Start and end moved into what is there; what is not there is a loss."""
        earliest, latest = positions.earliest(list(start)), positions.latest(list(start))
        losses = find_losses(start, earliest, latest)
        report_loss(losses, self._options.fail_on_data_loss, log.warning)
        return clamp(start, earliest, latest), {queue: min(offset, latest[queue]) for queue, offset in end.items()}

    def _begin(self, positions: Positions, queue: MessageQueue, offset: int) -> int:
        from sprocketmq.client.blocking import offsets

        offset = max(offset, self._narrowing.begin_offset)
        if self._narrowing.begin_time > 0:
            offset = max(offset, offsets.offset_at(positions.cluster, queue, self._narrowing.begin_time))
        return offset

    def _stop(self, positions: Positions, queue: MessageQueue, offset: int) -> int:
        from sprocketmq.client.blocking import offsets

        offset = min(offset, self._narrowing.end_offset)
        if self._narrowing.end_time < FOREVER:
            # Apache RocketMQ 4 answers a time after the last message with that message's own offset: one more is safe.
            found = offsets.offset_at(positions.cluster, queue, self._narrowing.end_time)
            offset = min(offset, found + 1)
        return offset

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor. Spark makes up a partition of its own when there is none."""
        if not isinstance(partition, RangePartition):
            return iter(())
        return read_range(self._options, self._schema, partition.range)


def as_expression(tags: frozenset[str]) -> str | None:
    """The subscription to these tags; None when one of them cannot be written in it."""
    if any(not tag or tag != tag.strip() or "|" in tag or tag == "*" for tag in tags):
        return None
    return " || ".join(sorted(tags))
