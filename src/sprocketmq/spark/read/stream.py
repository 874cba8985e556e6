"""Streams of topics, in micro-batches.

The reader that plans lives in a Python process on the driver; its answers are offset maps, which Spark writes to the
checkpoint before it uses them. So a restarted query goes on where it was, whatever happened to the reader. It keeps its
connections from one call to the next, as Spark asks it many times a second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.spark.compat import HAS_ADMISSION_CONTROL, ReadAllAvailable, SupportsTriggerAvailableNow
from sprocketmq.spark.options.offset_maps import Offsets, decode_offsets, encode_offsets
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.plan import (
    Patience,
    clamp,
    find_losses,
    keep_known,
    limit_bytes,
    limit_rows,
    ranges_between,
    report_loss,
    rows_between,
    split_ranges,
)
from sprocketmq.spark.read.positions import Positions
from sprocketmq.spark.read.task import RangePartition, read_range
from sprocketmq.spark.schema import check_schema
from sprocketmq.spark.short_errors import one_line

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("sprocketmq.spark.read.stream")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What all versions of Spark share; `stream_reader` gives the class that fits the one that runs."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options, self._schema = options, schema
        self._target: Offsets | None = None
        self._kept: BlockingCluster | None = None
        self._patience = Patience(options.min_offsets or 1, options.max_delay_ms)

    # -- on the driver ------------------------------------------------------------------------------------------------

    @one_line
    def initialOffset(self) -> dict[str, Any]:
        positions = self._positions()
        return encode_offsets(positions.resolve(self._options.start, positions.queues()))

    @one_line
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run reads."""
        self._target = self._newest()

    def reportLatestOffset(self) -> dict[str, Any]:
        return encode_offsets(self._newest())

    def getDefaultReadLimit(self) -> Any:
        """The limits are options of ours, which Spark's own kinds of limits cannot all express."""
        return ReadAllAvailable()

    @one_line
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        begin, stop = decode_offsets(start), decode_offsets(end)
        begin = self._readable(self._positions(), begin, stop)
        ranges = ranges_between(begin, {queue: offset for queue, offset in stop.items() if queue in begin})
        return [
            RangePartition(one) for one in split_ranges(ranges, self._options.min_partitions, self._options.max_records)
        ]

    def commit(self, end: dict[str, Any]) -> None:
        """Tell the group's progress to the brokers, where mqadmin and dashboards look for it."""
        if self._options.commits:
            self._positions().commit(decode_offsets(end))

    def stop(self) -> None:
        if self._kept is not None:
            self._kept.close()

    # -- on an executor -----------------------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return read_range(self._options, self._schema, partition.range)

    # -- inside -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """What travels to executors: connections stay."""
        return {**self.__dict__, "_kept": None}

    def _positions(self) -> Positions:
        if self._kept is None:
            self._kept = self._options.connect.open()
        return Positions(self._kept, self._options)

    def _newest(self) -> Offsets:
        positions = self._positions()
        return positions.latest(positions.queues())

    def _next(self, start: Offsets) -> Offsets:
        """Where the batch after `start` ends; `start` itself when none should begin now."""
        positions = self._positions()
        end = keep_known(start, self._target or positions.latest(positions.queues()))
        known = {**positions.earliest([queue for queue in end if queue not in start]), **start}
        now_ms = int(time.monotonic() * 1000)
        if self._target is None and not self._patience.enough(rows_between(known, end), now_ms):
            return start
        if self._options.max_offsets:
            end = limit_rows(known, end, self._options.max_offsets)
        if self._options.max_bytes:
            end = limit_bytes(known, end, self._options.max_bytes, positions.mean_size)
        return end

    def _readable(self, positions: Positions, start: Offsets, end: Offsets) -> Offsets:
        """`start` with the queues that are new, and without what is lost."""
        earliest = positions.earliest(list(end))
        latest = positions.latest(list(end))
        known = {queue: offset for queue, offset in start.items() if queue in end}
        report_loss(find_losses(known, earliest, latest), self._options.fail_on_data_loss, log.warning)
        return {**{queue: earliest[queue] for queue in end if queue not in start}, **clamp(known, earliest, latest)}


class AdmittingStreamReader(StreamReader):
    """From Spark 4.2 on: Spark says where the batch begins."""

    @one_line
    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        return encode_offsets(self._next(decode_offsets(start)))


class RememberingStreamReader(StreamReader):
    """Before Spark 4.2: a batch begins where the last answer ended; after a restart, where Spark asks to plan from."""

    _last: Offsets | None = None

    @one_line
    def initialOffset(self) -> dict[str, Any]:
        found = super().initialOffset()
        self._last = decode_offsets(found)
        return found

    @one_line
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        start = self._last
        self._last = self._newest() if start is None else self._next(start)
        return encode_offsets(self._last)

    @one_line
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._last = decode_offsets(end)
        return super().partitions(start, end)


def stream_reader(options: SourceOptions, schema: StructType) -> StreamReader:
    return (AdmittingStreamReader if HAS_ADMISSION_CONTROL else RememberingStreamReader)(options, schema)
