"""One side of `bench.spark`, KIND ADDRESS [STORE]; runs under either PySpark.

Takes one order per line, answers each with a line of JSON:

    write TOPIC ROWS [headers]   read TOPIC [COLUMNS | headers]   scan [COLUMNS]   ->  seconds
    latency SECONDS   ->  {"p50": seconds, "p99": seconds}
    ready             ->  0, when the session is up

Kafka's messages have headers when they are asked for: the properties that a message of RocketMQ has in any case.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

from pyspark.sql import DataFrame, SparkSession

FILLING = "x" * 112  # a body has 128 bytes; to make it should cost little beside its writing
HEADERS = {
    "UNIQ_KEY": "lpad(hex(id), 32, '0')",
    "WAIT": "'true'",
    "MSG_REGION": "'DefaultRegion'",
    "TRACE_ON": "'true'",
    "CLUSTER": "'DefaultCluster'",
}
KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"


class Side:
    def __init__(self, kind: str, address: str, store: str = "") -> None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers take the python3 of the path
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
        self.spark = builder.config(map=_own_conf(kind)).getOrCreate()
        self.kind, self.store = kind, store
        self.body, self.time = ("body", "storeTimestamp") if kind == "rocketmq" else ("value", "timestamp")
        self.places = {"nameserver" if kind == "rocketmq" else "kafka.bootstrap.servers": address}

    def obey(self, order: str, *words: str) -> float | dict[str, float]:
        if order == "latency":
            return self.latency(int(words[0]))
        if order == "ready":
            return 0
        begin = time.perf_counter()
        if order == "write":
            self.write(words[0], int(words[1]), *words[2:])
        else:
            frame = self.rows(*words) if order == "read" else self.scan(*words)
            frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begin

    def write(self, topic: str, rows: int, headers: str = "") -> None:
        text = f"concat('{FILLING}', lpad(cast(id as string), 16, '0')) as {self.body}"
        frame = self.spark.range(0, rows, 1, 4).selectExpr(text, *([_headers()] if headers else []))
        frame.write.format(self.kind).mode("append").options(**self.places, topic=topic).save()

    def rows(self, topic: str, columns: str = "") -> DataFrame:
        options = self.places | {"subscribe": topic, "startingOffsets": "earliest"} | _only(columns)
        return self.spark.read.format(self.kind).options(**options).load()

    def scan(self, columns: str = "") -> DataFrame:
        source = self.spark.read.format("rocketmq_store").options(minPartitions="8", **_only(columns))
        return source.load(self.store)

    def latency(self, seconds: int) -> dict[str, float]:
        """From the broker's time of a message to that of its copy in another topic, by a stream that never waits."""
        for topic in ("feed", "copy"):
            self.write(topic, 4)
        with tempfile.TemporaryDirectory() as folder:
            numbers = self.spark.readStream.format("rate").option("rowsPerSecond", 20).load()
            texts = numbers.selectExpr(f"concat('n', cast(value as string)) as {self.body}")
            source = self.spark.readStream.format(self.kind)
            source = source.options(**self.places, subscribe="feed", startingOffsets="latest")
            queries = []
            for topic, rows, pause in (("copy", source.load().select(self.body), "0"), ("feed", texts, "200")):
                sink = rows.writeStream.format(self.kind)
                sink = sink.options(**self.places, topic=topic, checkpointLocation=f"{folder}/{topic}")
                queries.append(sink.trigger(processingTime=f"{pause} milliseconds").start())
            time.sleep(seconds)
            for query in reversed(queries):
                query.stop()
        return _percentiles(*(self._times(topic) for topic in ("feed", "copy")))

    def _times(self, topic: str) -> dict[str, float]:
        found = self.rows(topic).selectExpr(f"cast({self.body} as string)", f"cast({self.time} as double)").collect()
        return {text: when for text, when in found if text.startswith("n")}


def _own_conf(kind: str) -> dict[str, bool | float | int | str | None]:
    if kind == "kafka":
        return {"spark.jars.packages": KAFKA}
    from sprocketmq.spark import SESSION_CONF

    return SESSION_CONF


def _only(columns: str) -> dict[str, str]:
    if columns == "headers":
        return {"includeHeaders": "true"}
    return {"columns": columns} if columns else {}


def _headers() -> str:
    pairs = (f"named_struct('key', '{key}', 'value', cast({text} as binary))" for key, text in HEADERS.items())
    return f"array({', '.join(pairs)}) as headers"


def _percentiles(begin: dict[str, float], end: dict[str, float]) -> dict[str, float]:
    texts = sorted(end, key=begin.__getitem__)
    waits = sorted(end[text] - begin[text] for text in texts[len(texts) // 4 :])  # the first batches pay for the start
    return {"p50": waits[len(waits) // 2], "p99": waits[len(waits) * 99 // 100]}


def main() -> None:
    side = Side(*sys.argv[1:])
    for line in sys.stdin:
        print(json.dumps(side.obey(*line.split())), flush=True)
    side.spark.stop()


if __name__ == "__main__":
    main()
