"""The columns of our sources, and how decoded batches take their shape.

Columns that cannot be null say so: Spark then makes rows of them without asking, which saves a seventh of its work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from sprocketmq.protocol.arrow.literals import repeated
from sprocketmq.spark.compat import arrow_schema
from sprocketmq.spark.options.options import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

_MAP = t.MapType(t.StringType(), t.StringType(), False)

#: Every column that can be asked for, with its type.
TYPES: dict[str, t.DataType] = {
    "topic": t.StringType(),
    "brokerName": t.StringType(),
    "queueId": t.IntegerType(),
    "queueOffset": t.LongType(),
    "commitLogOffset": t.LongType(),
    "msgId": t.StringType(),
    "uniqKey": t.StringType(),
    "keys": t.StringType(),
    "tags": t.StringType(),
    "properties": _MAP,
    "body": t.BinaryType(),
    "bornTimestamp": t.TimestampType(),
    "storeTimestamp": t.TimestampType(),
    "bornHost": t.StringType(),
    "storeHost": t.StringType(),
    "reconsumeTimes": t.IntegerType(),
    "sysFlag": t.IntegerType(),
    "preparedTransactionOffset": t.LongType(),
    "flag": t.IntegerType(),
    "storeSize": t.IntegerType(),
    "damage": t.StringType(),
    "key": t.StringType(),
    "value": t.BinaryType(),
}
#: What a reader gets who asks for nothing in particular.
DEFAULT_COLUMNS = tuple(TYPES)[:18]
#: What Kafka's source calls two of them; jobs that were written for it ask for them by these names.
ALIASES = {"key": "keys", "value": "body"}
#: What can be known of a whole message.
RECORD_COLUMNS = tuple(name for name in TYPES if name != "damage" and name not in ALIASES)
#: Columns that may be null in the row of a whole message; in the row of a damaged place any may.
NULLS = ("brokerName", "uniqKey", "keys", "tags", "damage", "key")
#: Columns that no record holds.
_ADDED = ("brokerName", "damage")


def spark_schema(columns: Iterable[str], nulls: Collection[str] = NULLS) -> t.StructType:
    names = list(columns)
    if unknown := [name for name in names if name not in TYPES]:
        raise OptionError("columns", f"has no column {', '.join(unknown)}; there are {', '.join(TYPES)}")
    return t.StructType([t.StructField(name, TYPES[name], name in nulls) for name in names])


def check_schema(schema: t.StructType, nulls: Collection[str] = NULLS) -> tuple[str, ...]:
    """The columns of a schema that a user gave: ours, with our types, in any order and number."""
    for field in schema.fields:
        wanted = TYPES[field.name].simpleString() if field.name in TYPES else "no such column"
        if field.dataType.simpleString() != wanted:
            raise OptionError("schema", f"has {field.name} {field.dataType.simpleString()}; here it is {wanted}")
        if not field.nullable and field.name in nulls:
            raise OptionError("schema", f"says that {field.name} is never null; here it may be")
    return tuple(schema.fieldNames())


def record_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Those columns that are decoded from records."""
    return tuple(dict.fromkeys(ALIASES.get(name, name) for name in columns if name not in _ADDED))


def shaped(
    batches: Iterator[pa.RecordBatch], schema: t.StructType, **constants: str | None
) -> Iterator[pa.RecordBatch]:
    """Batches with exactly the columns and types that Spark was promised; `constants` fill columns of text."""
    import pyarrow as pa

    target = arrow_schema(schema)
    fields = [(ALIASES.get(field.name, field.name), field.type) for field in target]
    for batch in batches:
        there = set(batch.schema.names)
        arrays = [
            _as(batch.column(name), kind) if name in there else repeated(constants.get(name), batch.num_rows)
            for name, kind in fields
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def _as(column: Any, kind: Any) -> Any:
    """The column in Spark's type for it. Only maps have another, which says that their values are never null."""
    import pyarrow as pa

    if column.type == kind:
        return column
    whole_map = pa.types.is_map(kind) and not column.null_count
    if whole_map:  # without `cast`, which imports much
        return pa.MapArray.from_arrays(column.offsets, column.keys, column.items, type=kind)
    return column.cast(kind)
