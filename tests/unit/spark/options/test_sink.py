"""The sink's options and columns."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.sink import SinkOptions, check_columns
from sprocketmq.spark.write.sink import batch_writer

BODY = t.StructField("body", t.BinaryType())


def options(**given: str) -> SinkOptions:
    return SinkOptions.of({"nameserver": "localhost:9876", "topic": "orders", **given}, streaming=False)


def test_columns_that_a_message_can_have() -> None:
    keys = t.StructField("keys", t.ArrayType(t.StringType()))
    check_columns(t.StructType([BODY, keys, t.StructField("delayLevel", t.IntegerType())]), options())
    check_columns(
        t.StructType([t.StructField("value", t.StringType()), t.StructField("key", t.StringType())]), options()
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([t.StructField("tags", t.StringType())], "column 'body' is missing"),
        ([BODY, t.StructField("value", t.StringType())], "column 'body' and 'value' are the same: give one"),
        (
            [BODY, t.StructField("key", t.StringType()), t.StructField("keys", t.StringType())],
            "column 'keys' and 'key' are the same: give one",
        ),
        ([t.StructField("value", t.LongType())], "column 'value' is bigint; it has to be binary or string"),
        (
            [BODY, t.StructField("keys", t.ArrayType(t.ArrayType(t.StringType())))],
            "column 'keys' is array<array<string>>",
        ),
        (
            [BODY, t.StructField("properties", t.MapType(t.StringType(), t.StructType()))],
            "column 'properties' is map<string,struct<>>; it has to be map",
        ),
        ([BODY, t.StructField("colour", t.StringType())], "column 'colour' means nothing to the sink"),
    ],
)
def test_columns_that_it_cannot(fields: list[t.StructField], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        check_columns(t.StructType(fields), options())


def test_a_topic_must_come_from_somewhere() -> None:
    with pytest.raises(OptionError, match="'topic' is missing"):
        check_columns(t.StructType([BODY]), options(topic=""))
    check_columns(t.StructType([BODY, t.StructField("topic", t.StringType())]), options(topic=""))


def test_a_topic_is_not_overwritten() -> None:
    with pytest.raises(OptionError, match="overwrite is impossible"):
        batch_writer(options(), t.StructType([BODY]), True)
