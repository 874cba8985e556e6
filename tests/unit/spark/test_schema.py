"""The columns' types, and the schemas that users may give."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from pyspark.sql import types as t

from sprocketmq.spark.options import OptionError
from sprocketmq.spark.schema import DEFAULT_COLUMNS, NULLS, TYPES, check_schema, spark_schema


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
