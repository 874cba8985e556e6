"""The source's readers and the sink's writer, each option, against Apache RocketMQ and against our broker."""

from __future__ import annotations

import json
import pickle
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.peers.sprocket import SprocketBroker, sprocket_cluster
from tests.spark.topics import bodies, create_topic, read, reader, rows_of, wait_for, write

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.compat import HAS_ADMISSION_CONTROL
from sprocketmq.spark.options.offset_maps import decode_offsets, encode_offsets
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.source import SourceOptions
from sprocketmq.spark.read.batch import BatchReader
from sprocketmq.spark.read.plan import DataLost
from sprocketmq.spark.read.positions import Positions
from sprocketmq.spark.read.stream import stream_reader
from sprocketmq.spark.schema import spark_schema

_streams: list[Any] = []


@pytest.fixture(autouse=True)
def stop_streams() -> Iterator[None]:
    """As Spark does at the end of a query."""
    yield
    while _streams:
        _streams.pop().stop()


def sorted_bodies(rows: list[dict[str, Any]]) -> list[bytes]:
    return sorted(row["body"] for row in rows)


@pytest.fixture
def filled(cluster: Cluster, unique: Unique) -> str:
    """A topic of four queues: 400 messages, a hundred in each, every fourth with tag B."""
    topic = unique("filled")
    create_topic(cluster.address, topic, 4)
    rows = [
        {"body": f"m{i:03}".encode(), "tags": "B" if i % 4 == 3 else "A", "keys": f"k{i}", "queueId": i // 100,
         "properties": [("colour", "red" if i % 2 else "blue")]}
        for i in range(400)
    ]  # fmt: skip
    assert write(cluster.address, topic, rows).rows == 400
    return topic


def test_what_was_written_is_read(cluster: Cluster, filled: str) -> None:
    rows = read(cluster.address, filled)
    assert sorted_bodies(rows) == [f"m{i:03}".encode() for i in range(400)]
    row = next(row for row in rows if row["body"] == b"m103")
    assert (row["topic"], row["brokerName"], row["queueId"], row["queueOffset"]) == (filled, "broker-a", 1, 3)
    assert (row["tags"], row["keys"]) == ("B", "k103")
    assert dict(row["properties"]) == {
        "UNIQ_KEY": row["uniqKey"], "TAGS": "B", "KEYS": "k103", "colour": "red", "CLUSTER": "DefaultCluster",
        "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
    }  # fmt: skip
    assert len(row["uniqKey"]) == 32
    assert row["msgId"].endswith(f"{row['commitLogOffset']:016X}")


def test_filters_at_the_broker(cluster: Cluster, filled: str) -> None:
    assert len(read(cluster.address, filled, tags="B")) == 100
    assert len(read(cluster.address, filled, tags="A || B")) == 400
    assert len(read(cluster.address, filled, sql="colour = 'red'")) == 200


def test_a_filtered_range_ends_where_it_should(cluster: Cluster, filled: str) -> None:
    rows = read(cluster.address, filled, tags="B", maxRecordsPerPartition="7")
    assert sorted_bodies(rows) == [f"m{i:03}".encode() for i in range(3, 400, 4)]


def test_columns_alone(cluster: Cluster, filled: str) -> None:
    rows = read(cluster.address, filled, columns="brokerName,queueOffset")
    assert len(rows) == 400
    assert set(rows[0]) == {"brokerName", "queueOffset"}


def test_offsets_as_json(cluster: Cluster, filled: str) -> None:
    queues = [MessageQueue(filled, "broker-a", number) for number in range(4)]
    start = json.dumps(encode_offsets({queue: 10 if queue.queue_id else -2 for queue in queues}))
    end = json.dumps(encode_offsets({queue: 20 if queue.queue_id else -1 for queue in queues}))
    rows = read(cluster.address, filled, startingOffsets=start, endingOffsets=end)
    assert len(rows) == 130
    with pytest.raises(OptionError, match="'startingOffsets' lacks"):
        read(cluster.address, filled, startingOffsets=json.dumps(encode_offsets({queues[0]: 0})))


def test_assigned_queues_and_patterns(cluster: Cluster, filled: str) -> None:
    given = {"nameserver": cluster.address, "assign": json.dumps({filled: {"broker-a": [2]}})}
    options = SourceOptions.of(given, streaming=False)
    assert len(rows_of(BatchReader(options, spark_schema(["body"])))) == 100
    options = SourceOptions.of({"nameserver": cluster.address, "subscribePattern": f"{filled}"}, streaming=False)
    assert len(rows_of(BatchReader(options, spark_schema(["body"])))) == 400


def test_partitions_by_number_and_size(cluster: Cluster, filled: str) -> None:
    assert len(reader(cluster.address, filled, minPartitions="8").partitions()) == 8
    assert len(reader(cluster.address, filled, maxRecordsPerPartition="25").partitions()) == 16
    assert len(read(cluster.address, filled, minPartitions="9")) == 400


