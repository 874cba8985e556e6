"""What is no argument for a call of a pull consumer is named at once: in the background it would stop a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.pull import consumer as consumer_module
from sprocketmq.client.pull.consumer import PullConsumer
from sprocketmq.client.settings import PullSettings
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 0)
Call = Callable[[PullConsumer], Any]
CALLS: list[tuple[Call, str]] = [
    (lambda it: it.poll(0), "max_messages must be at least 1"),
    (lambda it: it.poll("3"), "max_messages must be a whole number, not str"),  # type: ignore[arg-type]
    (lambda it: it.poll(1, "3"), "timeout must be a number of seconds, not str"),  # type: ignore[arg-type]
    (lambda it: it.poll_arrow("3"), "timeout must be a number of seconds, not str"),  # type: ignore[arg-type]
    (lambda it: anext(it.batches(0)), "max_messages must be at least 1"),
    (lambda it: it.assign(QUEUE), "queues must be a list of MessageQueue, not MessageQueue"),  # type: ignore[arg-type]
    (lambda it: it.assign(["T"]), "queue must be a MessageQueue, not str"),  # type: ignore[list-item]
    (lambda it: it.seek(QUEUE, "1"), "offset must be a whole number, not str"),  # type: ignore[arg-type]
    (lambda it: it.seek(QUEUE, -1), "offset must be at least 0"),
    (lambda it: it.seek(QUEUE, 1 << 63), "offset must be at least 0 and fit in 64 bits"),
    (lambda it: it.seek_to_end("T"), "queue must be a MessageQueue, not str"),  # type: ignore[arg-type]
    (lambda it: it.offset_at(QUEUE, 1), "when must be a datetime, not int"),  # type: ignore[arg-type]
    (lambda it: it.committed(None), "queue must be a MessageQueue, not NoneType"),  # type: ignore[arg-type]
    (lambda it: it.commit([QUEUE]), "positions must be a dict of offsets by MessageQueue"),  # type: ignore[arg-type]
    (lambda it: it.commit({QUEUE: None}), "offset must be a whole number"),  # type: ignore[dict-item]
    (lambda it: anext(it.read_range(QUEUE, 0, None)), "end must be a whole number"),  # type: ignore[arg-type]
]


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    network = FakeTransport()

    async def stop(used: ClientInstance, consumer: str) -> None:
        await used.stop()

    monkeypatch.setattr(consumer_module, "acquire", lambda options, consumer: instance(network))
    monkeypatch.setattr(consumer_module, "release", stop)
    return network


@pytest.mark.parametrize(("call", "said"), CALLS)
async def test_wrong_arguments(transport: FakeTransport, call: Call, said: str) -> None:
    broker = FakeQueues(transport, queues=1)
    broker.append(b"x")
    async with PullConsumer("g", "ns", settings=PullSettings(consume_from="first")) as consumer:
        await consumer.assign([QUEUE])
        with pytest.raises((TypeError, ValueError), match=said):
            await call(consumer)
        assert len(await consumer.poll(10, 60)) == 1
