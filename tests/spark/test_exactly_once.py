"""Every death at every step of an exactly-once write: the batch is visible once, or not yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.topics import batch_of, bodies, create_topic, read

from sprocketmq.client.blocking.ordered_requests import OrderedRequest, Pipeline
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.write.commit_records import CommitRecords
from sprocketmq.spark.write.sink import StreamWriter, Written, stream_writer

ROWS = 6
BATCH = 3


class Died(BaseException):
    """The process that would have gone on is gone."""


class Query:
    """One streaming query: what survives its deaths is the folder and the broker."""

    def __init__(self, cluster: Cluster, topic: str, folder: Path) -> None:
        self._cluster, self.topic, self._folder = cluster, topic, folder
        create_topic(cluster.address, topic, 2)

    def run(self) -> tuple[StreamWriter, Written]:
        """The query after a start: its tasks have written the batch."""
        batch, schema = batch_of(bodies(ROWS))
        options = {
            "nameserver": self._cluster.address, "topic": self.topic, "delivery": "exactly-once",
            "commitLocation": str(self._folder),
        }  # fmt: skip
        writer = stream_writer(SinkOptions.of(options, streaming=True), schema, False)
        writer._job = "query"
        return writer, writer.write(iter([batch]))

    def visible(self, at_least: int = 0) -> list[bytes]:
        """The bodies that consumers see, when there are at least so many of them."""
        deadline = time.monotonic() + 120
        while True:
            found = sorted(row["body"] for row in read(self._cluster.address, self.topic))
            if len(found) >= at_least or time.monotonic() > deadline:
                return found


EXPECTED = sorted(row["body"] for row in bodies(ROWS))


@pytest.fixture
def query(cluster: Cluster, unique: Unique, tmp_path: Path) -> Query:
    return Query(cluster, unique("once"), tmp_path)


def die_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The driver dies before it ends the transaction with this number."""
    submit: Callable[[Pipeline, OrderedRequest], None] = Pipeline.submit
    done = iter(range(1000))

    def dying(self: Pipeline, request: OrderedRequest) -> None:
        if next(done) == number:
            self.flush()
            raise Died
        submit(self, request)

    monkeypatch.setattr(Pipeline, "submit", dying)


def test_nothing_is_visible_before_the_commit(query: Query) -> None:
    writer, written = query.run()
    assert query.visible() == []
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_a_task_dies_and_runs_again(query: Query) -> None:
    query.run()
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


@pytest.mark.parametrize("number", range(ROWS + 1))
def test_the_driver_dies_while_it_commits(query: Query, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    writer, written = query.run()
    with monkeypatch.context() as patch:
        die_at(patch, number)
        with suppress(Died):
            writer.commit([written], BATCH)
    assert len(query.visible(number)) == number
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_the_driver_dies_before_it_decides(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: Any) -> None:
        raise Died

    writer, written = query.run()
    with monkeypatch.context() as patch:
        patch.setattr(CommitRecords, "write", die)
        with pytest.raises(Died):
            writer.commit([written], BATCH)
    assert query.visible() == []
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_a_commit_that_is_repeated_delivers_nothing(query: Query) -> None:
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED
    writer.commit([written], BATCH)
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_an_abort_takes_back_what_is_not_decided_and_nothing_else(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, written = query.run()
    writer.abort([written, None], BATCH)
    writer, written = query.run()
    with monkeypatch.context() as patch:
        die_at(patch, 2)
        with pytest.raises(Died):
            writer.commit([written], BATCH)
    writer.abort([written], BATCH)
    writer, written = query.run()
    writer.commit([written], BATCH)
    assert query.visible(ROWS) == EXPECTED


def test_where_records_are_kept_must_be_known() -> None:
    with pytest.raises(OptionError, match="'commitLocation' is missing"):
        SinkOptions.of({"nameserver": "h", "topic": "t", "delivery": "exactly-once"}, streaming=True)
    with pytest.raises(OptionError, match="exactly-once is for streams"):
        SinkOptions.of({"nameserver": "h", "topic": "t", "delivery": "exactly-once"}, streaming=False)
    given = {"nameserver": "h", "topic": "t", "delivery": "exactly-once", "checkpointLocation": "/c/"}
    assert SinkOptions.of(given, streaming=True).commit_location == "/c/rocketmq-commits"
