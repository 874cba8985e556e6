"""A query from topic to topic while the master of its broker set is killed: no error, and every row once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.peers import probe
from tests.peers.broker_set import BrokerSet
from tests.peers.controllers import SprocketController
from tests.peers.process import eventually
from tests.peers.servers import Broker
from tests.spark.test_exactly_once import BATCH, EXPECTED, ROWS, Query
from tests.spark.topics import bodies, create_topic, read, wait_for, write

from sprocketmq.codes import RequestCode

COUNT = 60


class Served:
    """What a query needs to know of a cluster."""

    def __init__(self, address: str) -> None:
        self.address = address


def knows(broker: Broker, topics: tuple[str, ...]) -> bool:
    told = probe.ask(broker.address, RequestCode.GET_ALL_TOPIC_CONFIG)[1]
    return all(f'"{topic}"'.encode() in told for topic in topics)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[BrokerSet]:
    with BrokerSet(tmp_path / "set", SprocketController(tmp_path / "controller"), ["sprocket"] * 2) as found:
        yield found


def kill_master(brokers: BrokerSet, *topics: str) -> None:
    """When all know the topics: that takes a second."""
    for broker in brokers.brokers:
        eventually(partial(knows, broker, topics), "the slave knows the topics")
    master = brokers.master
    assert master is not None
    master.kill()


@pytest.mark.parametrize("step", ["before the tasks", "before the commit"])
def test_an_exactly_once_batch_rides_through_a_failover(brokers: BrokerSet, tmp_path: Path, step: str) -> None:
    query = Query(Served(brokers.nameserver.address), "once", tmp_path / "commits")  # type: ignore[arg-type]
    if step == "before the tasks":
        kill_master(brokers, query.topic)
    writer, written = query.run()
    if step == "before the commit":
        kill_master(brokers, query.topic)
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_a_stream_from_topic_to_topic_rides_through_a_failover(
    spark: SparkSession, brokers: BrokerSet, tmp_path: Path
) -> None:
    address = brokers.nameserver.address
    create_topic(address, "in", 4)
    create_topic(address, "out", 2)
    write(address, "in", bodies(COUNT))
    stream = spark.readStream.format("rocketmq").option("startingOffsets", "earliest")
    rows = stream.options(nameserver=address, subscribe="in").load().select("body")
    sink = rows.writeStream.format("rocketmq").options(nameserver=address, topic="out", delivery="exactly-once")
    query = (
        sink.option("checkpointLocation", str(tmp_path / "query")).trigger(processingTime="200 milliseconds").start()
    )
    try:
        wait_for(address, "out", COUNT)
        kill_master(brokers, "in", "out")
        write(address, "in", bodies(COUNT, "later"))
        wait_for(address, "out", 2 * COUNT)
        assert query.exception() is None
        assert query.isActive
    finally:
        query.stop()
    found = Counter(row["body"] for row in read(address, "out"))
    assert found == Counter(row["body"] for row in bodies(COUNT) + bodies(COUNT, "later"))
