"""Our Spark source and sink beside Spark's own for Kafka, in turns, on local[2].

    KAFKA_PYTHON=venv/bin/python python -m bench.spark [rows to read] [rows to write] [seconds of latency]

KAFKA_PYTHON is a Python with pyspark 4.0.0, for which spark-sql-kafka-0-10_2.13:4.0.0 is resolved from Maven; without
it only our side is measured. Each side runs in a process of its own against its own broker; rows have 128-byte bodies.

write    rows of spark.range to a topic
read     that topic to the noop sink
scan     our store directory to the noop sink, no broker asked, while the broker runs; beside the read from Kafka
p50      seconds from a message's store time to that of its copy, made by a stream from topic to topic
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.peers.kafka import Kafka
from tests.peers.sprocket import sprocket_cluster

#: Pulls as large as Kafka's fetches; RocketMQ's default of 32 messages is for latency.
CONF = {
    "mappedFileSizeCommitLog": str(1024**3),
    "mappedFileSizeConsumeQueue": "6000000",
    "maxTransferCountOnMessageInMemory": "4096",
    "maxTransferBytesOnMessageInMemory": str(1024**2),
    "maxTransferCountOnMessageInDisk": "4096",
    "maxTransferBytesOnMessageInDisk": str(1024**2),
}
TARGETS = {"write": 1.2, "read": 1.5, "scan": 2.5, "scan of 7 columns": 2.5}
_SIDE = Path(__file__).with_name("spark_side.py")


def main(rows_to_read: int = 5_000_000, rows_to_write: int = 1_000_000, latency_seconds: int = 60) -> None:
    sizes = rows_to_read, rows_to_write, latency_seconds
    with tempfile.TemporaryDirectory() as folder:
        ours = _ours(Path(folder), sizes)
        python = os.environ.get("KAFKA_PYTHON")
        theirs = _theirs(python, Path(folder), sizes) if python else {}
    for name, figure in ours.items():
        beside = theirs.get("read" if name.startswith("scan") else name)
        print(_latency(name, figure, beside) if name in ("p50", "p99") else _speed(name, figure, beside))


def _speed(name: str, speed: float, beside: float | None) -> str:
    line = f"{name:<18} {speed:>12,.0f} rows/s"
    return f"{line}   Kafka {beside:>12,.0f}   {speed / beside:.2f}x  (target {TARGETS[name]}x)" if beside else line


def _latency(name: str, seconds: float, beside: float | None) -> str:
    line = f"{'latency ' + name:<18} {seconds * 1000:>12,.0f} ms"
    return f"{line}       Kafka {beside * 1000:>12,.0f}   {seconds / beside:.2f}x" if beside else line


def _ours(folder: Path, sizes: tuple[int, ...]) -> dict[str, float]:
    cluster = sprocket_cluster(folder / "sprocket", CONF).start()
    try:
        return _run(sys.executable, "rocketmq", cluster.address, *sizes, cluster.broker.store)
    finally:
        cluster.kill()


def _theirs(python: str, folder: Path, sizes: tuple[int, ...]) -> dict[str, float]:
    kafka = Kafka(folder / "kafka").start()
    try:
        return _run(python, "kafka", kafka.address, *sizes)
    finally:
        kafka.kill()


def _run(python: str, kind: str, address: str, *words: object) -> dict[str, float]:
    command = [python, str(_SIDE), kind, address, *map(str, words)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout.strip().splitlines()[-1])
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
