"""`report`: what went through, how large, how fast and where it got stuck: a page, Parquet files, and a summary.

TARGET/index.html            one page that needs nothing else
TARGET/NAME.parquet          throughput, topics, sizes, latency, hot_keys, failures, lag, consumption
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.protocol.names import TRACE_TOPIC
from sprocketmq.protocol.record.properties import DLQ_ORIGIN_TOPIC, KEY_SEPARATOR, RETRY_TOPIC
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.lag import lag_rows
from sprocketmq.spark.pipeline.page import page
from sprocketmq.spark.pipeline.trace import consumptions

_COLUMNS = ("topic", "queueId", "keys", "uniqKey", "bornTimestamp", "storeTimestamp", "storeSize", "properties", "body")
_SIZES = (
    64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 2048, 4096, 16384, 65536, 1 << 18, 1 << 20, 1 << 40,
)  # fmt: skip
_POINTS = 120
#: Steps of a chart over time in milliseconds, such as people count in.
_STEPS_MS = tuple(
    unit * count
    for unit, counts in (
        (1, (10, 20, 50, 100, 200, 500)), (1000, (1, 2, 5, 10, 30)), (60_000, (1, 2, 5, 10, 30)),
        (3_600_000, (1, 2, 6, 12, 24)),
    )
    for count in counts
)  # fmt: skip
Rows = list[dict[str, Any]]


@dataclass
class Report:
    """The tables of a report, each a list of rows."""

    tables: dict[str, Rows] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        return sum(int(row["messages"]) for row in self.tables["topics"])

    def write(self, target: str, title: str, source: str = "") -> Path:
        import pyarrow as pa
        from pyarrow import parquet

        folder = Path(target.removeprefix("file://"))
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.tables.items():
            if rows:
                parquet.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
        (folder / "index.html").write_text(page(title, self.tables, source), "utf-8")
        return folder / "index.html"


def report(
    spark: SparkSession,
    source: Input,
    target: str | None = None,
    *,
    groups: tuple[str, ...] = (),
    title: str = "Report",
) -> Report:
    """The report over `source`; with `target` also as files there."""
    frame = source.load(spark, _COLUMNS).cache()
    try:
        found = Report(_tables(frame))
    finally:
        frame.unpersist()
    found.tables["lag"] = lag_rows(source, groups)
    if target is not None:
        found.write(target, title, _where(source))
    return found


def _tables(frame: DataFrame) -> dict[str, Rows]:
    plain = frame.where(f.col("topic") != TRACE_TOPIC)
    return {
        "topics": _rows(_topics(plain)),
        "throughput": _rows(_throughput(plain)),
        "sizes": _rows(_sizes(plain)),
        "latency": _rows(_latency(plain)),
        "hot_keys": _rows(_hot_keys(plain)),
        "failures": _rows(_failures(plain)),
        "consumption": _rows(_consumption(frame)),
    }


def _where(source: Input) -> str:
    if source.nameserver is not None:
        return f"cluster of {source.nameserver}"
    return f"store {source.store}" if source.store is not None else f"archive {source.archive}"


def _rows(frame: DataFrame) -> Rows:
    return [row.asDict() for row in frame.collect()]


def _delay_ms() -> Any:
    return f.greatest(f.lit(0), f.unix_millis("storeTimestamp") - f.unix_millis("bornTimestamp"))


def _topics(frame: DataFrame) -> DataFrame:
    found = frame.groupBy("topic").agg(
        f.count("*").alias("messages"),
        f.sum("storeSize").alias("bytes"),
        f.max("storeSize").alias("largest"),
        f.min("storeTimestamp").alias("first"),
        f.max("storeTimestamp").alias("last"),
        f.countDistinct("queueId").alias("queues"),
    )
    return found.orderBy(f.desc("messages"))


def _throughput(frame: DataFrame) -> DataFrame:
    """In steps of such a length that a chart has about a hundred of them."""
    ends = frame.agg(f.unix_millis(f.min("storeTimestamp")), f.unix_millis(f.max("storeTimestamp"))).first()
    first, last = (ends[0] or 0, ends[1] or 0) if ends is not None else (0, 0)
    step = step_ms(last - first)
    moment = (f.floor(f.unix_millis("storeTimestamp") / step) * step / 1000).alias("second")
    found = frame.groupBy(moment, "topic").agg(f.count("*").alias("messages"), f.sum("storeSize").alias("bytes"))
    return found.withColumn("perSecond", f.col("messages") * 1000 / step).orderBy("second", "topic")


def step_ms(span_ms: int) -> int:
    """The shortest of the usual steps that makes no more than `_POINTS` of the span; days beyond them."""
    day = _STEPS_MS[-1]
    return next((step for step in _STEPS_MS if span_ms <= step * _POINTS), -(-span_ms // (day * _POINTS)) * day)


def _sizes(frame: DataFrame) -> DataFrame:
    bound = f.coalesce(*(f.when(f.col("storeSize") <= size, f.lit(size)) for size in _SIZES))
    return frame.groupBy(bound.alias("upTo")).agg(f.count("*").alias("messages")).orderBy("upTo")


def _latency(frame: DataFrame) -> DataFrame:
    """Milliseconds from the producer's clock to the broker's."""
    parts = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
    columns = [f.percentile_approx(_delay_ms(), share).alias(name) for name, share in parts.items()]
    return frame.groupBy("topic").agg(f.count("*").alias("messages"), *columns).orderBy("topic")


def _hot_keys(frame: DataFrame) -> DataFrame:
    keys = frame.select("topic", f.explode(f.split("keys", KEY_SEPARATOR)).alias("key")).where("key != ''")
    return keys.groupBy("topic", "key").agg(f.count("*").alias("messages")).orderBy(f.desc("messages")).limit(20)


def _failures(frame: DataFrame) -> DataFrame:
    """Messages that came back (retry) or were given up (dead letters), by group and the topic they came from."""
    failed = frame.where(f.col("topic").startswith("%RETRY%") | f.col("topic").startswith("%DLQ%"))
    kind = f.when(f.col("topic").startswith("%DLQ%"), "dead letter").otherwise("retry").alias("kind")
    group = f.regexp_replace("topic", "^%(RETRY|DLQ)%", "").alias("group")
    origin = f.coalesce(f.col("properties")[DLQ_ORIGIN_TOPIC], f.col("properties")[RETRY_TOPIC]).alias("origin")
    return failed.groupBy(kind, group, origin).agg(f.count("*").alias("messages")).orderBy(f.desc("messages"))


def _consumption(frame: DataFrame) -> DataFrame:
    """By group, from the trace: how long from born to consumed, how long handlers took, how many failed."""
    traced = frame.where(f.col("topic") == TRACE_TOPIC)
    born = frame.where(f.col("topic") != TRACE_TOPIC).select("uniqKey", f.unix_millis("bornTimestamp").alias("born"))
    ends = consumptions(traced).join(born, "uniqKey", "left")
    waited = f.greatest(f.lit(0), f.col("begun") - f.col("born"))
    return ends.groupBy("group").agg(
        f.count("*").alias("messages"),
        f.count_if(~f.col("success")).alias("failed"),
        f.percentile_approx(waited, 0.5).alias("waitedP50"),
        f.percentile_approx(waited, 0.99).alias("waitedP99"),
        f.percentile_approx("cost", 0.5).alias("handledP50"),
        f.percentile_approx("cost", 0.99).alias("handledP99"),
    )
