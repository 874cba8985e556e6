"""Pull consumers: places, ranges, commits and Arrow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.peers.servers import Cluster

from sprocketmq.client import Message, Producer, PullConsumer, PullSettings, ReceivedMessage, SendReceipt
from sprocketmq.protocol.message_queue import MessageQueue

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
FIRST = PullSettings(consume_from="first")


async def fill(cluster: Cluster, topic: str, count: int, group: str, **how: str) -> list[SendReceipt]:
    """All in one queue, and visible there: Apache's queues follow its log a moment later."""
    async with Producer(group, cluster.address) as producer:
        receipts = [await producer.send(Message(topic, b"0", **how))]  # type: ignore[arg-type]
        queue = receipts[0].queue
        if rest := [Message(topic, b"%d" % i, **how) for i in range(1, count)]:  # type: ignore[arg-type]
            receipts += await producer.send_batch(rest, queue=queue)
    async with asyncio.timeout(120), PullConsumer(group, cluster.address) as consumer:
        while await consumer.end_offset(queue) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return receipts


async def drain(consumer: PullConsumer, count: int) -> list[ReceivedMessage]:
    found: list[ReceivedMessage] = []
    async with asyncio.timeout(120):
        while len(found) < count:
            found += await consumer.poll()
    return found


async def test_assign_seek_and_commit(cluster: Cluster, unique: Unique) -> None:
    topic, group = unique("topic"), unique("g")
    queue = (await fill(cluster, topic, 100, unique("pg")))[0].queue
    async with PullConsumer(group, cluster.address, settings=FIRST) as consumer:
        await consumer.assign([queue])
        assert [int(m.body) for m in await drain(consumer, 100)] == list(range(100))
        await consumer.seek(queue, 40)
        assert int((await consumer.poll(1, 60))[0].body) == 40
        assert consumer.position(queue) == 41
        await consumer.seek_to_begin(queue)
        assert int((await consumer.poll(1, 60))[0].body) == 0
        await consumer.seek_to_end(queue)
        assert await consumer.poll(timeout=0.2) == []
        await consumer.commit({queue: 70})
        assert await consumer.committed(queue) == 70
    async with PullConsumer(group, cluster.address, settings=FIRST) as consumer:
        await consumer.assign([queue])
        committed = await consumer.committed(queue)
        assert committed == 100  # the block before ended well at the end of the queue


async def test_a_failed_block_commits_only_finished_polls(cluster: Cluster, unique: Unique) -> None:
    topic, group = unique("topic"), unique("g")
    queue = (await fill(cluster, topic, 10, unique("pg")))[0].queue

    async def fail_in_the_third_poll() -> None:
        async with PullConsumer(group, cluster.address, settings=FIRST) as consumer:
            await consumer.assign([queue])
            await consumer.poll(4, 60)
            await consumer.poll(4, 60)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail_in_the_third_poll()
    async with PullConsumer(group, cluster.address, settings=FIRST) as consumer:
        assert await consumer.committed(queue) == 4


async def test_time(cluster: Cluster, unique: Unique) -> None:
    queue = (await fill(cluster, unique("topic"), 5, unique("pg")))[0].queue
    async with PullConsumer(unique("g"), cluster.address) as consumer:
        assert await consumer.offset_at(queue, datetime.now(UTC) - timedelta(hours=1)) == 0
        assert await consumer.offset_at(queue, datetime.now(UTC) + timedelta(hours=1)) in (4, 5)
        assert (await consumer.begin_offset(queue), await consumer.end_offset(queue)) == (0, 5)


async def test_ranges(cluster: Cluster, unique: Unique) -> None:
    queue = (await fill(cluster, unique("topic"), 200, unique("pg")))[0].queue
    async with PullConsumer(unique("g"), cluster.address) as consumer:

        async def offsets(begin: int, end: int) -> list[int]:
            return [m.queue_offset async for part in consumer.read_range(queue, begin, end) for m in part]

        assert await offsets(0, 200) == list(range(200))
        assert await offsets(33, 77) == list(range(33, 77))
        assert await offsets(190, 1000) == list(range(190, 200))
        assert await offsets(50, 50) == []
        assert await consumer.committed(queue) in (None, 0)  # a young queue may answer with its beginning


async def test_arrow(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    queue = (await fill(cluster, topic, 100, unique("pg"), tag="Aa", keys="k"))[0].queue
    async with PullConsumer(unique("g"), cluster.address, settings=FIRST) as consumer:
        batches = [batch async for batch in consumer.read_range_arrow(queue, 10, 60)]
        assert [o for batch in batches for o in batch.column("queueOffset").to_pylist()] == list(range(10, 60))
        await consumer.assign([queue], "Aa")
        rows = 0
        async with asyncio.timeout(120):
            while rows < 100:
                batch = await consumer.poll_arrow()
                if batch is not None:
                    assert set(batch.column("brokerName").to_pylist()) == {queue.broker_name}
                    assert set(batch.column("tags").to_pylist()) == {"Aa"}
                    rows += batch.num_rows
        assert rows == 100


async def test_members_share_the_queues(cluster: Cluster, unique: Unique) -> None:
    topic, group = unique("topic"), unique("g")
    await fill(cluster, topic, 1, unique("pg"))
    settings = PullSettings(consume_from="first", rebalance_interval=0.5)
    async with (
        PullConsumer(group, cluster.address, settings=settings) as one,
        PullConsumer(group, cluster.address, settings=settings) as two,
    ):
        await one.subscribe(topic)
        await two.subscribe(topic)

        def shared() -> bool:
            mine, theirs = one.assignment(), two.assignment()
            return len(mine) == len(theirs) == 2 and not mine & theirs

        async with asyncio.timeout(120):
            while not shared():  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_iteration(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    await fill(cluster, topic, 50, unique("pg"))
    seen = 0
    async with asyncio.timeout(120), PullConsumer(unique("g"), cluster.address, settings=FIRST) as consumer:
        await consumer.subscribe(topic)
        async for _message in consumer:
            seen += 1
            if seen == 50:
                break


def test_queue_that_is_not_ours() -> None:
    consumer = PullConsumer("g", "127.0.0.1:1")
    with pytest.raises(Exception, match="not started"):
        consumer.position(MessageQueue("T", "b", 0))
