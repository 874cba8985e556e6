"""One side of `bench.spark`; runs under either PySpark and prints rows per second, and seconds of latency, as JSON.

KIND ADDRESS ROWS_TO_READ ROWS_TO_WRITE LATENCY_SECONDS [STORE]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
WARM_UP = 20_000


def main(
    kind: str, address: str, rows_to_read: int, rows_to_write: int, latency_seconds: int, store: str | None = None
) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
    spark = (builder.config("spark.jars.packages", KAFKA) if kind == "kafka" else builder).getOrCreate()
    body = "body" if kind == "rocketmq" else "value"
    places = {"nameserver": address} if kind == "rocketmq" else {"kafka.bootstrap.servers": address}

    def write(topic: str, rows: int) -> None:
        frame = spark.range(0, rows, 1, 4).selectExpr(f"lpad(cast(id as string), 128, 'x') as {body}")
        frame.write.format(kind).mode("append").options(**places, topic=topic).save()

    def read(topic: str) -> None:
        frame = spark.read.format(kind).options(**places, subscribe=topic, startingOffsets="earliest").load()
        frame.write.format("noop").mode("overwrite").save()

    def scan(**options: str) -> None:
        frame = spark.read.format("rocketmq_store").options(minPartitions="8", **options).load(store)
        frame.write.format("noop").mode("overwrite").save()

    def latency() -> dict[str, float]:
        """From the broker's time of a message to that of its copy in another topic, by a stream that never waits."""
        time_of = "storeTimestamp" if kind == "rocketmq" else "timestamp"
        for topic in ("feed", "copy"):
            write(topic, 4)
        with tempfile.TemporaryDirectory() as folder:
            numbers = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
            feed = numbers.selectExpr(f"concat('n', cast(value as string)) as {body}").writeStream.format(kind)
            feed = feed.options(**places, topic="feed", checkpointLocation=f"{folder}/feed")
            source = spark.readStream.format(kind).options(**places, subscribe="feed", startingOffsets="latest").load()
            copy = source.select(body).writeStream.format(kind)
            copy = copy.options(**places, topic="copy", checkpointLocation=f"{folder}/copy")
            queries = [copy.start(), feed.trigger(processingTime="200 milliseconds").start()]
            time.sleep(latency_seconds)
            for query in reversed(queries):
                query.stop()
        ends = []
        for topic in ("feed", "copy"):
            rows = spark.read.format(kind).options(**places, subscribe=topic, startingOffsets="earliest").load()
            found = rows.selectExpr(f"cast({body} as string)", f"cast({time_of} as double)").collect()
            ends.append({text: when for text, when in found if text.startswith("n")})
        waits = sorted(ends[1][text] - ends[0][text] for text in ends[1])
        waits = waits[len(waits) // 4 :]  # the first batches pay for the start
        return {"p50": waits[len(waits) // 2], "p99": waits[len(waits) * 99 // 100]}

    write("warm", WARM_UP)
    read("warm")
    found = {"write": rows_to_write / seconds(lambda: write("written", rows_to_write))}
    write("written", rows_to_read - rows_to_write)
    found["read"] = rows_to_read / seconds(lambda: read("written"))
    if store:
        scan(topics="warm")
        found["scan"] = (rows_to_read + WARM_UP) / seconds(scan)
        same = "keys,body,topic,queueId,queueOffset,storeTimestamp,sysFlag"  # what Kafka's source gives
        found["scan of 7 columns"] = (rows_to_read + WARM_UP) / seconds(lambda: scan(columns=same))
    if latency_seconds:
        found.update(latency())
    print(json.dumps(found))
    spark.stop()


def seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    name, where, to_read, to_write, wait, *more = sys.argv[1:]
    main(name, where, int(to_read), int(to_write), int(wait), *more)
