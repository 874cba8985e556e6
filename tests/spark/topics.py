"""Topics for tests: filled through the sink's writer and read through the source's readers, without Spark's engine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.blocking.offsets import max_offset
from sprocketmq.client.cluster.requests import check
from sprocketmq.client.errors import ClientError, NoRoute
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.headers.topic import CreateTopicRequestHeader
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.batch import BatchReader
from sprocketmq.spark.schema import DEFAULT_COLUMNS, spark_schema
from sprocketmq.spark.write.sink import Written, batch_writer

_TYPES: dict[str, tuple[t.DataType, Any]] = {
    "body": (t.BinaryType(), pa.binary()),
    "topic": (t.StringType(), pa.string()),
    "tags": (t.StringType(), pa.string()),
    "keys": (t.StringType(), pa.string()),
    "properties": (t.MapType(t.StringType(), t.StringType()), pa.map_(pa.string(), pa.string())),
    "delayLevel": (t.IntegerType(), pa.int32()),
    "shardingKey": (t.StringType(), pa.string()),
    "queueId": (t.IntegerType(), pa.int32()),
}


def batch_of(rows: list[dict[str, Any]]) -> tuple[pa.RecordBatch, t.StructType]:
    names = list(rows[0])
    schema = pa.schema([(name, _TYPES[name][1]) for name in names])
    return pa.RecordBatch.from_pylist(rows, schema=schema), t.StructType(
        [t.StructField(name, _TYPES[name][0]) for name in names]
    )


def write(nameserver: str, topic: str | None, rows: list[dict[str, Any]], **options: str) -> Written:
    """Write, and wait until readers of `topic` can see it: Apache's queues follow its log a moment later."""
    batch, schema = batch_of(rows)
    given = {"nameserver": nameserver, **({"topic": topic} if topic else {}), **options}
    chosen = SinkOptions.of(given, streaming=False)
    seen = _visible(chosen.connect, topic)
    written = batch_writer(chosen, schema, False).write(iter([batch]))
    if topic:
        _wait(chosen.connect, topic, seen + len(rows))
    return written


def wait_for(nameserver: str, topic: str, messages: int) -> None:
    """Until the topic has had so many messages."""
    _wait(Connect((nameserver,)), topic, messages)


def _wait(connect: Connect, topic: str, messages: int) -> None:
    deadline = time.monotonic() + 120
    while _visible(connect, topic) < messages:
        assert time.monotonic() < deadline, f"{topic} does not show {messages} messages"
        time.sleep(0.01)


def _visible(connect: Connect, topic: str | None) -> int:
    """How many messages the queues of a topic have had; 0 while there is none."""
    with connect.open() as cluster:
        try:
            queues = cluster.route(topic or "", fresh=True).read_queues
        except ClientError:
            return 0
        return sum(max_offset(cluster, queue) for queue in queues)


def bodies(count: int, prefix: str = "m") -> list[dict[str, Any]]:
    return [{"body": f"{prefix}{number}".encode()} for number in range(count)]


def reader(nameserver: str, topic: str, **options: str) -> BatchReader:
    given = {"nameserver": nameserver, "subscribe": topic, **options}
    columns = options.get("columns", ",".join(DEFAULT_COLUMNS)).split(",")
    return BatchReader(SourceOptions.of(given, streaming=False), spark_schema(columns))


def read(nameserver: str, topic: str, **options: str) -> list[dict[str, Any]]:
    return rows_of(reader(nameserver, topic, **options))


def rows_of(source: Any, partitions: Iterable[Any] | None = None) -> list[dict[str, Any]]:
    found = source.partitions() if partitions is None else partitions
    return [row for part in found for batch in source.read(part) for row in batch.to_pylist()]


def create_topic(nameserver: str, topic: str, queues: int) -> None:
    """Make a topic, or give it another number of queues, and wait until the nameserver tells."""
    with Connect((nameserver,)).open() as cluster:
        for address in _masters(cluster):
            header = CreateTopicRequestHeader(
                topic=topic, default_topic="TBW102", read_queue_nums=queues, write_queue_nums=queues, perm=6,
                topic_filter_type="SINGLE_TAG", order=False,
            )  # fmt: skip
            check(cluster.ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header))
        cluster.insist(lambda: _require(cluster, topic, queues))


def _masters(cluster: BlockingCluster) -> list[str]:
    return [ids[0] for ids in cluster.route("TBW102").addresses.values()]


def _require(cluster: BlockingCluster, topic: str, queues: int) -> None:
    if len(cluster.route(topic, fresh=True).read_queues) < queues:
        raise NoRoute(topic, "not all queues yet")
