"""What a loop over a pull consumer has yielded counts as consumed, and nothing else does."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance, until

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.pull import consumer as consumer_module
from sprocketmq.client.pull.consumer import PullConsumer
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.sync import PullConsumer as SyncPullConsumer

FIRST = PullSettings(consume_from="first", commit_interval=3600)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> FakeQueues:
    transport = FakeTransport()

    def start(_options: object, consumer: str) -> ClientInstance:
        used = instance(transport)
        used.start()
        return used

    async def stop(used: ClientInstance, consumer: str) -> None:
        await used.stop()

    monkeypatch.setattr(consumer_module, "acquire", start)
    monkeypatch.setattr(consumer_module, "release", stop)
    made = FakeQueues(transport, queues=1)
    for number in range(10):
        made.append(b"%d" % number)
    return made


async def read(count: int, *, fail: bool = False) -> list[bytes]:
    found: list[bytes] = []
    async with PullConsumer("g", "ns", settings=FIRST) as consumer:
        await consumer.assign(await consumer.queues("T"))
        async for message in consumer:
            found.append(message.body)
            if len(found) == count:
                if fail:
                    raise RuntimeError
                break
    return found


async def test_leaving_the_loop_after_one_commits_one(broker: FakeQueues) -> None:
    assert await read(1) == [b"0"]
    assert broker.committed["T", 0] == 1
    assert await read(3) == [b"1", b"2", b"3"]
    assert broker.committed["T", 0] == 4


async def test_an_error_in_the_body_leaves_that_message_uncommitted(broker: FakeQueues) -> None:
    with pytest.raises(RuntimeError):
        await read(3, fail=True)
    assert broker.committed["T", 0] == 2
    assert await read(1) == [b"2"]


async def test_what_was_not_yielded_is_there_for_the_next_poll(broker: FakeQueues) -> None:
    async with PullConsumer("g", "ns", settings=FIRST) as consumer:
        await consumer.assign(await consumer.queues("T"))
        async for message in consumer:
            assert message.body == b"0"
            break
        assert [message.body for message in await consumer.poll()] == [b"%d" % number for number in range(1, 10)]


async def test_a_queue_that_was_let_go_in_the_body_is_not_committed_again(broker: FakeQueues) -> None:
    async with PullConsumer("g", "ns", settings=FIRST) as consumer:
        await consumer.assign(await consumer.queues("T"))
        messages = aiter(consumer)
        assert (await anext(messages)).body == b"0"
        await consumer.assign([])
        broker.committed["T", 0] = 7  # the next owner's
        waiting = asyncio.ensure_future(anext(messages, None))
        await until(lambda: not consumer.assignment())
        waiting.cancel()
    assert broker.committed["T", 0] == 7


def read_waiting(count: int, *, fail: bool = False) -> list[bytes]:
    found: list[bytes] = []
    with SyncPullConsumer("g", "ns", settings=FIRST) as consumer:
        consumer.assign(consumer.queues("T"))
        for message in consumer:
            found.append(message.body)
            if len(found) == count:
                if fail:
                    raise RuntimeError
                break
    return found


def test_the_same_for_threads(broker: FakeQueues) -> None:
    assert read_waiting(2) == [b"0", b"1"]
    assert broker.committed["T", 0] == 2
    with pytest.raises(RuntimeError):
        read_waiting(3, fail=True)
    assert broker.committed["T", 0] == 4
    assert read_waiting(1) == [b"4"]


async def test_a_loop_ends_when_the_consumer_is_stopped_in_its_body(broker: FakeQueues) -> None:
    found: list[bytes] = []
    async with PullConsumer("g", "ns", settings=FIRST) as consumer:
        await consumer.assign(await consumer.queues("T"))
        async for message in consumer:
            found.append(message.body)
            if len(found) == 3:
                await consumer.stop()
    assert found == [b"0", b"1", b"2"]
    assert broker.committed["T", 0] == 3


@pytest.mark.parametrize("kind", ["messages", "batches"])
async def test_a_loop_that_waits_ends_when_the_consumer_is_stopped(broker: FakeQueues, kind: str) -> None:
    async with PullConsumer("g", "ns", settings=FIRST) as consumer:
        await consumer.assign(await consumer.queues("T"))
        found: list[object] = []

        async def loop() -> None:
            async for item in consumer if kind == "messages" else consumer.batches():
                found.append(item)

        reading = asyncio.create_task(loop())
        await until(lambda: len(found) == (10 if kind == "messages" else 1))
        await consumer.stop()
        await asyncio.wait_for(reading, 60)
    assert broker.committed["T", 0] == 10


def test_a_thread_that_loops_is_ended_by_another(broker: FakeQueues) -> None:
    consumer, begun = SyncPullConsumer("g", "ns", settings=FIRST), threading.Event()

    def loop() -> None:
        for message in consumer:
            if message.body == b"9":
                begun.set()

    with consumer:
        consumer.assign(consumer.queues("T"))
        reading = threading.Thread(target=loop, daemon=True)
        reading.start()
        assert begun.wait(60)
        consumer.stop()
        reading.join(60)
        assert not reading.is_alive()
