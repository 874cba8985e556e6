"""The admin client: what it makes is there, what it removes is gone, and what it tells is true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.e2e.collect import Collector
from tests.peers.servers import Cluster

from sprocketmq.client import AdminClient, ConsumerSettings, Message, NoRoute, Producer, PushConsumer, Refused
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[AdminClient]:
    async with AdminClient(cluster.address) as made:
        yield made


async def test_topics(admin: AdminClient, cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    assert await admin.topics.create(topic, queues=3) == [cluster.broker.name]
    assert topic in await admin.topics.names()
    assert len((await admin.topics.route(topic)).write_queues) == 3
    assert (await admin.topics.config(topic))[cluster.broker.name].write_queue_nums == 3
    async with Producer(unique("pg"), cluster.address) as producer:
        receipt = await producer.send(Message(topic, b"x"))
    async with asyncio.timeout(120):
        while (await admin.topics.stats(topic))[receipt.queue].max_offset < 1:  # noqa: ASYNC110 - it follows the log
            await asyncio.sleep(0.01)
    stats = await admin.topics.stats(topic)
    assert {queue: offset.max_offset for queue, offset in stats.items()}[receipt.queue] == 1
    await admin.topics.set_perm(topic, 4)
    assert (await admin.topics.config(topic))[cluster.broker.name].perm == 4
    await admin.topics.delete(topic)
    with pytest.raises(NoRoute):
        await admin.topics.route(topic)


async def test_an_attribute_is_taken_away(admin: AdminClient, cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    await admin.topics.create(topic, attributes={"message.type": "FIFO"})
    assert (await admin.topics.config(topic))[cluster.broker.name].attributes == {"message.type": "FIFO"}
    await admin.topics.create(topic, attributes={"message.type": None})
    assert (await admin.topics.config(topic))[cluster.broker.name].attributes == {}


async def test_groups(admin: AdminClient, unique: Unique) -> None:
    group = unique("g")
    await admin.groups.create(SubscriptionGroupConfig(group_name=group, retry_max_times=3))
    assert group in await admin.groups.names()
    assert all(config.retry_max_times == 3 for config in (await admin.groups.config(group)).values())
    await admin.groups.delete(group)
    with pytest.raises(Refused):
        await admin.groups.config(group)


async def test_a_running_group(admin: AdminClient, cluster: Cluster, unique: Unique) -> None:
    topic, group, handler = unique("topic"), unique("g"), Collector()
    await admin.topics.create(topic, queues=2)
    async with Producer(unique("pg"), cluster.address) as producer:
        await producer.send_batch([Message(topic, b"%d" % i) for i in range(10)])
    consumer = PushConsumer(group, cluster.address, settings=ConsumerSettings(consume_from="first"))
    consumer.add_handler(topic, handler, "*")
    async with consumer:
        await handler.wait(10)
        connection = await admin.groups.connection(group)
        (member,) = connection.connection_set
        assert topic in connection.subscription_table
        info = await admin.groups.running_info(group, member.client_id)
        assert set(info.mq_table) == consumer.assignment()
        owners = await admin.groups.owners(group)
        assert set(owners.values()) == {member.client_id}
    assert sum(row.lag for row in await admin.groups.lag(group, topic)) == 0
    assert group in await admin.topics.groups(topic)


async def test_offsets(admin: AdminClient, cluster: Cluster, unique: Unique) -> None:
    topic, group, handler = unique("topic"), unique("g"), Collector()
    await admin.topics.create(topic, queues=1)
    async with Producer(unique("pg"), cluster.address) as producer:
        (first, *_) = await producer.send_batch([Message(topic, b"%d" % i) for i in range(10)])
    settings = ConsumerSettings(consume_from="first")
    consumer = PushConsumer(group, cluster.address, settings=settings)
    consumer.add_handler(topic, handler)
    async with consumer:
        await handler.wait(10)
    assert await admin.offsets.preview(topic, "first") == {first.queue: 0}
    assert await admin.offsets.reset(group, topic, datetime.now(UTC) - timedelta(hours=1)) == {first.queue: 0}
    again = Collector()
    consumer = PushConsumer(group, cluster.address, settings=settings)
    consumer.add_handler(topic, again)
    async with consumer:
        await again.wait(10)
    await admin.offsets.reset(group, topic, 4)
    last = Collector()
    consumer = PushConsumer(group, cluster.address, settings=settings)
    consumer.add_handler(topic, last)
    async with consumer:
        await last.wait_for(b"4", b"9")
    assert b"3" not in last.bodies


async def test_messages(admin: AdminClient, cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        receipt = await producer.send(Message(topic, b"needle", keys=["k1", "k2"]))
    assert (await admin.messages.get(receipt.offset_message_id)).body == b"needle"
    async with asyncio.timeout(120):
        while not await admin.messages.find(topic, "k2"):  # noqa: ASYNC110 - the index is built behind the log
            await asyncio.sleep(0.1)
    assert (await admin.messages.get(receipt.message_id, topic)).body == b"needle"
    assert await admin.messages.find(topic, "k3") == []
    at = await admin.messages.at(receipt.queue, receipt.queue_offset)
    assert at is not None
    assert at.message_id == receipt.message_id
    assert await admin.messages.at(receipt.queue, 1000) is None


async def test_brokers(admin: AdminClient, cluster: Cluster) -> None:
    (status,) = await admin.brokers.status()
    assert (status.name, status.address, status.error) == (cluster.broker.name, cluster.broker.address, None)
    assert (await admin.brokers.config(status.name))["brokerName"] == status.name
    runtime = await admin.brokers.runtime(status.address)
    assert int(runtime["commitLogMaxOffset"]) >= 0
