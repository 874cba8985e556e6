"""`archive`: topics or a store to Parquet, by topic and date; each run adds what is new, once.

From a cluster it is a stream that ends when it has caught up, so Spark's checkpoint says where to go on. From a store
it goes on after the last place in the log that was archived. With `format` delta, iceberg, orc and so on the target is
a table, which `tables` tells about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.session import run_to_end
from sprocketmq.spark.pipeline.tables import Table
from sprocketmq.spark.pipeline.target import ArchiveFolder


@dataclass(frozen=True)
class Archived:
    rows: int
    batches: int
    total: int
    files_saved: int = 0


def archive(
    spark: SparkSession,
    source: Input,
    target: str,
    *,
    format: str = "parquet",
    max_offsets: int | None = None,
    compact: bool = True,
) -> Archived:
    """Add what is new in `source` to the archive at `target`."""
    if source.archive is not None:
        raise OptionError("archive", "cannot be archived again: give a nameserver or a store")
    if format != "parquet":
        with _known(format):
            return _archive_with(spark, source, Table.of(spark, target, format), max_offsets)
    folder = ArchiveFolder(target)
    before, batches = folder.rows(), len(folder.notes())
    if source.store is not None:
        _archive_store(spark, source, folder)
    else:
        _archive_topics(spark, source, folder, max_offsets)
    saved = folder.compact() if compact else 0
    total = folder.rows()
    return Archived(total - before, len(folder.notes()) - batches, total, saved)


def _archive_topics(spark: SparkSession, source: Input, folder: ArchiveFolder, max_offsets: int | None) -> None:
    stream = _stream(spark, source, {"maxOffsetsPerTrigger": str(max_offsets)} if max_offsets else {})

    def add(frame: DataFrame, batch: int) -> None:
        folder.write(frame, batch)

    writer = stream.writeStream.foreachBatch(add).option("checkpointLocation", f"{folder.address}/_checkpoint")
    run_to_end(writer.trigger(availableNow=True).start, max_offsets)


def _stream(spark: SparkSession, source: Input, more: dict[str, str]) -> DataFrame:
    options = {
        "nameserver": source.nameserver or "",
        "subscribe": ",".join(source.topics),
        "tags": " || ".join(source.tags),
        "startingOffsets": "earliest",
        **source.options,
        **more,
    }
    return spark.readStream.format("rocketmq").options(**options).load()


def _archive_store(spark: SparkSession, source: Input, folder: ArchiveFolder) -> None:
    """Everything from the end of the last batch on; a record's place in the log orders them all."""
    notes = folder.notes()
    begin = int(notes[-1].get("end", 0)) if notes else 0
    frame = replace(source, options={**source.options, "startingPhysicalOffset": str(begin)}).load(spark)
    last = frame.agg(f.max("commitLogOffset")).first()
    if last is not None and last[0] is not None:
        end = int(last[0]) + 1
        folder.write(frame.where(f.col("commitLogOffset") < end), folder.next_batch(), end=end)


def _archive_with(spark: SparkSession, source: Input, table: Table, max_offsets: int | None) -> Archived:
    before, batches = table.rows(), 1
    if source.store is not None:
        options = {**source.options, "startingPhysicalOffset": str(table.next_place())}
        table.append(_dated(replace(source, options=options).load(spark)))
    else:
        stream = _dated(_stream(spark, source, {"maxOffsetsPerTrigger": str(max_offsets)} if max_offsets else {}))
        table.create(stream.schema)
        batches = len(run_to_end(lambda: table.follow(stream), max_offsets))
    total = table.rows()
    return Archived(total - before, batches, total)


def _dated(frame: DataFrame) -> DataFrame:
    return frame.withColumn("date", f.to_date("storeTimestamp"))


@contextmanager
def _known(format: str) -> Iterator[None]:
    """Spark's long way to say that it has no such format, in one line that helps."""
    try:
        yield
    except Py4JJavaError as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        reason = f"is {format}, which Spark does not know: name its Maven package with --packages"
        raise OptionError("format", reason) from None
