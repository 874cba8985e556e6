"""The line in front of a producer's batching; the producer is one that takes messages when it is told to."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, cast

import pytest

from sprocketmq.client.errors import Closed
from sprocketmq.client.message import Message, SendReceipt, SendStatus
from sprocketmq.client.producer.producer import Producer
from sprocketmq.client.settings import Batching, ProducerSettings
from sprocketmq.client.sync import loop_thread
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.client.sync.submit_queue import Feed
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.testing import EmbeddedCluster

RECEIPT = SendReceipt(SendStatus.OK, "AB12", "", MessageQueue("T", "a", 3), 0)


class FakeProducer:
    settings = ProducerSettings(batching=Batching(buffer_messages=3))

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.receipts: list[asyncio.Future[SendReceipt]] = []
        self.error: BaseException | None = None

    async def enqueue(self, message: Message) -> asyncio.Future[SendReceipt]:
        if self.error is not None:
            raise self.error
        self.taken.append(message.body)
        self.receipts.append(asyncio.get_running_loop().create_future())
        return self.receipts[-1]

    async def flush(self) -> None:
        for receipt in self.receipts:
            if not receipt.done():
                receipt.set_result(RECEIPT)
        await asyncio.sleep(0)


class Tasks:
    """The loop thread's part, played by the test's own loop; `wake` lets run what was submitted."""

    def __init__(self) -> None:
        self.started: list[asyncio.Task[Any]] = []
        self.waiting: list[Coroutine[Any, Any, Any]] = []

    def submit(self, work: Coroutine[Any, Any, Any]) -> None:
        self.waiting.append(work)

    def wake(self) -> asyncio.Task[Any]:
        self.started += [asyncio.ensure_future(work) for work in self.waiting]
        self.waiting.clear()
        return self.started[-1]


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    made = Tasks()
    monkeypatch.setattr(loop_thread, "loop_thread", lambda: made)
    return made


def feed(producer: FakeProducer) -> Feed:
    return Feed(cast(Producer, producer))


def put(line: Feed, *bodies: bytes) -> list[Future[SendReceipt]]:
    return [line.put(Message("T", body)) for body in bodies]


async def test_one_task_takes_all_that_lie_in_the_line(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    futures = put(line, b"0", b"1", b"2")
    assert len(tasks.waiting) == 1
    tasks.wake()
    await line.flush()
    assert producer.taken == [b"0", b"1", b"2"]
    assert [future.result(0) for future in futures] == [RECEIPT] * 3


async def test_a_message_cancelled_in_the_line_is_not_sent_and_holds_nobody_up(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    first, second, third = put(line, b"0", b"1", b"2")
    assert second.cancel()
    tasks.wake()
    await line.flush()
    assert producer.taken == [b"0", b"2"]
    assert (first.result(0), third.result(0)) == (RECEIPT, RECEIPT)
    put(line, b"3", b"4", b"5")  # every slot is free again
    tasks.wake()
    await line.flush()
    assert producer.taken[2:] == [b"3", b"4", b"5"]


async def test_a_cancelled_message_that_the_producer_would_refuse(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    producer.error = Closed("stopped")
    (future,) = put(line, b"0")
    future.cancel()
    await tasks.wake()
    producer.error = None
    (later,) = put(line, b"1")
    tasks.wake()
    await line.flush()
    assert later.result(0) == RECEIPT


async def test_a_message_on_its_way_cannot_be_cancelled(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    (future,) = put(line, b"0")
    await tasks.wake()
    assert not future.cancel()
    await line.flush()
    assert future.result(0) == RECEIPT


@pytest.mark.parametrize("error", [Closed("stopped"), ValueError("no"), RuntimeError("unforeseen")])
async def test_any_error_reaches_its_future_only(tasks: Tasks, error: Exception) -> None:
    producer = FakeProducer()
    line = feed(producer)
    producer.error = error
    futures = put(line, b"0", b"1", b"2")
    await tasks.wake()
    assert [future.exception(0) for future in futures] == [error] * 3
    producer.error = None
    (later,) = put(line, b"3")
    tasks.wake()
    await line.flush()
    assert later.result(0) == RECEIPT


async def test_a_task_that_was_cancelled_leaves_the_line_to_the_next(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    producer.error = asyncio.CancelledError()
    in_hand, behind = put(line, b"0", b"1")
    with pytest.raises(asyncio.CancelledError):
        await tasks.wake()
    producer.error = None
    put(line, b"2")
    tasks.wake()
    await line.flush()
    assert isinstance(in_hand.exception(0), asyncio.CancelledError)
    assert behind.result(0) == RECEIPT
    assert producer.taken == [b"1", b"2"]


async def test_a_receipt_that_nobody_will_bring_is_an_error(tasks: Tasks) -> None:
    producer = FakeProducer()
    line = feed(producer)
    (future,) = put(line, b"0")
    await tasks.wake()
    producer.receipts[0].cancel()
    await asyncio.sleep(0)
    assert isinstance(future.exception(0), Closed)


async def test_a_message_that_is_not_sent_is_told_although_nobody_asks(
    tasks: Tasks, caplog: pytest.LogCaptureFixture
) -> None:
    producer = FakeProducer()
    line = feed(producer)
    producer.error = Closed("stopped")
    put(line, b"0", b"1")
    await tasks.wake()
    assert [record.getMessage() for record in caplog.records] == ["a submitted message was not sent error=stopped"]
    assert line.failed == 2


PROGRAM = """
import sys
sys.modules["uvloop"] = None  # asyncio looks names up on threads
from sprocketmq.client.settings import Batching, ProducerSettings
from sprocketmq import Message
from sprocketmq.client.sync import Producer
short = ProducerSettings(send_timeout=0.1, batching=Batching(linger=60, delivery_timeout=60))
producer = Producer("g", "localhost:%s", settings=%s).start()
for number in range(10):
    producer.submit(Message("left-in-the-line", b"x"))
"""


def run(nameserver_port: str, settings: str) -> str:
    program = PROGRAM % (nameserver_port, settings)
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stderr


def test_a_program_that_ends_sends_what_it_has_submitted() -> None:
    with EmbeddedCluster() as cluster, AdminClient(cluster.nameserver) as admin:
        admin.topics.create("left-in-the-line")
        assert run(cluster.nameserver.partition(":")[2], "None") == ""
        stats = admin.topics.stats("left-in-the-line")
        assert sum(queue.max_offset for queue in stats.values()) == 10


def test_a_program_that_ends_says_how_many_messages_were_not_sent() -> None:
    assert "messages were not sent when the program ended count=10\n" in run("1", "short")