def test_times(cluster: Cluster, unique: Unique) -> None:
    topic = unique("times")
    write(cluster.address, topic, bodies(10, "old"))
    between = max(int(row["storeTimestamp"].timestamp() * 1000) for row in read(cluster.address, topic)) + 2
    while time.time() * 1000 < between + 2:
        pass
    write(cluster.address, topic, bodies(20, "new"))
    young = read(cluster.address, topic, startingTimestamp=str(between), startingOffsetsByTimestampStrategy="latest")
    assert sorted_bodies(young) == sorted(row["body"] for row in bodies(20, "new"))
    old = read(cluster.address, topic, endingTimestamp=str(between))
    assert sorted_bodies(old) == sorted(row["body"] for row in bodies(10, "old"))
    with pytest.raises(OptionError, match="has no message stored at"):
        read(cluster.address, topic, startingTimestamp=str(between + 10**9))


def test_an_empty_topic_and_one_that_does_not_exist(cluster: Cluster, unique: Unique) -> None:
    topic = unique("empty")
    create_topic(cluster.address, topic, 100)
    assert reader(cluster.address, topic).partitions() == []
    with pytest.raises(OptionError, match="'subscribe' names nowhere, which does not exist"):
        read(cluster.address, "nowhere", **{"fetchOffset.numRetries": "0"})


def test_a_hundred_queues(cluster: Cluster, unique: Unique) -> None:
    topic = unique("hundred")
    create_topic(cluster.address, topic, 100)
    write(cluster.address, topic, [{"body": b"%d" % i, "queueId": i % 100} for i in range(300)])
    rows = read(cluster.address, topic)
    assert sorted(row["queueId"] for row in rows) == sorted(i % 100 for i in range(300))


def test_lost_data_fails_or_is_passed_over(cluster: Cluster, filled: str) -> None:
    queues = [MessageQueue(filled, "broker-a", number) for number in range(4)]
    beyond = json.dumps(encode_offsets({queue: 150 if queue.queue_id == 1 else 0 for queue in queues}))
    with pytest.raises(DataLost, match="ends at 100, before offset 150"):
        read(cluster.address, filled, startingOffsets=beyond)
    assert len(read(cluster.address, filled, startingOffsets=beyond, failOnDataLoss="false")) == 400


def test_sharding_keys_stay_together_and_in_order(cluster: Cluster, unique: Unique) -> None:
    topic = unique("sharded")
    create_topic(cluster.address, topic, 4)
    write(
        cluster.address, topic,
        [{"body": b"%03d" % i, "shardingKey": f"customer-{i % 7}"} for i in range(210)], batchRows="5",
    )  # fmt: skip
    rows = read(cluster.address, topic)
    for number in range(7):
        own = [row for row in rows if int(row["body"]) % 7 == number]
        assert len({row["queueId"] for row in own}) == 1
        assert [row["body"] for row in own] == sorted(row["body"] for row in own)


def test_topics_from_a_column_and_delays(cluster: Cluster, unique: Unique) -> None:
    one, two = unique("one"), unique("two")
    rows = [{"body": b"x", "topic": one if i % 2 else two, "delayLevel": 1 if i == 0 else None} for i in range(6)]
    write(cluster.address, None, rows)
    for topic in (one, two):
        wait_for(cluster.address, topic, 3)
        assert len(read(cluster.address, topic)) == 3
    waits = [row["storeTimestamp"] - row["bornTimestamp"] for row in read(cluster.address, two)]
    assert max(waits) >= timedelta(milliseconds=900), "the delayed one comes a second later"


def test_an_attempt_that_is_repeated_gives_the_same_keys(cluster: Cluster, unique: Unique) -> None:
    from tests.spark.topics import batch_of

    from sprocketmq.spark.options.sink import SinkOptions
    from sprocketmq.spark.write.sink import batch_writer

    topic = unique("repeated")
    batch, schema = batch_of(bodies(50))
    writer = batch_writer(
        SinkOptions.of({"nameserver": cluster.address, "topic": topic}, streaming=False), schema, False
    )
    writer.write(iter([batch.slice(0, 20), batch.slice(20)]))
    writer.write(iter([batch]))
    keys = [row["uniqKey"] for row in read(cluster.address, topic)]
    assert len(keys) == 100
    assert len(set(keys)) == 50


# -- streams, planned and read as Spark does -------------------------------------------------------------------------


def stream(cluster: Cluster, topic: str, **options: str) -> Any:
    given = {"nameserver": cluster.address, "subscribe": topic, "startingOffsets": "earliest", **options}
    source = stream_reader(SourceOptions.of(given, streaming=True), spark_schema(["queueId", "body"]))
    _streams.append(source)
    return source


def newest(source: Any, start: dict[str, Any]) -> dict[str, Any]:
    """As the running Spark asks for it."""
    found: dict[str, Any] = source.latestOffset(start, None) if HAS_ADMISSION_CONTROL else source.latestOffset()
    return found


