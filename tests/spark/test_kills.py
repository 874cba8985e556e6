"""A stream from topic to topic, exactly once, while the broker, tasks and the driver are killed with SIGKILL.

Each step of a write is met by a kill of everybody who takes part in it. In the end every total is there once for each
batch that made it, and the last ones are those of a batch query over the same orders.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.peers.process import Process
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster
from tests.spark.conftest import SOURCES, STARTUP
from tests.spark.doomed import FOLDER, totalled
from tests.spark.test_queries import load, orders
from tests.spark.topics import create_topic, read, write

from sprocketmq.spark.compat import HAS_ADMISSION_CONTROL

ORDERS, TOTALS, COUNT = "orders", "totals", 420


class Doomed:
    """The driver's process, started again after each death; its folder and the broker's store are what survives."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        folder.mkdir()
        self.process = self.start()

    def start(self) -> Process:
        words = [self._cluster.address, ORDERS, TOTALS, str(self._folder)]
        command, root = [sys.executable, "-m", "tests.spark.doomed", *words], SOURCES.parent
        path = {"PYTHONPATH": os.pathsep.join(map(str, (STARTUP, SOURCES, root))), "PYSPARK_PYTHON": sys.executable}
        environment = {**path, FOLDER: str(self._folder)}
        self.process = Process(command, self._folder / "console.log", cwd=root, environment=environment)
        return self.process

    def stop_at(self, step: str) -> int:
        """Wait until somebody comes to the step; returns who it is."""
        (self._folder / f"stop-{step}").touch()
        reached = self._folder / "reached"
        self._wait_for(reached)
        found = int(reached.read_text())
        reached.unlink()
        return found

    def go(self) -> None:
        (self._folder / "go").touch()

    def kill_task(self, step: str) -> None:
        """A worker dies; Spark tries its task again."""
        os.kill(self.stop_at(step), signal.SIGKILL)

    def kill_broker(self, step: str) -> None:
        """The broker is dead when the step is taken, and back a little later."""
        self.stop_at(step)
        self._cluster.broker.kill()
        self.go()
        self._cluster.broker.start()

    def kill_driver(self, step: str) -> None:
        """The driver dies with its JVM and all its workers."""
        self.stop_at(step)
        self.process.kill()
        self.start()

    def finish(self) -> None:
        self._wait_for(self._folder / "done")

    def _wait_for(self, path: Path, patience: float = 300) -> None:
        deadline = time.monotonic() + patience
        while not path.exists():
            assert self.process.running, (self._folder / "console.log").read_text()[-3000:]
            assert time.monotonic() < deadline, f"no {path.name}: {(self._folder / 'console.log').read_text()[-3000:]}"
            time.sleep(0.02)


@pytest.mark.skipif(
    not HAS_ADMISSION_CONTROL, reason="before Spark 4.2 the first batch takes all: nothing is left to die in"
)
@pytest.mark.timeout(1200)
def test_a_stream_survives_a_kill_of_everybody_at_each_step(spark: SparkSession, tmp_path: Path) -> None:
    cluster = sprocket_cluster(tmp_path / "servers").start()
    try:
        create_topic(cluster.address, ORDERS, 4)
        create_topic(cluster.address, TOTALS, 2)
        write(cluster.address, ORDERS, orders(COUNT))
        doomed = Doomed(cluster, tmp_path / "query")
        try:
            for step in ("reading", "sending", "sent"):
                doomed.kill_task(step)
            for step in ("reading", "sending", "sent", "prepared", "decided", "committing", "committed"):
                doomed.kill_broker(step)
            for step in ("prepared", "decided", "committing", "committed"):
                doomed.kill_driver(step)
            doomed.finish()
        finally:
            doomed.process.kill()
        written = read(cluster.address, TOTALS)
        twice = {key: times for key, times in Counter(row["uniqKey"] for row in written).items() if times > 1}
        assert not twice
        latest = {row["keys"]: row["body"].decode() for row in sorted(written, key=lambda row: row["queueOffset"])}
        expected = {row["keys"]: row["body"] for row in totalled(load(spark, cluster, ORDERS)).collect()}
        assert latest == expected
        records = [json.loads(path.read_bytes()) for path in tmp_path.glob("query/query/rocketmq-commits/**/*.json")]
        assert len(records) == COUNT / 60
        assert len(written) == sum(map(len, records))
    finally:
        cluster.kill()
