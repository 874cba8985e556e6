"""The columns of an Arrow batch as compiled code reads them: Arrow's own buffers, cast where they are of another type.

Spark hands over strings, binaries, lists and maps with int32 offsets, or with int64 offsets when
`spark.sql.execution.arrow.useLargeVarTypes` is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sprocketmq.protocol.record.properties import KEYS, SHARDING_KEY, TAGS
from sprocketmq.spark.schema import ALIASES
from sprocketmq.spark.write.arrow_cells import Columns, Field, Numbers, Pairs, Ranges

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that become a property each, in the order in which these travel.
_FIELDS = {"tags": TAGS, "keys": KEYS, "shardingKey": SHARDING_KEY}


def columns_of(batch: pa.RecordBatch) -> Columns:
    """What is null in every row counts as not there."""
    found = {ALIASES.get(name, name): column for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    there = {name: column for name, column in found.items() if column.null_count < len(column)}
    return Columns(
        _texts(found["body"]),
        _texts(found["topic"]) if "topic" in found else None,
        [_field(name, there[column]) for column, name in _FIELDS.items() if column in there],
        _pairs(there["properties"]) if "properties" in there else None,
        _numbers(there.get("flag")),
        _numbers(there.get("delayLevel")),
        _texts(there["shardingKey"]) if "shardingKey" in there else None,
        _numbers(there.get("queueId")),
    )


def _field(name: str, column: Any) -> Field:
    import pyarrow.types as kinds

    if kinds.is_list(column.type) or kinds.is_large_list(column.type):
        return Field(name, _texts(column.values), _items(column))
    return Field(name, _texts(column))


def _pairs(column: Any) -> Pairs:
    return Pairs(_items(column), _texts(column.keys), _texts(column.items))


def _texts(column: Any) -> Ranges:
    import pyarrow as pa
    import pyarrow.types as kinds

    is_wide = kinds.is_large_string(column.type) or kinds.is_large_binary(column.type)
    if not (is_wide or kinds.is_string(column.type) or kinds.is_binary(column.type)):
        return _texts(column.cast(pa.string()))
    bits, offsets, data = column.buffers()
    return Ranges(bits, offsets, data, column.offset, is_wide)


def _items(column: Any) -> Ranges:
    """Which items of its children each cell of a list or map has."""
    import pyarrow.types as kinds

    bits, offsets = column.buffers()[:2]
    return Ranges(bits, offsets, None, column.offset, kinds.is_large_list(column.type))


def _numbers(column: Any) -> Numbers | None:
    import pyarrow as pa

    if column is None:
        return None
    whole = column.cast(pa.int64())
    bits, values = whole.buffers()
    return Numbers(bits, values, whole.offset)