def test_a_stream_advances_by_its_limits(cluster: Cluster, filled: str) -> None:
    source = stream(cluster, filled, maxOffsetsPerTrigger="100")
    start = source.initialOffset()
    seen: list[bytes] = []
    while (end := newest(source, start)) != start:
        parts = source.partitions(start, end)
        assert sum(part.range.size for part in parts) == 100
        seen += sorted_bodies(rows_of(source, parts))
        start = end
    assert sorted(seen) == [f"m{i:03}".encode() for i in range(400)]
    assert source.partitions(start, start) == []


def test_bytes_limit_a_batch(cluster: Cluster, filled: str) -> None:
    source = stream(cluster, filled, maxBytesPerTrigger="20000")
    start = source.initialOffset()
    parts = source.partitions(start, newest(source, start))
    assert 40 <= sum(part.range.size for part in parts) <= 130


def test_a_stream_waits_for_enough(cluster: Cluster, unique: Unique) -> None:
    topic = unique("patient")
    write(cluster.address, topic, bodies(5))
    source = stream(cluster, topic, minOffsetsPerTrigger="10", maxTriggerDelay="1h")
    start = source.initialOffset()
    end = newest(source, start)
    assert end != start
    write(cluster.address, topic, bodies(5))
    assert newest(source, end) == end
    write(cluster.address, topic, bodies(5))
    assert newest(source, end) != end


def test_available_now_stops_at_what_was_there(cluster: Cluster, unique: Unique) -> None:
    topic = unique("now")
    write(cluster.address, topic, bodies(10))
    source = stream(cluster, topic)
    start = source.initialOffset()
    source.prepareForTriggerAvailableNow()
    write(cluster.address, topic, bodies(10))
    end = newest(source, start)
    assert len(rows_of(source, source.partitions(start, end))) == 10
    assert newest(source, end) == end


def test_new_queues_are_read_from_their_beginning(cluster: Cluster, unique: Unique) -> None:
    topic = unique("growing")
    create_topic(cluster.address, topic, 2)
    write(cluster.address, topic, [{"body": b"x", "queueId": i % 2} for i in range(10)])
    source = stream(cluster, topic)
    start = source.initialOffset()
    end = newest(source, start)
    create_topic(cluster.address, topic, 4)
    write(cluster.address, topic, [{"body": b"y", "queueId": i} for i in range(4)])
    later = newest(source, end)
    assert sorted(row["queueId"] for row in rows_of(source, source.partitions(end, later))) == [0, 1, 2, 3]


def test_new_brokers_are_read_from_their_beginning(tmp_path: Path, unique: Unique) -> None:
    topic = unique("wide")
    with ExitStack() as running:
        cluster = sprocket_cluster(tmp_path)
        running.callback(cluster.kill)
        cluster.start()
        write(cluster.address, topic, bodies(10))
        source = stream(cluster, topic)
        end = newest(source, source.initialOffset())
        other = SprocketBroker(tmp_path / "other", cluster.address, {"brokerName": "broker-b"})
        running.callback(other.kill)
        other.start()
        create_topic(cluster.address, topic, 2)
        write(cluster.address, topic, bodies(40, "late"), batchRows="1")
        later = source.partitions(end, newest(source, end))
        found = rows_of(source, later)
    assert sorted_bodies(found) == sorted(row["body"] for row in bodies(40, "late"))
    assert {part.range.queue.broker_name for part in later} == {"broker-a", "broker-b"}


def test_a_stream_keeps_its_connections(cluster: Cluster, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    really_connect = socket.create_connection

    def connect(*where: Any) -> socket.socket:
        made.append(really_connect(*where))
        return made[-1]

    monkeypatch.setattr(socket, "create_connection", connect)
    source = stream(cluster, filled)
    start = source.initialOffset()
    end = newest(source, start)
    assert len(source.partitions(start, end)) == 4
    assert len(made) == 2, "one to the nameserver, one to the broker"
    for one in made:
        one.shutdown(socket.SHUT_RDWR)
    assert newest(source, end) == end
    assert len(made) == 4
    assert pickle.loads(pickle.dumps(source)).partitions(end, end) == []
    source.stop()
    assert made[-1].fileno() == -1


def test_progress_is_committed_for_the_group(cluster: Cluster, filled: str, unique: Unique) -> None:
    group = unique("spark-group")
    source = stream(cluster, filled, group=group)
    start = source.initialOffset()
    end = newest(source, start)
    assert len(rows_of(source, source.partitions(start, end))) == 400
    source.commit(end)
    options = SourceOptions.of(
        {"nameserver": cluster.address, "subscribe": filled, "group": group, "startingOffsets": "committed"},
        streaming=True,
    )
    with options.connect.open() as opened:
        positions = Positions(opened, options)
        assert positions.resolve(options.start, positions.queues()) == decode_offsets(end)
