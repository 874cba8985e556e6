"""Where a job takes its messages from: topics of a cluster, a store directory, or an archive."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.spark.options.options import OptionError


@dataclass(frozen=True)
class Input:
    """Exactly one of `nameserver`, `store` and `archive`. Empty topics and tags mean all; times are in ms."""

    nameserver: str | None = None
    store: str | None = None
    archive: str | None = None
    topics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    begin_time: int | None = None
    end_time: int | None = None
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if sum(place is not None for place in (self.nameserver, self.store, self.archive)) != 1:
            raise OptionError("nameserver / store / archive", "is where messages come from: give exactly one of them")
        if self.nameserver is not None and not self.topics:
            raise OptionError("topic", "is missing: a cluster is read by topics")

    def load(self, spark: SparkSession, columns: tuple[str, ...] = ()) -> DataFrame:
        """The messages; with `columns` only those are decoded."""
        if self.archive is not None:
            frame = self._filtered(spark.read.parquet(self.archive))
            return frame.select(*columns) if columns else frame
        options = dict(self.options)
        if columns:
            options["columns"] = ",".join(columns)
        if self.store is not None:
            return self._from_store(spark, options)
        return self._from_cluster(spark, options)

    def _from_store(self, spark: SparkSession, options: dict[str, str]) -> DataFrame:
        given = {
            "topics": ",".join(self.topics),
            "tags": ",".join(self.tags),
            "startingTimestamp": "" if self.begin_time is None else str(self.begin_time),
            "endingTimestamp": "" if self.end_time is None else str(self.end_time),
            **options,
        }
        return spark.read.format("rocketmq_store").options(**given).load(self.store)

    def _from_cluster(self, spark: SparkSession, options: dict[str, str]) -> DataFrame:
        given = {
            "nameserver": self.nameserver or "",
            "subscribe": ",".join(self.topics),
            "tags": " || ".join(self.tags),
            "startingOffsetsByTimestampStrategy": "latest",
            "startingTimestamp": "" if self.begin_time is None else str(self.begin_time),
            "endingTimestamp": "" if self.end_time is None else str(self.end_time),
            **options,
        }
        return spark.read.format("rocketmq").options(**given).load()

    def _filtered(self, frame: DataFrame) -> DataFrame:
        if self.topics:
            frame = frame.where(f.col("topic").isin(*self.topics))
        if self.tags:
            frame = frame.where(f.col("tags").isin(*self.tags))
        if self.begin_time is not None:
            frame = frame.where(f.col("storeTimestamp") >= f.timestamp_millis(f.lit(self.begin_time)))
        if self.end_time is not None:
            frame = frame.where(f.col("storeTimestamp") < f.timestamp_millis(f.lit(self.end_time)))
        return frame
