"""The columns' types, and the schemas that users may give."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from sprocketmq.spark.compat import arrow_schema
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.schema import DEFAULT_COLUMNS, NULLS, TYPES, check_schema, record_columns, shaped, spark_schema


def test_columns_that_are_never_null_say_so() -> None:
    schema = spark_schema(DEFAULT_COLUMNS)
    assert {field.name for field in schema.fields if field.nullable} == {"brokerName", "uniqKey", "keys", "tags"}
    assert all(field.nullable for field in spark_schema(DEFAULT_COLUMNS, TYPES).fields)


def test_a_user_may_give_fewer_columns_with_looser_types() -> None:
    names = "body", "properties", "tags"
    loose = t.MapType(t.StringType(), t.StringType(), True)
    given = t.StructType().add("body", t.BinaryType()).add("properties", loose).add("tags", t.StringType())
    assert check_schema(given) == check_schema(spark_schema(names)) == names


@pytest.mark.parametrize(
    ("field", "nulls", "said"),
    [
        (t.StructField("body", t.StringType()), NULLS, "has body string; here it is binary"),
        (t.StructField("colour", t.StringType()), NULLS, "here it is no such column"),
        (t.StructField("tags", t.StringType(), False), NULLS, "tags is never null"),
        (t.StructField("body", t.BinaryType(), False), TYPES, "body is never null"),
    ],
)
def test_a_schema_that_promises_too_much_is_refused(field: t.StructField, nulls: Collection[str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        check_schema(t.StructType([field]), nulls)


def decoded(*properties: dict[str, str] | None) -> pa.RecordBatch:
    maps = pa.array(
        [None if one is None else list(one.items()) for one in properties], pa.map_(pa.string(), pa.string())
    )
    return pa.RecordBatch.from_arrays([pa.array(range(len(properties)), pa.int32()), maps], ["queueId", "properties"])


@pytest.mark.parametrize("broker", ["broker-a", None])
def test_batches_of_any_size_get_their_broker(broker: str | None) -> None:
    schema = spark_schema(("brokerName", "queueId"))
    batches = [decoded(*[{}] * size) for size in (0, 2, 3, 1, 0, 5)]
    found = list(shaped(iter(batches), schema, brokerName=broker))
    assert [batch.num_rows for batch in found] == [0, 2, 3, 1, 0, 5]
    for batch in found:
        assert batch.schema == arrow_schema(schema)
        assert batch["brokerName"].to_pylist() == [broker] * batch.num_rows
        batch.validate(full=True)


def test_maps_keep_what_they_hold() -> None:
    schema = spark_schema(("properties",), TYPES)
    rows: list[dict[str, str] | None] = [{"a": "1", "b": ""}, {}, {"c": "3"}, {"d": "4"}]
    batch = decoded(*rows)
    for given, expected in ((batch, rows), (batch.slice(1, 2), rows[1:3]), (decoded(None, *rows), [None, *rows])):
        (found,) = shaped(iter([given]), schema)
        found.validate(full=True)
        assert found.schema == arrow_schema(schema)
        assert [None if one is None else dict(one) for one in found["properties"].to_pylist()] == expected


def test_names_of_kafka_are_aliases() -> None:
    schema = spark_schema(("key", "value", "body"))
    assert record_columns(schema.fieldNames()) == ("keys", "body")
    batch = pa.RecordBatch.from_pydict({"keys": ["42"], "body": [b"one"]})
    (found,) = shaped(iter([batch]), schema)
    assert found.to_pylist() == [{"key": "42", "value": b"one", "body": b"one"}]
