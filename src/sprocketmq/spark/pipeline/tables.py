"""An archive in a table format: Delta, Iceberg, or whatever else Spark writes.

    /lake/orders     a path; Iceberg sees it as the table `orders` of a catalog of files in `/lake`
    lake.db.orders   without a slash: a table of a catalog that the session knows

A batch is one commit of the table, so a table never shows half of one. A stream's batches carry their number, which
both Delta and Iceberg keep: a batch that is repeated after a crash is not added twice. The stream's checkpoint lies
with the table, in `_checkpoint`, a name that their clean-up leaves alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructField, StructType

_CATALOG = "archive_files"


@dataclass(frozen=True)
class Table:
    spark: SparkSession
    name: str
    format: str

    @classmethod
    def of(cls, spark: SparkSession, target: str, format: str) -> Table:
        if format != "iceberg" or "/" not in target:
            return cls(spark, target, format)
        folder, _, name = target.rstrip("/").rpartition("/")
        catalog = f"spark.sql.catalog.{_CATALOG}"
        spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{catalog}.type", "hadoop")
        spark.conf.set(f"{catalog}.warehouse", folder or "/")
        return cls(spark, f"{_CATALOG}.`{name}`", format)

    @property
    def is_path(self) -> bool:
        return "/" in self.name

    def rows(self) -> int:
        found = self._read()
        return 0 if found is None else found.count()

    def next_place(self) -> int:
        """Behind the last place of a log that the table holds."""
        found = self._read()
        last = None if found is None else found.agg(f.max("commitLogOffset")).first()
        return 0 if last is None or last[0] is None else int(last[0]) + 1

    def append(self, frame: DataFrame) -> None:
        self.create(frame.schema)
        self._write(frame)

    def create(self, schema: StructType) -> None:
        """Make the table unless it is there. Its columns may be null, whichever source fills them."""
        if (not self.is_path or self.format == "delta") and self._read() is None:
            loose = StructType([StructField(field.name, field.dataType) for field in schema.fields])
            self._write(self.spark.createDataFrame([], loose))

    def follow(self, stream: DataFrame) -> StreamingQuery:
        """Add what the stream has now."""
        writer = stream.writeStream.format(self.format).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", f"{self._location()}/_checkpoint")
        if self.is_path:
            return writer.partitionBy("topic", "date").start(self.name)
        return writer.option("fanout-enabled", "true").toTable(self.name)  # Iceberg's, for rows in no order

    def _read(self) -> DataFrame | None:
        """What is there; None when nothing is yet."""
        try:
            return self.spark.read.format(self.format).load(self.name) if self.is_path else self.spark.table(self.name)
        except AnalysisException:
            return None

    def _write(self, frame: DataFrame) -> None:
        writer = frame.write.format(self.format).mode("append").partitionBy("topic", "date")
        writer.save(self.name) if self.is_path else writer.saveAsTable(self.name)

    def _location(self) -> str:
        if self.is_path:
            return self.name.rstrip("/")
        facts = self.spark.sql(f"describe table extended {self.name}").collect()
        return next(str(row["data_type"]) for row in facts if row["col_name"] == "Location")
