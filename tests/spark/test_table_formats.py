"""`archive --format delta|iceberg`, with the packages of the Spark that runs; skipped where it has none.

Each runs in a process of its own: a session takes packages only when it starts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.conftest import SOURCES
from tests.spark.settings import QUICK
from tests.spark.topics import bodies, write
from tests.stores import GoldenStore

from sprocketmq.spark.compat import package_of

#: Waits for a line before each run, so that the test can write to the topic and break the checkpoint in between.
JOB = """
import json, sys
from dataclasses import asdict
from sprocketmq.spark.pipeline import archive, open_session
from sprocketmq.spark.pipeline.inputs import Input
format, conf = sys.argv[1], json.loads(sys.argv[2])
spark = open_session("tables", "local[2]", conf, format=format)
print("READY", flush=True)
for line in sys.stdin:
    source, target = json.loads(line)
    done = archive(spark, Input(**source), target, format=format)
    table = spark.read.format(format).load(target) if "/" in target else spark.table(target)
    keys = table.select("uniqKey").where("uniqKey is not null").distinct().count()
    print("DONE", json.dumps([done.rows, done.total, table.count(), keys]), flush=True)
"""


class Job:
    def __init__(self, folder: Path, format: str, conf: dict[str, str]) -> None:
        script = folder / "job.py"
        script.write_text(JOB)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, str(script), format, json.dumps({**QUICK, **conf})]
        self._log = (folder / "job.log").open("w+")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=environment, text=True)
        if self._line("READY") is None:
            self.stop()
            pytest.skip(f"{package_of(format)} cannot be had here: {(folder / 'job.log').read_text()[-300:]}")

    def archive(self, target: str, **source: object) -> list[int]:
        """(rows added, rows in all, rows that the table shows, keys in it)"""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([source, target]) + "\n")
        self.process.stdin.flush()
        line = self._line("DONE")
        self._log.seek(0)
        assert line is not None, self._log.read()[-3000:]
        found: list[int] = json.loads(line)
        return found

    def _line(self, word: str) -> str | None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word)
        return None

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()
        self._log.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_tables_take_each_batch_once(
    format: str, sprocket_rocketmq: Cluster, store: GoldenStore, unique: Unique, tmp_path: Path
) -> None:
    if package_of(format) is None:
        pytest.skip(f"there is no {format} for Spark {pyspark.__version__}")
    lake = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": str(tmp_path / "lake")}
    job = Job(tmp_path, format, {f"spark.sql.catalog.lake{key}": value for key, value in lake.items()})
    try:
        stored = str(tmp_path / "from" / "store")
        assert job.archive(stored, store=str(store.root))[:3] == [1018, 1018, 1018]
        assert job.archive(stored, store=str(store.root))[:3] == [0, 1018, 1018], "nothing is new"
        topic = unique("table")
        orders, checkpoint = str(tmp_path / "lake" / "orders"), tmp_path / "lake" / "orders" / "_checkpoint"
        target = "lake.orders" if format == "iceberg" else orders
        for count, total in ((60, 60), (40, 100)):
            write(sprocket_rocketmq.address, topic, bodies(count))
            found = job.archive(target, nameserver=sprocket_rocketmq.address, topics=[topic])
            assert found == [count, total, total, total]
        last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()  # as if the driver had died between the table's commit and its own
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
        write(sprocket_rocketmq.address, topic, bodies(7))
        assert job.archive(target, nameserver=sprocket_rocketmq.address, topics=[topic]) == [7, 107, 107, 107]
    finally:
        job.stop()
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
