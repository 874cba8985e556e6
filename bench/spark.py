"""Our Spark source and sink beside Spark's own for Kafka, in turns, on local[2].

    KAFKA_PYTHON=venv/bin/python python -m bench.spark [rows to read] [rows to write] [seconds of latency]
                                                          [rounds] [rounds of `first`]

KAFKA_PYTHON is a Python with pyspark 4.0.0, for which spark-sql-kafka-0-10_2.13:4.0.0 is resolved from Maven; without
it only our side is measured. Each side runs in a process of its own against its own broker, and both take turns in
every round; the median of each is compared. Topics have four queues or partitions, rows have 128-byte bodies.

write    rows of spark.range to a topic, until there are enough to read
read     that topic to the noop sink, in the seven columns that Kafka's source gives; or in `all`: our eighteen with the
         properties of each message, and Kafka's eight with as many headers
scan     our store directory to the noop sink, no broker asked, while the broker runs; beside the read from Kafka
first    the same as the first query of a new session, whose JVM is cold and whose Python workers have to start
p50      seconds from a message's store time to that of its copy, made by a stream from topic to topic
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.peers.kafka import Kafka
from tests.peers.sprocket import sprocket_cluster

CONF = {"mappedFileSizeCommitLog": str(1024**3), "mappedFileSizeConsumeQueue": "6000000"}  # as by default
PARTITIONS = 4  # as many as the queues of a topic that a RocketMQ broker makes for a producer
WARM_UP = 20_000
SAME_COLUMNS = "keys,body,topic,queueId,queueOffset,storeTimestamp,sysFlag"  # what Kafka's source gives
TARGETS = {"write": 1.2, "read": 1.5, "scan": 2.5}
_SIDE = Path(__file__).with_name("spark_side.py")


class Side:
    """One Spark session in a process of its own, which does what it is told."""

    def __init__(self, python: str, *words: str) -> None:
        self._words = (python, *words)
        command = [python, str(_SIDE), *words]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *order: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*order, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def anew(self, *order: object) -> Any:
        """The same in a new session, which is up before the order comes."""
        other = Side(*self._words)
        try:
            other("ready")
            return other(*order)
        finally:
            other.end()

    def end(self) -> None:
        self._process.communicate()


def main(
    to_read: int = 5_000_000, to_write: int = 1_000_000, latency_seconds: int = 60, rounds: int = 3, firsts: int = 3
) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ours = stack.enter_context(_ours(Path(folder)))
        python = os.environ.get("KAFKA_PYTHON")
        theirs = stack.enter_context(_theirs(python, Path(folder))) if python else None
        sides = [ours, theirs] if theirs else [ours]
        for side in sides:
            side("write", "warm", WARM_UP)
            side("read", "warm")
        writes = range(to_read // to_write)
        found = _rounds({"write": [to_write / side("write", "all", to_write) for side in sides]} for _ in writes)
        if theirs:
            theirs("write", "carrying", to_read, "headers")
        found |= _rounds(_reads(to_read, False, *sides) for _ in range(rounds))
        found |= _rounds(_reads(to_read, True, *sides) for _ in range(firsts))
        for name, speeds in found.items():
            print(_line(name, speeds), flush=True)
        if latency_seconds:
            _latency([side("latency", latency_seconds) for side in sides])


def _reads(rows: int, first: bool, ours: Side, theirs: Side | None = None) -> dict[str, list[float]]:
    """Rows a second of each of our reads, and of Kafka's beside them."""
    ask, word = (Side.anew, "first ") if first else (Side.__call__, "")
    same = [rows / ask(theirs, "read", "all")] if theirs else []
    full = [rows / ask(theirs, "read", "carrying", "headers")] if theirs else []
    return {
        f"{word}read": [rows / ask(ours, "read", "all", SAME_COLUMNS), *same],
        f"{word}read, all": [rows / ask(ours, "read", "all"), *full],
        f"{word}scan": [(rows + WARM_UP) / ask(ours, "scan", SAME_COLUMNS), *same],
        f"{word}scan, all": [(rows + WARM_UP) / ask(ours, "scan"), *full],
    }


def _rounds(rounds: Iterable[dict[str, list[float]]]) -> dict[str, list[tuple[float, ...]]]:
    """For each name the speeds of each side, round by round."""
    found = list(rounds)
    return {name: list(zip(*(one[name] for one in found), strict=True)) for name in (found[0] if found else ())}


def _line(name: str, speeds: list[tuple[float, ...]]) -> str:
    """The speeds of all rounds, and the ratio of the medians."""
    texts = [" ".join(f"{speed:>9,.0f}" for speed in side) for side in speeds]
    middles = [median(side) for side in speeds]
    target = f"  (target {TARGETS[name]}x)" if name in TARGETS else ""
    ratio = f"   {middles[0] / middles[-1]:.2f}x{target}" if len(speeds) > 1 else ""
    return f"{name:<15} {' rows/s   Kafka '.join(texts)}{ratio}"


def _latency(found: list[dict[str, float]]) -> None:
    for name in ("p50", "p99"):
        values = [side[name] * 1000 for side in found]
        ratio = f"   {values[0] / values[-1]:.2f}x" if len(values) > 1 else ""
        print(f"{'latency ' + name:<15} {' ms   Kafka '.join(f'{value:,.0f}' for value in values)}{ratio}")


@contextmanager
def _ours(folder: Path) -> Iterator[Side]:
    cluster = sprocket_cluster(folder / "sprocket", CONF).start()
    side = Side(sys.executable, "rocketmq", cluster.address, str(cluster.broker.store))
    try:
        yield side
    finally:
        side.end()
        cluster.kill()


@contextmanager
def _theirs(python: str, folder: Path) -> Iterator[Side]:
    kafka = Kafka(folder / "kafka", partitions=PARTITIONS).start()
    side = Side(python, "kafka", kafka.address)
    try:
        yield side
    finally:
        side.end()
        kafka.kill()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
