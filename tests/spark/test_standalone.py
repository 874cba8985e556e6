"""On a real Spark cluster: a master and two workers from the installed PySpark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.fixtures import Unique
from tests.peers.process import Process, free_port
from tests.peers.servers import Cluster
from tests.spark.conftest import SOURCES
from tests.spark.settings import QUICK
from tests.stores import GoldenStore

HOST = "127.0.0.1"
JOB = """
import sys
from pyspark.sql import SparkSession
store, nameserver, topic = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
frame = spark.read.format("rocketmq_store").option("minPartitions", 4).load(store)
options = {"nameserver": nameserver, "topic": topic}
frame.select("body", "tags").where("length(body) > 0").write.format("rocketmq").mode("append").options(**options).save()
back = spark.read.format("rocketmq").options(nameserver=nameserver, subscribe=topic, minPartitions="4").load()
hosts = back.rdd.getNumPartitions()
counts = back.selectExpr("count(*)", "count(distinct uniqKey)").first()
print(f"RESULT {frame.count()} {counts[0]} {counts[1]} {hosts}")
"""


def spark_class(main: str, *arguments: str) -> list[str | Path]:
    import pyspark

    return [Path(pyspark.__file__).parent / "bin" / "spark-class", main, *arguments]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`spark://...` of a master that has two workers."""
    folder = tmp_path_factory.mktemp("standalone")
    port = free_port()
    address = f"spark://{HOST}:{port}"
    log = folder / "master.log"
    started: list[Process] = []

    def start(name: str, main: str, *arguments: str) -> None:
        command = spark_class(f"org.apache.spark.deploy.{main}", "-h", HOST, "--webui-port", "0", *arguments)
        started.append(Process(command, folder / f"{name}.log", cwd=folder, environment=environment()))

    try:
        start("master", "master.Master", "-p", str(port))
        started[0].wait_until(lambda: "New state: ALIVE" in log.read_text(), "Spark master")
        for name in ("worker-1", "worker-2"):
            start(name, "worker.Worker", "-c", "1", "-m", "700m", "-d", str(folder / name), address)
        started[0].wait_until(lambda: log.read_text().count("Registering worker") == 2, "Spark workers")
        yield address
    finally:
        for process in reversed(started):
            process.kill()


def environment() -> dict[str, str]:
    own = {
        "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCES), "SPARK_DAEMON_JAVA_OPTS": QUICK["spark.driver.extraJavaOptions"],
    }  # fmt: skip
    return {**os.environ, **own}


def test_stores_and_topics_on_two_workers(
    master: str, sprocket_rocketmq: Cluster, store: GoldenStore, unique: Unique, tmp_path: Path
) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    confs = {
        **QUICK, "spark.executor.extraJavaOptions": QUICK["spark.driver.extraJavaOptions"],
        "spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": str(SOURCES),
    }  # fmt: skip
    options = [part for pair in confs.items() for part in ("--conf", "=".join(pair))]
    words = [job, store.root, sprocket_rocketmq.address, unique("standalone")]
    command = [str(word) for word in (submit, "--master", master, *options, *words)]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=280, check=False)
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", ran.stdout)
    assert found, ran.stderr[-3000:]
    stored, read, distinct, partitions = map(int, found.groups())
    assert stored == read == distinct == 1018
    assert partitions >= 4
