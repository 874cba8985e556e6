"""A streaming query that stops at steps a test names, so that the test can kill somebody there.

    python -m tests.spark.doomed NAMESERVER ORDERS TOTALS FOLDER

It adds the amounts of ORDERS up by window and tag and writes the totals to TOTALS, exactly once, until it caught up.
Where there is a file FOLDER/stop-STEP, who first comes to that step writes its process id to FOLDER/reached and waits
for FOLDER/go.

    reading      a task, before it pulls            prepared    the driver, before it decides
    sending      a task, after its first row        decided     the driver, after it wrote the commit record
    sent         a task, before it tells the driver committing  the driver, after some messages are visible
                                                    committed   the driver, before Spark knows that it is done
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, InputPartition
from pyspark.sql.types import StructType
from tests.spark.settings import QUICK

from sprocketmq.client.blocking.ordered_requests import OrderedRequest, Pipeline
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.stream import stream_reader
from sprocketmq.spark.source import RocketMQSource
from sprocketmq.spark.write.commit_records import CommitRecords, HalfMessage
from sprocketmq.spark.write.sender import RowSender
from sprocketmq.spark.write.sink import StreamWriter

FOLDER = "DOOMED_FOLDER"
_VISIBLE_BEFORE_THE_STOP = 3


def barrier(step: str) -> None:
    """Wait here when the test says so; it is passed once for each time it was named."""
    folder = Path(os.environ[FOLDER])
    try:
        (folder / f"stop-{step}").rename(folder / "taken")
    except FileNotFoundError:
        return
    (folder / "reached.tmp").write_text(str(os.getpid()))
    (folder / "reached.tmp").rename(folder / "reached")
    while not (folder / "go").exists():
        time.sleep(0.02)
    (folder / "go").unlink()


class DoomedWriter(StreamWriter):
    def write(self, iterator: Iterator[Any]) -> Any:
        send_half, rows = RowSender.send_half, count()

        def sending(sender: RowSender, *words: Any) -> None:
            if next(rows) == 1:
                barrier("sending")
            send_half(sender, *words)

        with patch.object(RowSender, "send_half", sending):
            written = super().write(iterator)
        barrier("sent")
        return written

    def commit(self, messages: Any, batchId: int) -> None:
        barrier("prepared")
        decide, submit, ended = CommitRecords.write, Pipeline.submit, iter(range(1_000_000))

        def deciding(records: CommitRecords, batch: int, halves: list[HalfMessage]) -> None:
            decide(records, batch, halves)
            barrier("decided")

        def submitting(pipeline: Pipeline, request: OrderedRequest) -> None:
            if next(ended) == _VISIBLE_BEFORE_THE_STOP:
                pipeline.flush()
                barrier("committing")
            submit(pipeline, request)

        with patch.object(CommitRecords, "write", deciding), patch.object(Pipeline, "submit", submitting):
            super().commit(messages, batchId)
        barrier("committed")


class DoomedSource(RocketMQSource):
    @classmethod
    def name(cls) -> str:
        return "doomed"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        reader = stream_reader(SourceOptions.of(self.options, streaming=True), schema)

        class Doomed(type(reader)):  # type: ignore[misc]
            def read(self, partition: InputPartition) -> Any:
                barrier("reading")
                return super().read(partition)

        reader.__class__ = Doomed
        return reader

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return DoomedWriter(SinkOptions.of(self.options, streaming=True), schema)


def totalled(frame: DataFrame) -> DataFrame:
    """One row for each window, tag and amount: some thirty of them."""
    amount = f.col("body").cast("string").cast("long")
    totals = frame.groupBy(f.window("storeTimestamp", "1 hour"), "tags", amount.alias("amount")).agg(f.sum(amount))
    return totals.select(
        f.to_json(f.struct("window.start", "tags", "amount", "sum(CAST(CAST(body AS STRING) AS BIGINT))")).alias(
            "body"
        ),
        f.concat_ws("-", f.col("window.start").cast("string"), "tags", "amount").alias("keys"),
    )


def main(nameserver: str, orders: str, totals: str, folder: str) -> None:
    os.environ[FOLDER] = folder
    builder = SparkSession.builder.master("local[2,4]")
    for key, value in QUICK.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(DoomedSource)
    source = {
        "nameserver": nameserver, "subscribe": orders, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "60",
    }  # fmt: skip
    sink = {
        "nameserver": nameserver, "topic": totals, "delivery": "exactly-once", "checkpointLocation": f"{folder}/query",
    }  # fmt: skip
    for last_try in (False, False, True):
        stream = totalled(spark.readStream.format("doomed").options(**source).load())
        writer = stream.writeStream.format("doomed").outputMode("complete").options(**sink)
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
            break
        except StreamingQueryException as error:
            print(error, flush=True)
            if last_try:
                raise
    Path(folder, "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
