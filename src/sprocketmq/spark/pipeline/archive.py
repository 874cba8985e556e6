"""`archive`: topics or a store to Parquet, by topic and date; each run adds what is new, once.

From a cluster it is a stream that ends when it has caught up, so Spark's checkpoint says where to go on. From a store
it goes on after the last place in the log that was archived. `format` delta, iceberg and so on write with Spark's own
writer of that name (add its `--packages`), which brings its own guarantees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.spark.options import OptionError
from sprocketmq.spark.pipeline.inputs import Input
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
        return _archive_with(spark, source, target, format)
    folder = ArchiveFolder(Path(target.removeprefix("file://")))
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

    writer = stream.writeStream.foreachBatch(add).option("checkpointLocation", str(folder.root / "_checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()


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


def _archive_with(spark: SparkSession, source: Input, target: str, format: str) -> Archived:
    if source.store is not None:
        frame = source.load(spark).withColumn("date", f.to_date("storeTimestamp"))
        frame.write.format(format).mode("append").partitionBy("topic", "date").save(target)
        return Archived(frame.count(), 1, spark.read.format(format).load(target).count())
    dated = _stream(spark, source, {}).withColumn("date", f.to_date("storeTimestamp"))
    writer = dated.writeStream.format(format).partitionBy("topic", "date").option("path", target)
    query = writer.option("checkpointLocation", f"{target}/_checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    rows = sum(int(progress["numInputRows"]) for progress in query.recentProgress)
    return Archived(rows, len(query.recentProgress), spark.read.format(format).load(target).count())
