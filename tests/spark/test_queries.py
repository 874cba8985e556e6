"""Queries on Spark's engine: batch and stream, and checkpoints; `test_kills` has a stream that must equal the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.topics import bodies, read, write

from sprocketmq.spark.compat import HAS_ADMISSION_CONTROL


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
    runs = 1 if HAS_ADMISSION_CONTROL else 2
    assert [run() for _ in range(runs)][-1] == 150
    assert spark.read.parquet(str(tmp_path / "out")).count() == 150


def test_workers_do_not_compile_pyspark_anew(spark: SparkSession) -> None:
    """Those of a test; a user's take it from the archive, as Spark wants it."""
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: str(__import__("pyspark").__file__)).first()
    assert ".zip" not in found
