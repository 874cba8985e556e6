"""One side of `bench.spark`; runs under either PySpark and prints rows per second as JSON.

KIND ADDRESS ROWS_TO_READ ROWS_TO_WRITE [STORE]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
WARM_UP = 20_000


def main(kind: str, address: str, rows_to_read: int, rows_to_write: int, store: str | None = None) -> None:
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

    def scan() -> None:
        frame = spark.read.format("rocketmq_store").option("minPartitions", 8).load(store)
        frame.write.format("noop").mode("overwrite").save()

    write("warm", WARM_UP)
    read("warm")
    found = {"write": rows_to_write / seconds(lambda: write("written", rows_to_write))}
    write("written", rows_to_read - rows_to_write)
    found["read"] = rows_to_read / seconds(lambda: read("written"))
    if store:
        found["scan"] = (rows_to_read + WARM_UP) / seconds(scan)
    print(json.dumps(found))
    spark.stop()


def seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    name, where, to_read, to_write, *more = sys.argv[1:]
    main(name, where, int(to_read), int(to_write), *more)
