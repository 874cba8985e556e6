"""`make demo`: what the project does, end to end, in about a minute; results stay in demo-output/.

A cluster of its own, a shop that trades for one day (ten seconds here) while Spark starts beside it, three groups that
consume, a Spark stream that totals the orders by hour into another topic, an archive and a report. At the end the
numbers must agree, or the demo fails.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.shop import GROUPS, ORDERS, TOPICS, TOTALS, Takings, trade
from rich.console import Console

from sprocketmq.client.blocking import offsets
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.pipeline import archive, clean_errors, open_session, report
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.session import launch_jvm, run_to_end
from sprocketmq.testing import EmbeddedCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT = Path("demo-output")
COUNT = 20_000
MASTER = "local[2]"
FAILED = ("%RETRY%billing", "%DLQ%billing")
TRACE = "RMQ_SYS_TRACE_TOPIC"
#: A session that lives for half a minute: to compile each query and each hot method well would take longer than to run.
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}

Checks = dict[str, tuple[int, ...]]
console = Console(highlight=False)


def main() -> int:
    logging.getLogger("sprocketmq").setLevel(logging.ERROR)  # the shop's failures are on purpose
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    began = time.monotonic()
    say("about half a minute of work on two cores")
    with EmbeddedCluster(OUTPUT / "cluster") as cluster, ThreadPoolExecutor(1) as beside:
        say(f"nameserver on {cluster.nameserver}, broker {cluster.broker_name} on {cluster.broker}")
        opening = beside.submit(launch_jvm, MASTER, CONF, OUTPUT / "spark.log")
        with stage("the shop trades for a day: a tenth of a second is a quarter of an hour"):
            takings = asyncio.run(trade(cluster.nameserver, COUNT))
        with stage("Spark, which was started beside the shop, is ready"):
            opening.result()
            spark = open_session("sprocketmq demo", MASTER, CONF)
        try:
            with clean_errors():
                checks = on_spark(spark, cluster.nameserver, takings)
        finally:
            end_spark(spark)
    show(checks)
    agree = all(len(set(values)) == 1 for values in checks.values())
    say(f"{'done' if agree else 'FAILED: the numbers do not agree'} in {time.monotonic() - began:.0f} s")
    if agree:
        next_steps()
    return 0 if agree else 1


def end_spark(spark: SparkSession) -> None:
    """Stop it, and wait for its JVM, which else ends some moments after this process."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)


def on_spark(spark: SparkSession, nameserver: str, takings: Takings) -> Checks:
    """The stream, the archive and the report; returns what must agree."""
    with stage(f"a Spark stream totals the orders by hour into {TOTALS}"):
        total = stream_totals(spark, nameserver)
    with stage("everything is archived as Parquet"):
        archived = archive(spark, Input(nameserver, topics=TOPICS), str(OUTPUT / "archive"))
    with stage("a report is made"):
        source = Input(nameserver, topics=(*TOPICS, *FAILED, TRACE))
        found = report(spark, source, str(OUTPUT / "report"), groups=GROUPS, title="The shop")
    sent, topics = sum(takings.sent.values()), {row["topic"]: row["messages"] for row in found.tables["topics"]}
    received = takings.received
    return {
        "messages: sent, stored, archived, reported": (
            sent, stored_messages(nameserver), archived.total, sum(topics[topic] for topic in TOPICS),
        ),
        "orders: sent, consumed by billing": (takings.sent[ORDERS], received["billing"]),
        "paid orders: sent, consumed by warehouse": (takings.paid, received["warehouse"]),
        "reminders: sent, delivered after their delay": (takings.sent["reminders"], received["reminding"]),
        "failed orders: retried, given up": (topics.get(FAILED[0], 0), topics.get(FAILED[1], 0)),
        "cents: ordered, totalled by the stream": (takings.cents, total),
    }  # fmt: skip


def stream_totals(spark: SparkSession, nameserver: str) -> int:
    """Orders by hour of the shop and state, from topic to topic; returns the sum of what arrived there."""
    from pyspark.sql import functions as f

    source = {"nameserver": nameserver, "subscribe": ORDERS, "startingOffsets": "earliest", "group": "totals"}
    orders = spark.readStream.format("rocketmq").options(**source, columns="body,tags").load()
    body = f.from_json(f.col("body").cast("string"), "at timestamp, cents long").alias("o")
    window = f.window("o.at", "1 hour")
    totals = (
        orders.select("tags", body)
        .groupBy(window, "tags")
        .agg(f.sum("o.cents").alias("cents"), f.count("*").alias("orders"))
    )
    rows = totals.select(f.to_json(f.struct("window.start", "tags", "cents", "orders")).alias("body"), "tags")
    sink = {"nameserver": nameserver, "topic": TOTALS, "checkpointLocation": str(OUTPUT / "checkpoint")}
    writer = rows.writeStream.format("rocketmq").outputMode("complete").options(**sink)
    run_to_end(writer.trigger(availableNow=True).start)
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
    console.print(f"[bold]demo[/bold]   {text}", soft_wrap=True)


@contextmanager
def stage(text: str) -> Iterator[None]:
    """The text when it begins, its seconds when it ended."""
    began = time.monotonic()
    console.print(f"[bold]demo[/bold]   {text} ...", end="", soft_wrap=True)
    yield
    console.print(f" {time.monotonic() - began:.0f} s")


def show(checks: Checks) -> None:
    for what, values in checks.items():
        verdict = "[green]agree[/green]" if len(set(values)) == 1 else "[red]DO NOT AGREE[/red]"
        say(f"  {what:<46}{' = '.join(f'{value:,}' for value in values)}  {verdict}")


def next_steps() -> None:
    console.print(
        f"\nThe report:    open {OUTPUT / 'report' / 'index.html'} in a browser"
        f"\nThe archive:   {OUTPUT / 'archive'}, Parquet files by topic and date"
        "\n\nNext, type:"
        "\n  . .venv/bin/activate"
        "\n  sprocket up &                                  # and the console on http://127.0.0.1:8080"
        "\n  sprocket send orders 'one apple' --tag new"
        "\n  sprocket consume orders --group audit --from first -c 1"
        "\nREADME.md goes on from there.",
        soft_wrap=True,
    )


if __name__ == "__main__":
    sys.exit(main())
