"""The writers of the format `rocketmq`."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.compat import StreamArrowWriter, as_batches
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.sink import SinkOptions, check_columns
from sprocketmq.spark.worker.gc_tuning import settle
from sprocketmq.spark.worker.kept_connections import kept_cluster
from sprocketmq.spark.write.columns import columns_of
from sprocketmq.spark.write.commit_records import HalfMessage
from sprocketmq.spark.write.rate_limit import WriteRate
from sprocketmq.spark.write.rows import EntryFill
from sprocketmq.spark.write.sender import RowSender
from sprocketmq.spark.write.unique_keys import TaskIdentity, current_task, unique_key

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("sprocketmq.spark.write.sink")


@dataclass
class Written(WriterCommitMessage):
    """What a task hands to the driver: how many rows it stored, and which of them wait for a commit."""

    rows: int
    writer: str = ""
    halves: list[list[Any]] = field(default_factory=list)


class _Writer:
    """What both writers share: each task's rows go out with keys that every attempt at the task gives them."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options, self._schema = options, schema
        self._job = uuid.uuid4().hex

    def _send_all(self, batches: Iterator[pa.RecordBatch], task: TaskIdentity) -> Written:
        written = Written(0, task.writer)
        settle()
        with kept_cluster(self._options.connect) as cluster:
            sender = RowSender(cluster, self._options)
            pace = WriteRate(self._options.rows_per_second)
            for rows, count in self._rows(batches, task, written):
                for begin, end in pace.portions(count, sender.flush):
                    sender.send(rows, begin, end)
            sender.flush()
        return written

    def _send_halves(self, batches: Iterator[pa.RecordBatch], task: TaskIdentity) -> Written:
        written = Written(0, task.writer)
        extra = f"TRAN_MSG\x01true\x02PGROUP\x01{self._options.group}\x02"
        settle()
        with kept_cluster(self._options.connect) as cluster:
            sender = RowSender(cluster, self._options)
            for rows, count in self._rows(batches, task, written, extra):
                for row in range(count):
                    key = unique_key(task.seal, written.rows + row)
                    sender.send_half(rows, row, _noting(written, key))
            sender.flush()
        return written

    def _rows(
        self, batches: Iterator[pa.RecordBatch], task: TaskIdentity, written: Written, extra: str = ""
    ) -> Iterator[tuple[EntryFill, int]]:
        """For each batch its rows, and how many. `written` counts the rows of the batches before."""
        rows = EntryFill(task.seal, extra, self._options.batch_bytes, self._options.batch_rows)
        for batch in batches:
            rows.open(columns_of(batch), written.rows)
            yield rows, batch.num_rows
            written.rows += batch.num_rows


def _noting(written: Written, key: str) -> Callable[[MessageQueue, Command], None]:
    def note(queue: MessageQueue, reply: Command) -> None:
        ext = reply.ext_fields or {}
        commit_offset = int(ext["msgId"][-16:], 16)
        half = HalfMessage(queue, key, int(ext["queueOffset"]), commit_offset, ext.get("transactionId") or key)
        written.halves.append(half.row())

    return note


class BatchWriter(_Writer, DataSourceArrowWriter):
    """At least once: a task that is tried again sends its rows again, under the same unique keys."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]
        return self._send_all(iterator, current_task(self._job))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        log.info("wrote %d rows", sum(one.rows for one in messages if isinstance(one, Written)))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """What tasks have sent stays sent."""


class StreamWriter(_Writer, StreamArrowWriter):  # type: ignore[misc]
    """At least once, or exactly once with half messages."""

    def write(self, iterator: Iterator[Any]) -> Written:
        batches, task = as_batches(iterator, self._schema), current_task(self._job)
        return self._send_halves(batches, task) if self._options.exactly_once else self._send_all(batches, task)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._end(messages, batchId, abort=False)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._end(messages, batchId, abort=True)

    def _end(self, messages: list[WriterCommitMessage | None], batch: int, *, abort: bool) -> None:
        written = [one for one in messages if isinstance(one, Written)]
        if not self._options.exactly_once or not written:
            return
        from sprocketmq.spark.write.exactly_once import (
            BatchCommit,  # brings the asyncio client: no task should pay for it
        )

        halves = [HalfMessage.of(row) for one in written for row in one.halves]
        with self._options.connect.open() as cluster:
            decision = BatchCommit(cluster, self._options, written[0].writer, batch)
            decision.abort(halves) if abort else decision.commit(halves)


def batch_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> BatchWriter:
    if overwrite:
        raise OptionError("mode", "overwrite is impossible: a topic only grows; use mode append")
    return BatchWriter(options, schema)


def stream_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> StreamWriter:
    """In output mode complete each batch adds the whole result anew, as with Kafka: a topic only grows."""
    return StreamWriter(options, schema)
