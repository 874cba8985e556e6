"""The options of the format `rocketmq`, as a sink.

    option            default          meaning
    nameserver        $NAMESRV_ADDR    host:port, several separated by ;
    topic                              where to write; goes before a column `topic`
    group             spark-sink       the producer group
    delivery          at-least-once    or exactly-once, for streams: half messages and a commit record per micro-batch
    commitLocation                     where commit records are kept; beside the query's checkpoint unless given
    batchBytes        524288           messages of one queue are sent together up to this size
    batchRows         4096             and this number
    sendTimeoutMs     120000           how long a task waits for a silent broker, or for one to say SEND_OK
    topicQueues       4                queues of a topic that is made by being written to
    maxRowsPerSecond                   of each task
    and the options of a connection: accessKey, secretKey, tls..., see source_options

Output modes of a stream are append and complete; Spark offers sinks in Python no update (`foreachBatch` does).

Columns: `body` (binary or string) is required. These are used when they are there: topic, tags, keys (string or array
of strings), properties (map), delayLevel, shardingKey, queueId, flag. Kafka's names `value` and `key` serve for body
and keys. Rows with the same shardingKey or queueId keep their order. Keys and properties that are no strings are
written as Arrow casts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import types as t

from sprocketmq.errors import ConfigError
from sprocketmq.spark.options.connection import CONNECTION_OPTIONS, Connect
from sprocketmq.spark.options.options import OptionError, Options
from sprocketmq.spark.schema import ALIASES

SINK_OPTIONS = (
    *CONNECTION_OPTIONS,
    "topic", "delivery", "commitLocation", "checkpointLocation", "batchBytes", "batchRows", "sendTimeoutMs",
    "topicQueues", "maxRowsPerSecond",
)  # fmt: skip
_DELIVERIES = ("at-least-once", "exactly-once")

_TEXT = (t.StringType, t.VarcharType, t.CharType)
_NESTED = (t.ArrayType, t.MapType, t.StructType)
#: Column -> the Spark types it may have.
COLUMNS: dict[str, tuple[type[t.DataType], ...]] = {
    "body": (t.BinaryType, *_TEXT),
    "value": (t.BinaryType, *_TEXT),
    "topic": _TEXT,
    "tags": _TEXT,
    "keys": (*_TEXT, t.ArrayType),
    "key": (*_TEXT, t.ArrayType),
    "properties": (t.MapType,),
    "delayLevel": (t.IntegerType, t.LongType, t.ShortType, t.ByteType),
    "shardingKey": _TEXT,
    "queueId": (t.IntegerType, t.LongType, t.ShortType, t.ByteType),
    "flag": (t.IntegerType, t.LongType, t.ShortType, t.ByteType),
}


@dataclass(frozen=True)
class SinkOptions:
    """The options, checked. Plain data that travels to the executors."""

    connect: Connect
    topic: str | None
    group: str
    exactly_once: bool
    commit_location: str | None
    batch_bytes: int
    batch_rows: int
    patience: float
    topic_queues: int
    rows_per_second: int | None

    @classmethod
    def of(cls, given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
        options = Options(given, SINK_OPTIONS)
        exactly_once = options.choice("delivery", _DELIVERIES, "at-least-once") == "exactly-once"
        if exactly_once and not streaming:
            raise OptionError("delivery", "exactly-once is for streams: a batch job has no checkpoint to come back to")
        return cls(
            Connect.of(options),
            options.text("topic"),
            options.text("group") or "spark-sink",
            exactly_once,
            _commit_location(options) if exactly_once else None,
            options.integer("batchBytes", 512 * 1024) or 0,
            options.integer("batchRows", 4096) or 0,
            (options.integer("sendTimeoutMs", 120_000) or 0) / 1000,
            options.integer("topicQueues", 4) or 0,
            options.integer("maxRowsPerSecond"),
        )


def _commit_location(options: Options) -> str:
    if (place := options.text("commitLocation")) is not None:
        return place
    if (checkpoint := options.text("checkpointLocation")) is not None:
        return f"{checkpoint.rstrip('/')}/rocketmq-commits"
    raise OptionError("commitLocation", "is missing: exactly-once keeps its commit records there")


class ColumnError(OptionError):
    """A column of a DataFrame that cannot be written."""

    def __init__(self, column: str, reason: str) -> None:
        ConfigError.__init__(self, f"column {column!r} {reason}")
        self.name = column


def check_columns(schema: t.StructType, options: SinkOptions) -> None:
    """Raises OptionError for a DataFrame that cannot be written."""
    names = schema.fieldNames()
    for field in schema.fields:
        allowed = COLUMNS.get(field.name)
        if allowed is None:
            raise ColumnError(field.name, f"means nothing to the sink; it knows {', '.join(COLUMNS)}")
        if not isinstance(field.dataType, allowed) or any(isinstance(part, _NESTED) for part in _parts(field.dataType)):
            wanted = " or ".join(kind.typeName() for kind in allowed)
            raise ColumnError(field.name, f"is {field.dataType.simpleString()}; it has to be {wanted}")
    for alias, name in ALIASES.items():
        if alias in names and name in names:
            raise ColumnError(name, f"and {alias!r} are the same: give one of them")
    if "body" not in names and "value" not in names:
        raise ColumnError("body", "is missing")
    if options.topic is None and "topic" not in names:
        raise OptionError("topic", "is missing, and there is no column of that name")


def _parts(kind: t.DataType) -> list[t.DataType]:
    """What the cells of a list or map are made of."""
    if isinstance(kind, t.MapType):
        return [kind.keyType, kind.valueType]
    return [kind.elementType] if isinstance(kind, t.ArrayType) else []
