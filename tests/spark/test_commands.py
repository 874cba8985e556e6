"""`sprocket pipeline` as a user types it, and the examples, on one session and a small topic."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.topics import create_topic, read, write
from tests.stores import GoldenStore

from sprocketmq.cli import main as cli
from sprocketmq.cli.offline.pipeline import pipeline

Run = Callable[..., Any]


@pytest.fixture
def one_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(spark), "stop", lambda _: None)  # a command ends its session; here it is everybody's


@pytest.fixture
def run(one_session: None) -> Run:
    """A command's answer, from its JSON."""

    def run(*words: object, code: int = 0) -> Any:
        ran = CliRunner().invoke(pipeline, [*map(str, words), "--json"], catch_exceptions=False)
        assert ran.exit_code == code
        return json.loads(ran.stdout)

    return run


@pytest.fixture
def orders(sprocket_rocketmq: Cluster, unique: Unique) -> str:
    """A topic of two queues: forty orders, every fourth of them paid."""
    topic = unique("orders")
    create_topic(sprocket_rocketmq.address, topic, 2)
    rows = [{"body": b"%d" % i, "tags": "paid" if i % 4 == 0 else "new", "queueId": i % 2} for i in range(40)]
    write(sprocket_rocketmq.address, topic, rows)
    return topic


def test_archive_replay_query_and_report(
    run: Run, orders: str, sprocket_rocketmq: Cluster, unique: Unique, tmp_path: Path
) -> None:
    address, again = sprocket_rocketmq.address, unique("again")
    target = f"file://{tmp_path}/archive"
    archive = ("archive", target, "-n", address, "-t", orders)
    assert run(*archive, "--max-offsets", 25)["rows"] == 40
    assert run(*archive)["rows"] == 0, "a second run goes on where the first one ended"
    replay = ("replay", again, "--to", address, "--archive", target, "--tag", "paid")
    assert run(*replay, "--dry-run") == {"rows": 10, "by_topic": {orders: 10}, "dry_run": True}
    assert run(*replay, "--rate", 1000)["rows"] == 10
    assert sorted(row["body"] for row in read(address, again)) == sorted(b"%d" % i for i in range(0, 40, 4))
    counted = f"select tags, count(*) as n from `{orders}` group by tags order by tags"
    expected = [{"tags": "new", "n": 30}, {"tags": "paid", "n": 10}]
    assert run("query", counted, "--archive", target) == expected
    assert run("query", counted, "-n", address) == expected
    tables = run("report", tmp_path / "report", "-n", address, "-t", orders, "--title", "Orders")
    assert tables["topics"][0]["messages"] == 40
    assert "Orders" in (tmp_path / "report" / "index.html").read_text()


def test_audit_and_rebuild(run: Run, store: GoldenStore) -> None:
    audited = run("audit", "--store", store.root)
    assert audited["ok"]
    shutil.rmtree(store.root / "consumequeue" / "OrderEvents")
    assert not run("audit", "--store", store.root, code=1)["ok"]
    assert run("rebuild", store.root)["records"] == audited["records"]
    assert run("audit", "--store", store.root)["ok"]


@pytest.mark.parametrize("kind", ["orc", "json"])
def test_any_format_that_spark_writes(
    run: Run, spark: SparkSession, store: GoldenStore, tmp_path: Path, kind: str
) -> None:
    archive = ("archive", tmp_path / "archive", "--format", kind, "--store", store.root, "-t", "AuditLog")
    assert run(*archive)["rows"] == 412
    assert run(*archive)["rows"] == 0
    assert spark.read.format(kind).load(str(tmp_path / "archive")).where("topic = 'AuditLog'").count() == 412


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("archive", "OUT", "--format", "nonesuch", "--store", "STORE"), "is nonesuch, which Spark does not know"),
        (("archive", "OUT"), "give exactly one of them"),
        (("query", "select nothing from messages", "--store", "STORE"), "`nothing` cannot be resolved"),
        (("query", "selekt", "--store", "STORE"), "Syntax error"),
        (("query", "select 1 from messages", "--store", "OUT"), "is not a store: it has no commitlog files"),
        (("rebuild", "OUT"), "has no commitlog to rebuild from"),
        (("replay", "t", "--to", "127.0.0.1:1", "--store", "STORE", "--where", "no_such > 1"), "cannot be resolved"),
    ],
)
def test_a_mistake_is_one_line(
    one_session: None, store: GoldenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    places = {"OUT": str(tmp_path / "out"), "STORE": str(store.root)}
    monkeypatch.setattr(sys, "argv", ["sprocket", "pipeline", *(places.get(word, word) for word in words)])
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code in (1, 2)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("sprocket: ")]
    assert len(lines) == 1
    assert said in lines[0]
    assert "java" not in lines[0]


def test_the_examples_run_to_their_end(
    one_session: None, orders: str, sprocket_rocketmq: Cluster, store: GoldenStore, unique: Unique, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    address, again, totals = sprocket_rocketmq.address, unique("again"), unique("totals")

    def example(name: str, *words: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *words])
        runpy.run_module(f"examples.{name}")
        return capsys.readouterr().out

    assert "paid" in example("spark_read", address, orders, str(store.root))
    assert "40 new messages" in example("spark_archive", address, orders, str(tmp_path / "archive"))
    assert "40 sent" in example("spark_replay", str(tmp_path / "archive"), address, again)
    assert "index.html" in example("spark_report", str(store.root), str(tmp_path / "report"))
    assert "40 messages read" in example("spark_stream", address, orders, totals, str(tmp_path / "checkpoint"), "once")
