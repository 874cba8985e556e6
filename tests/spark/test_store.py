"""`rocketmq_store` through Spark itself."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.stores import GoldenStore

from sprocketmq.spark.pipeline.session import explain
from sprocketmq.store import scan


def read_stats(folder: Path) -> Counter[str]:
    """The sums over all tasks that wrote there."""
    return sum((Counter(json.loads(path.read_bytes())) for path in folder.glob("*.json")), Counter())


def test_a_store_is_a_data_frame(spark: SparkSession, store: GoldenStore) -> None:
    expected = scan(store.root).read_all()
    frame = spark.read.format("rocketmq_store").load(str(store.root))
    rows = frame.collect()
    assert sorted(row.commitLogOffset for row in rows) == expected["commitLogOffset"].to_pylist()
    one = next(row for row in rows if row.keys)
    same = next(row for row in expected.to_pylist() if row["commitLogOffset"] == one.commitLogOffset)
    for name in ("topic", "queueId", "queueOffset", "msgId", "uniqKey", "keys", "tags", "bornHost", "sysFlag"):
        assert one[name] == same[name]
    assert bytes(one.body) == same["body"]
    assert one.properties == dict(same["properties"])


def test_filters_and_columns_reach_the_files(spark: SparkSession, store: GoldenStore, tmp_path: Path) -> None:
    expected = Counter(scan(store.root).read_all()["topic"].to_pylist())
    frame = spark.read.format("rocketmq_store").schema("topic string, queueId int, queueOffset long, tags string")
    frame = frame.option("statsPath", str(tmp_path / "stats")).option("pushdown", "true")
    found = frame.load(str(store.root)).where("topic = 'OrderEvents' and queueOffset >= 5 and queueId in (0, 1)")
    rows = found.collect()
    assert rows
    assert all(row.queueOffset >= 5 and row.queueId in (0, 1) for row in rows)
    stats = read_stats(tmp_path / "stats")
    assert stats["rowsScanned"] == len(rows) < expected["OrderEvents"]


def test_tags_are_found_by_their_hashes(spark: SparkSession, store: GoldenStore, tmp_path: Path) -> None:
    expected = Counter(scan(store.root).read_all()["tags"].to_pylist())
    frame = spark.read.format("rocketmq_store").schema("tags string").option("statsPath", str(tmp_path / "stats"))
    assert frame.option("tags", "TagA").load(str(store.root)).count() == expected["TagA"] > 0
    assert read_stats(tmp_path / "stats")["rowsScanned"] == expected["TagA"] < sum(expected.values()) / 2


def test_a_mistake_is_told_in_one_line(spark: SparkSession, store: GoldenStore) -> None:
    for option, value, said in (("damage", "ignore", "option 'damage' is one of"), ("dammage", "x", "did you mean")):
        with pytest.raises(PySparkException) as caught:
            spark.read.format("rocketmq_store").option(option, value).load(str(store.root)).count()
        assert said in explain(str(caught.value))
        assert "\n" not in explain(str(caught.value))
