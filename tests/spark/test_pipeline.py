"""The jobs of `sprocket pipeline`, as functions."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.topics import bodies, read, write
from tests.stores import GoldenStore, fingerprint

from sprocketmq.protocol.names import TRACE_TOPIC
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.pipeline import archive, audit_delivery, audit_store, query, rebuild, replay, report
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.target import ArchiveFolder
from sprocketmq.store import scan

TRACE = [
    "Pub\x010\x01R\x01shop\x01orders\x01A\x01t\x01k\x01h:1\x019\x011\x010\x01X\x01true\x02",
    "Pub\x010\x01R\x01shop\x01orders\x01B,C\x01t\x01k\x01h:1\x019\x011\x010\x01X\x01true\x02",
    "Pub\x010\x01R\x01shop\x01orders\x01D\x01t\x01k\x01h:1\x019\x011\x010\x01X\x01false\x02",
    *(f"SubBefore\x015\x01R\x01{group}\x01r-{group}-{n}\x01{key}\x010\x01k\x02"
      f"SubAfter\x01r-{group}-{n}\x01{key}\x013\x01{ok}\x01k\x010\x02"
      for n, (group, key, ok) in enumerate([("g", "A", "true"), ("g", "B", "false"), ("g", "B", "true"),
                                            ("g", "A", "true"), ("other", "C", "true")])),
]  # fmt: skip


def test_a_store_is_archived_once_and_read_back(spark: SparkSession, store: GoldenStore, tmp_path: Path) -> None:
    expected = Counter(scan(store.root).read_all()["topic"].to_pylist())
    target = tmp_path / "archive"
    source = Input(store=str(store.root))
    done = archive(spark, source, str(target))
    assert (done.rows, done.batches, done.total) == (expected.total(), 1, expected.total())
    assert archive(spark, source, str(target)).rows == 0, "nothing is new"
    back = spark.read.parquet(str(target)).groupBy("topic").count().collect()
    assert {row["topic"]: row["count"] for row in back} == expected
    sql = "select tags, count(*) as n, max(text) from OrderEvents group by tags order by tags"
    found = query(spark, sql, archive=str(target)).collect()
    assert sum(row["n"] for row in found) == expected["OrderEvents"]
    assert query(spark, sql, store=str(store.root)).collect() == found
    with pytest.raises(AnalysisException, match=r"`tags`, .*`msgId`"):
        query(spark, "select tag from OrderEvents", store=str(store.root))


def test_a_batch_that_died_leaves_nothing_behind(spark: SparkSession, store: GoldenStore, tmp_path: Path) -> None:
    folder = ArchiveFolder(tmp_path / "archive")
    frame = Input(store=str(store.root), topics=("AuditLog",)).load(spark)
    rows = folder.write(frame, 0)
    (tmp_path / "archive" / "_batches" / "00000000.json").unlink()  # as if it had died before its note
    assert folder.write(frame, 0) == rows
    assert folder.write(frame, 0) == rows, "a repeated batch"
    assert spark.read.parquet(folder.address).count() == rows
    folder.write(frame, 1)
    assert folder.compact() > 0
    assert spark.read.parquet(folder.address).count() == 2 * rows
    assert folder.compact() == 0


def test_topics_are_archived_as_they_grow_and_replayed_in_order(
    spark: SparkSession, sprocket_rocketmq: Cluster, unique: Unique, tmp_path: Path
) -> None:
    nameserver, topic, again = sprocket_rocketmq.address, unique("archived"), unique("again")
    target = str(tmp_path / "archive")
    for count in (60, 40):
        write(nameserver, topic, [{**row, "queueId": i % 4} for i, row in enumerate(bodies(count))])
        assert archive(spark, Input(nameserver, topics=(topic,)), target).rows == count
    source = Input(archive=target)
    dry = replay(spark, source, nameserver, again, where="queueId < 2", dry_run=True)
    assert (dry.rows, dry.by_topic) == (50, {topic: 50})
    assert replay(spark, source, nameserver, again, where="queueId < 2").rows == 50
    sent, copied = read(nameserver, topic), read(nameserver, again)
    for number in (0, 1):
        own = [[row["body"] for row in rows if row["queueId"] == number] for rows in (sent, copied)]
        assert own[0] == own[1]


def test_a_whole_store_passes_the_audit_and_a_damaged_one_does_not(spark: SparkSession, store: GoldenStore) -> None:
    found = audit_store(spark, str(store.root))
    assert found.ok
    assert found.records == found.queue_entries == 1018
    assert found.index_entries > 1018
    place: Any = scan(store.root).read_all()["commitLogOffset"].to_pylist()[400]
    log = max(path for path in (store.root / "commitlog").iterdir() if int(path.name) <= place)
    data = bytearray(log.read_bytes())
    data[place - int(log.name) + 88] ^= 1
    log.write_bytes(data)
    kinds = {finding.file.split("/")[0] for finding in audit_store(spark, str(store.root)).findings}
    assert kinds == {"commitlog", "consumequeue"}


def test_losses_and_duplicates_are_found_in_the_trace(spark: SparkSession) -> None:
    trace = spark.createDataFrame([(TRACE_TOPIC, text.encode()) for text in TRACE], "topic string, body binary")
    found = audit_delivery(trace, trace, "g")
    assert (found.sent, found.consumed, found.lost, found.duplicates, found.unknown) == (3, 2, 1, 1, 0)
    assert (found.lost_keys, found.duplicate_keys) == (["C"], ["A"])


def test_a_rebuilt_store_is_the_same_to_the_byte(spark: SparkSession, store: GoldenStore) -> None:
    def files(name: str) -> dict[str, str]:
        return {path: print_ for path, (print_, _) in fingerprint(store.root / name).items() if print_}

    before = files("consumequeue"), files("index")
    shutil.rmtree(store.root / "consumequeue" / "OrderEvents")
    done = rebuild(spark, str(store.root))
    assert (done.records, done.queue_entries) == (1018, 1018)
    assert (files("consumequeue"), files("index")) == before


def test_a_report_is_one_page_and_tables(spark: SparkSession, store: GoldenStore, tmp_path: Path) -> None:
    found = report(spark, Input(store=str(store.root)), str(tmp_path / "report"), title="Shop <1>")
    assert found.messages == 1018
    assert {row["topic"] for row in found.tables["topics"]} == {"OrderEvents", "AuditLog", "Inventory"}
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Shop &lt;1&gt;" in page
    assert page.count("<svg") >= 2
    assert "http" not in page
    assert spark.read.parquet(str(tmp_path / "report" / "topics.parquet")).count() == 3


def test_inputs_are_checked() -> None:
    with pytest.raises(OptionError, match="exactly one"):
        Input(store="a", archive="b")
    with pytest.raises(OptionError, match="'topic' is missing"):
        Input(nameserver="h:1")
