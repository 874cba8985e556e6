"""`replay`: messages of an archive, a store or a topic, sent again to a topic, in the order of their queues.

A message goes to the queue with its own number (modulo those of the target), so messages of one queue stay in order
among themselves. Bodies, tags, keys and user properties stay; RocketMQ's own properties are made anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.client.errors import NoRoute
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.pipeline.inputs import Input

_NEEDED = ("topic", "brokerName", "queueId", "queueOffset", "tags", "keys", "properties", "body")


@dataclass(frozen=True)
class Replayed:
    rows: int
    by_topic: dict[str, int]
    dry_run: bool


def replay(
    spark: SparkSession,
    source: Input,
    nameserver: str,
    topic: str,
    *,
    where: str | None = None,
    rows_per_second: int | None = None,
    dry_run: bool = False,
    options: dict[str, str] | None = None,
) -> Replayed:
    """Send what `source` holds, and `where` (SQL over its columns) selects, to `topic`."""
    frame = source.load(spark)
    if where:
        frame = frame.where(where)
    frame = frame.select(*_NEEDED)
    counts = {row["topic"]: int(row["count"]) for row in frame.groupBy("topic").count().collect()}
    if not dry_run:
        _send(frame, nameserver, topic, rows_per_second, options or {})
    return Replayed(sum(counts.values()), counts, dry_run)


def _send(frame: DataFrame, nameserver: str, topic: str, rate: int | None, options: dict[str, str]) -> None:
    queues = _queue_count(Connect.to(nameserver, options), topic)
    queue = [f.col(name) for name in ("topic", "brokerName", "queueId")]
    tasks = 1 if rate is not None else min(queues, 8)  # a rate holds for one task
    ordered = frame.repartition(tasks, f.col("queueId") % queues).sortWithinPartitions(*queue, "queueOffset")
    rows = ordered.select("body", "tags", "keys", "properties", _target_queue(queues))
    given = {"nameserver": nameserver, "topic": topic, **options}
    if rate is not None:
        given["maxRowsPerSecond"] = str(rate)
    rows.write.format("rocketmq").mode("append").options(**given).save()


def _target_queue(queues: int) -> Column:
    return (f.col("queueId") % queues).alias("queueId")


def _queue_count(connect: Connect, topic: str) -> int:
    with connect.open() as cluster:
        try:
            route = cluster.route_to_send(connect.full_name(topic))
        except NoRoute:
            return 1
        return min((count for count in route.write_counts.values() if count), default=1)
