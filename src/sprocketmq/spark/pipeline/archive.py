"""`archive`: topics or a store to Parquet, by topic and date; each run adds what is new, once.

From a cluster it is a stream that ends when it has caught up, so Spark's checkpoint says where to go on. From a store
it goes on after the last place in the log that was archived. `format` delta, iceberg, orc and so on write with Spark's
own writer of that name (add its `--packages`), which brings its own guarantees; the target is then a path, or a table
when it has no slash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from sprocketmq.spark.options import OptionError
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.session import run_to_end
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
            return _archive_with(spark, source, _Table(target, format), max_offsets)
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
    run_to_end(writer.trigger(availableNow=True).start)


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


@dataclass(frozen=True)
class _Table:
    """A target of Spark's own: a path, or the name of a table in a catalog."""

    name: str
    format: str

    @property
    def is_path(self) -> bool:
        return "/" in self.name

    def read(self, spark: SparkSession) -> DataFrame | None:
        """What is there; None when nothing is yet."""
        try:
            return spark.read.format(self.format).load(self.name) if self.is_path else spark.table(self.name)
        except AnalysisException:
            return None

    def append(self, frame: DataFrame) -> None:
        writer = frame.write.format(self.format).mode("append").partitionBy("topic", "date")
        writer.save(self.name) if self.is_path else writer.saveAsTable(self.name)

    def follow(self, stream: DataFrame, checkpoint: str) -> StreamingQuery:
        writer = stream.writeStream.format(self.format).partitionBy("topic", "date").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", checkpoint)
        return writer.start(self.name) if self.is_path else writer.toTable(self.name)


def _archive_with(spark: SparkSession, source: Input, table: _Table, max_offsets: int | None) -> Archived:
    found = table.read(spark)
    before = 0 if found is None else found.count()
    batches = 1
    if source.store is not None:
        last = None if found is None else found.agg(f.max("commitLogOffset")).first()
        begin = 0 if last is None or last[0] is None else int(last[0]) + 1
        frame = replace(source, options={**source.options, "startingPhysicalOffset": str(begin)}).load(spark)
        table.append(frame.withColumn("date", f.to_date("storeTimestamp")))
    else:
        stream = _stream(spark, source, {"maxOffsetsPerTrigger": str(max_offsets)} if max_offsets else {})
        checkpoint = f"{table.name}/_checkpoint" if table.is_path else f"{table.name}.checkpoint"
        dated = stream.withColumn("date", f.to_date("storeTimestamp"))
        batches = len(run_to_end(lambda: table.follow(dated, checkpoint)))
    written = table.read(spark)
    total = 0 if written is None else written.count()
    return Archived(total - before, batches, total)


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
