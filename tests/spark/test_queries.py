"""Queries on Spark's engine: batch and stream, checkpoints, and a stream that must equal the batch over its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.topics import bodies, read, write


@pytest.fixture
def cluster(sprocket_rocketmq: Cluster) -> Cluster:
    return sprocket_rocketmq


def orders(count: int, begin: int = 0) -> list[dict[str, Any]]:
    return [
        {"body": f"{i % 10 + 1}".encode(), "tags": ("new", "paid", "sent")[i % 3], "keys": f"order-{i}"}
        for i in range(begin, begin + count)
    ]


def load(spark: SparkSession, cluster: Cluster, topic: str, **options: str) -> DataFrame:
    given = {"nameserver": cluster.address, "subscribe": topic, **options}
    return spark.read.format("rocketmq").options(**given).load()


def test_a_topic_is_a_data_frame_both_ways(spark: SparkSession, cluster: Cluster, unique: Unique) -> None:
    topic = unique("frames")
    frame = spark.range(1000).select(
        f.col("id").cast("string").alias("body"),
        f.when(f.col("id") % 2 == 0, "even").otherwise("odd").alias("tags"),
        f.create_map(f.lit("half"), (f.col("id") / 2).cast("string")).alias("properties"),
    )
    frame.write.format("rocketmq").mode("append").option("nameserver", cluster.address).option("topic", topic).save()
    back = load(spark, cluster, topic, minPartitions="6")
    assert back.select(f.col("body").cast("string").cast("long").alias("n")).agg(f.sum("n")).first() == (499500,)
    assert back.where("tags = 'even'").count() == 500
    places = [row["queueOffset"] for row in read(cluster.address, topic, columns="queueOffset")]
    assert back.where("queueOffset < 10").count() == sum(place < 10 for place in places) > 0
    assert back.select("uniqKey").distinct().count() == 1000, "a query after filters sees every row"


def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, cluster: Cluster, unique: Unique, tmp_path: Path
) -> None:
    topic, group = unique("resumed"), unique("group")
    source = {"nameserver": cluster.address, "subscribe": topic, "startingOffsets": "earliest", "group": group}

    def run() -> int:
        stream = spark.readStream.format("rocketmq").options(**source).option("maxOffsetsPerTrigger", "40").load()
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start()
        query.awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).select("uniqKey").distinct().count()

    write(cluster.address, topic, bodies(100))
    assert run() == 100
    write(cluster.address, topic, bodies(50))
    assert run() == 150
    assert spark.read.parquet(str(tmp_path / "out")).count() == 150


def test_windowed_totals_from_topic_to_topic_equal_the_batch(
    spark: SparkSession, cluster: Cluster, unique: Unique, tmp_path: Path
) -> None:
    """The driver's query ends and starts again between the halves; what it wrote is what a batch finds."""
    topic, totals = unique("orders"), unique("totals")

    def totalled(frame: DataFrame) -> DataFrame:
        amount = f.col("body").cast("string").cast("long")
        window = f.window("storeTimestamp", "1 hour")
        return frame.groupBy(window, "tags").agg(f.sum(amount).alias("total"))

    def run() -> None:
        source = {"nameserver": cluster.address, "subscribe": topic, "startingOffsets": "earliest"}
        frame = totalled(spark.readStream.format("rocketmq").options(**source).load())
        rows = frame.select(
            f.to_json(f.struct("window.start", "tags", "total")).alias("body"), "tags",
            f.concat_ws("-", f.col("window.start").cast("string"), "tags").alias("keys"),
        )  # fmt: skip
        writer = rows.writeStream.format("rocketmq").outputMode("complete").trigger(availableNow=True)
        sink = {"nameserver": cluster.address, "topic": totals, "checkpointLocation": str(tmp_path / "checkpoint")}
        writer.options(**sink).start().awaitTermination()

    for begin in (0, 150):
        write(cluster.address, topic, orders(150, begin))
        run()
    latest: dict[str, Any] = {}
    for row in sorted(read(cluster.address, totals), key=lambda row: row["storeTimestamp"]):
        latest[row["keys"]] = row["body"]
    expected = totalled(load(spark, cluster, topic)).select(f.to_json(f.struct("window.start", "tags", "total")))
    assert sorted(body.decode() for body in latest.values()) == sorted(row[0] for row in expected.collect())
