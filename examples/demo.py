"""`make demo`: what the project does, end to end, in about a minute; results stay in demo-output/.

A cluster of its own, a shop that sends orders, two groups that consume them, a Spark stream that totals them by minute
into another topic, an archive and a report. At the end the numbers must agree, or the demo fails.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.shop import AMOUNTS, ORDERS, TOPICS, TOTALS, consume, orders_to_send, produce
from rich.console import Console
from rich.table import Table

from sprocketmq.client.blocking import offsets
from sprocketmq.spark.options.connection import Connect
from sprocketmq.testing import EmbeddedCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT = Path("demo-output")
COUNT = 20_000

console = Console(highlight=False)


def main() -> int:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    began = time.monotonic()
    with EmbeddedCluster(OUTPUT / "cluster") as cluster:
        say(f"nameserver on {cluster.nameserver}, broker {cluster.broker_name} on {cluster.broker}")
        sent, received = asyncio.run(trade(cluster.nameserver))
        say(f"sent {sum(sent.values()):,} messages to {len(sent)} topics, consumed by two groups")
        spark = open_spark()
        try:
            checks = on_spark(spark, cluster.nameserver, sent, received)
        finally:
            end_spark(spark)
    show(checks)
    say(f"report: {OUTPUT / 'report' / 'index.html'}   archive: {OUTPUT / 'archive'}")
    say(f"done in {time.monotonic() - began:.0f} s")
    return 0 if all(len(set(values)) == 1 for values in checks.values()) else 1


async def trade(nameserver: str) -> tuple[dict[str, int], dict[str, int]]:
    """Messages sent by topic, and received by group."""
    messages = list(orders_to_send(COUNT))
    sent = await produce(nameserver, messages)
    paid = sum(message.tag == "paid" for message in messages if message.topic == ORDERS)
    billing, warehouse = await asyncio.gather(
        consume(nameserver, "billing", "*", sent[ORDERS]), consume(nameserver, "warehouse", "paid", paid)
    )
    return sent, {"billing": billing, "warehouse": warehouse, "paid": paid}


def open_spark() -> SparkSession:
    from sprocketmq.spark.pipeline import open_session

    say("starting Spark on local[2]")
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}
    return open_session("sprocketmq demo", "local[2]", conf)


def end_spark(spark: SparkSession) -> None:
    """Stop it, and wait for its JVM, which else ends some moments after this process."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)


def on_spark(
    spark: SparkSession, nameserver: str, sent: dict[str, int], received: dict[str, int]
) -> dict[str, tuple[int, ...]]:
    """The stream, the archive and the report; returns what must agree."""
    from sprocketmq.spark.pipeline import archive, report
    from sprocketmq.spark.pipeline.inputs import Input

    total = stream_totals(spark, nameserver)
    say(f"a stream wrote totals by minute to {TOTALS}")
    source = Input(nameserver, topics=TOPICS)
    archived = archive(spark, source, str(OUTPUT / "archive"))
    say(f"archived {archived.total:,} messages in {archived.batches} batches")
    found = report(spark, source, str(OUTPUT / "report"), groups=("billing", "warehouse"), title="The shop")
    stored = stored_messages(nameserver)
    return {
        "messages: sent, stored, archived, reported": (
            sum(sent.values()), stored, archived.total, found.messages,
        ),
        "orders: sent, consumed by billing": (sent[ORDERS], received["billing"]),
        "paid orders: sent, consumed by warehouse": (received["paid"], received["warehouse"]),
        "cents: ordered, totalled by the stream": (sum(AMOUNTS), total),
    }  # fmt: skip


def stream_totals(spark: SparkSession, nameserver: str) -> int:
    """Orders by minute and state, from topic to topic; returns the sum of what arrived there."""
    from pyspark.sql import functions as f

    source = {"nameserver": nameserver, "subscribe": ORDERS, "startingOffsets": "earliest", "group": "totals"}
    orders = spark.readStream.format("rocketmq").options(**source, columns="body,tags,bornTimestamp").load()
    cents = f.get_json_object(f.col("body").cast("string"), "$.cents").cast("long")
    window = f.window("bornTimestamp", "1 minute")
    totals = orders.groupBy(window, "tags").agg(f.sum(cents).alias("cents"), f.count("*").alias("orders"))
    rows = totals.select(f.to_json(f.struct("window.start", "tags", "cents", "orders")).alias("body"), "tags")
    sink = {"nameserver": nameserver, "topic": TOTALS, "checkpointLocation": str(OUTPUT / "checkpoint")}
    writer = rows.writeStream.format("rocketmq").outputMode("complete").options(**sink)
    writer.trigger(availableNow=True).start().awaitTermination()
    written = spark.read.format("rocketmq").options(nameserver=nameserver, subscribe=TOTALS).load()
    parsed = written.select(
        f.from_json(f.col("body").cast("string"), "start string, tags string, cents long").alias("t")
    )
    last = parsed.groupBy("t.start", "t.tags").agg(f.max("t.cents").alias("cents"))
    row = last.agg(f.sum("cents")).first()
    return int(row[0]) if row is not None else 0


def stored_messages(nameserver: str) -> int:
    with Connect((nameserver,)).open() as cluster:
        queues = [queue for topic in TOPICS for queue in cluster.route(topic).read_queues]
        return sum(offsets.max_offset(cluster, queue) for queue in queues)


def say(text: str) -> None:
    console.print(f"[bold]demo[/bold]  {text}")


def show(checks: dict[str, tuple[int, ...]]) -> None:
    table = Table("what", "numbers", "agree")
    for what, values in checks.items():
        table.add_row(what, " = ".join(f"{value:,}" for value in values), "yes" if len(set(values)) == 1 else "NO")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
