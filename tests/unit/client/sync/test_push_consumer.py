"""A worker without an event loop that is stopped from where its handlers run."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from sprocketmq import ConsumerSettings, Message, ReceivedMessage
from sprocketmq.client.errors import Closed
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.testing import EmbeddedCluster

FIRST = ConsumerSettings(consume_from="first", stop_timeout=3600)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def topic(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> str:
    """With a message in it."""
    name = request.node.name
    with Producer("p", cluster.nameserver) as producer:
        producer.send(Message(name, b"x"))
    return str(name)


def test_a_handler_stops_its_consumer(cluster: EmbeddedCluster, topic: str) -> None:
    """Even while the start is under way, and before anybody waits in run_forever."""
    seen = []
    consumer = PushConsumer(topic, cluster.nameserver, settings=FIRST)

    @consumer.subscribe(topic)
    def handle(message: ReceivedMessage) -> None:
        seen.append(message.body)
        consumer.stop()

    with consumer:
        consumer.run_forever()
    with consumer:
        threading.Timer(0.0, consumer.stop).start()
        consumer.run_forever()
    assert seen == [b"x"]  # once: the first stop has committed it


def test_a_stop_that_cannot_be_waited_for_changes_nothing(cluster: EmbeddedCluster, topic: str) -> None:
    raised = list[str]()
    done = threading.Event()
    consumer = PushConsumer(topic, cluster.nameserver, settings=FIRST)

    @consumer.subscribe(topic)
    async def handle(_message: ReceivedMessage) -> None:
        try:
            consumer.stop()
        except RuntimeError as error:
            raised.append(str(error))
        done.set()

    with consumer:
        assert done.wait(60)
        assert consumer.assignment()
    assert "use the asyncio client inside a coroutine" in raised[0]


def test_run_forever_of_a_consumer_that_nobody_started(cluster: EmbeddedCluster) -> None:
    with pytest.raises(Closed, match="the consumer is not started"):
        PushConsumer("g", cluster.nameserver).run_forever()


def test_another_handler_of_a_topic_while_the_consumer_runs(cluster: EmbeddedCluster, topic: str) -> None:
    first, second = threading.Event(), threading.Event()
    consumer = PushConsumer(topic, cluster.nameserver, settings=FIRST)
    consumer.add_handler(topic, lambda _: first.set())
    with consumer, Producer("p", cluster.nameserver) as producer:
        assert first.wait(60)
        consumer.pause()
        consumer.unsubscribe(topic)
        consumer.add_handler(topic, lambda _: second.set())
        consumer.resume()
        producer.send(Message(topic, b"y"))
        assert second.wait(60)


def test_a_coroutine_that_would_end_the_program_is_a_handler_that_failed(
    cluster: EmbeddedCluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It ended the loop that every client of the process waits for."""
    done = threading.Event()
    consumer = PushConsumer(topic, cluster.nameserver, settings=FIRST)

    async def leave() -> None:
        sys.exit(3)

    @consumer.subscribe(topic)
    async def handle(message: ReceivedMessage) -> None:
        if message.body == b"x":
            await asyncio.ensure_future(leave())
        done.set()

    with consumer, Producer("p", cluster.nameserver) as producer:
        future = producer.submit(Message(topic, b"y"))
        assert future.result(60).ok
        assert done.wait(60)
    assert "the handler raised SystemExit(3)" in caplog.text
