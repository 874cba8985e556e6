from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import client as example

from sprocketmq import Message, PullSettings
from sprocketmq.client.sync import Producer, PullConsumer
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


def test_the_example_runs(cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(example.main(cluster.nameserver))
    assert "pushed 100 messages, pulled 100" in capsys.readouterr().out


def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path) as cluster, Producer("g", cluster.nameserver) as producer:
        receipt = producer.send(Message("kept", b"x"))
    settings = PullSettings(consume_from="first")
    with EmbeddedCluster(tmp_path) as cluster, PullConsumer("g", cluster.nameserver, settings=settings) as consumer:
        consumer.assign([receipt.queue])
        assert [message.body for message in consumer.poll(timeout=60)] == [b"x"]


def test_a_temporary_directory_goes_away() -> None:
    with EmbeddedCluster() as cluster:
        directory = cluster._directory
        assert directory is not None
        assert directory.exists()
    assert not directory.exists()
