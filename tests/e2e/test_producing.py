"""Sending, in every way, and reading back what was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.e2e.collect import Collector
from tests.peers.java_peer import JavaPeer
from tests.peers.servers import Cluster

from sprocketmq.client import (
    AdminClient,
    ConsumerSettings,
    Message,
    Producer,
    ProducerSettings,
    PullConsumer,
    PullSettings,
    PushConsumer,
    ReceivedMessage,
    Refused,
    TransactionState,
)
from sprocketmq.protocol.message_queue import MessageQueue

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
FIRST = PullSettings(consume_from="first")


async def read(cluster: Cluster, topic: str, count: int, group: str) -> list[ReceivedMessage]:
    async with PullConsumer(group, cluster.address, settings=FIRST) as consumer:
        await consumer.subscribe(topic)
        found: list[ReceivedMessage] = []
        async with asyncio.timeout(120):
            while len(found) < count:
                found += await consumer.poll()
    return found


async def test_what_is_sent_is_read(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        message = Message(topic, "körper".encode(), tag="A", keys=["k1", "k2"], properties={"name": "värde"}, flag=7)
        receipt = await producer.send(message)
    (found,) = await read(cluster, topic, 1, unique("g"))
    assert (found.body, found.tag, found.keys) == (message.body, "A", ("k1", "k2"))
    assert (found.properties["name"], found.record.flag) == ("värde", 7)
    assert (found.message_id, found.offset_message_id) == (receipt.message_id, receipt.offset_message_id)
    assert (found.queue, found.queue_offset) == (receipt.queue, receipt.queue_offset)


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
async def test_large_bodies(cluster: Cluster, unique: Unique, compression: str) -> None:
    topic, body = unique("topic"), b"apples and pears " * 20_000
    settings = ProducerSettings(compression=compression)  # type: ignore[arg-type]
    async with Producer(unique("pg"), cluster.address, settings=settings) as producer:
        await producer.send(Message(topic, body))
    (found,) = await read(cluster, topic, 1, unique("g"))
    assert found.body == body
    assert len(found.record.body) < len(body)


async def test_batches_and_automatic_batches(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        receipts = await producer.send_batch([Message(topic, b"b%d" % i, keys=[f"k{i}"]) for i in range(50)])
        futures = [producer.submit(Message(topic, b"s%d" % i)) for i in range(500)]
        receipts += await asyncio.gather(*futures)
    found = {message.message_id: message for message in await read(cluster, topic, 550, unique("g"))}
    assert len(found) == 550
    for receipt in receipts:
        message = found[receipt.message_id]
        assert (message.queue, message.queue_offset) == (receipt.queue, receipt.queue_offset)
        assert message.offset_message_id == receipt.offset_message_id


async def test_sharded_submits_keep_their_order(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with AdminClient(cluster.address) as admin:
        await admin.topics.create(topic, queues=4)
    async with Producer(unique("pg"), cluster.address) as producer:
        for i in range(900):
            await producer.enqueue(Message(topic, b"%d" % i, sharding_key=f"key-{i % 3}"))
        await producer.flush()
    by_key: dict[str | None, list[int]] = {}
    for message in sorted(await read(cluster, topic, 900, unique("g")), key=lambda m: (m.queue_id, m.queue_offset)):
        by_key.setdefault(message.sharding_key, []).append(int(message.body))
    assert by_key == {f"key-{k}": list(range(k, 900, 3)) for k in range(3)}


async def test_delay_level(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        await producer.send(Message(topic, b"later", delay_level=1))
    (found,) = await read(cluster, topic, 1, unique("g"))
    assert found.record.store_timestamp - found.record.born_timestamp >= 900


async def test_any_delay(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        await producer.send(Message(topic, b"later", delay=timedelta(seconds=2)))
    (found,) = await read(cluster, topic, 1, unique("g"))
    assert found.record.store_timestamp - found.record.born_timestamp >= 1000


async def test_oneway(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    async with Producer(unique("pg"), cluster.address) as producer:
        await producer.send(Message(topic, b"first"))
        await producer.send_oneway(Message(topic, b"oneway"))
        assert {m.body for m in await read(cluster, topic, 2, unique("g"))} == {b"first", b"oneway"}


async def test_transactions(cluster: Cluster, unique: Unique) -> None:
    topic, asked = unique("topic"), list[bytes]()

    def check(message: ReceivedMessage) -> TransactionState:
        asked.append(message.body)
        return TransactionState.ROLLBACK if message.body == b"rolled back" else TransactionState.COMMIT

    async with Producer(unique("pg"), cluster.address, check=check) as producer:
        async with producer.transaction(Message(topic, b"committed")):
            pass
        with pytest.raises(RuntimeError):
            async with producer.transaction(Message(topic, b"rolled back")):
                raise RuntimeError
        await producer.send_in_transaction(Message(topic, b"checked"), lambda *_: TransactionState.UNKNOWN)
        seen: set[bytes] = set()
        async with asyncio.timeout(120), PullConsumer(unique("g"), cluster.address, settings=FIRST) as consumer:
            await consumer.subscribe(topic)
            while not seen >= {b"committed", b"checked"}:
                seen |= {message.body for message in await consumer.poll()}
    assert b"rolled back" not in seen
    assert b"checked" in asked


async def test_request_and_reply(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    consumer = PushConsumer(unique("g"), cluster.address, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe(topic)
    async def answer(message: ReceivedMessage) -> None:
        await consumer.reply(message, message.body.upper())

    async with AdminClient(cluster.address) as admin:
        await admin.topics.create(topic, queues=1)
    async with consumer, Producer(unique("pg"), cluster.address) as producer:
        reply = await producer.request(Message(topic, b"ping"), timeout=60)
    assert reply.body == b"PING"


async def test_refusal_tells_code_and_remark(cluster: Cluster, unique: Unique) -> None:
    async with Producer(unique("pg"), cluster.address) as producer:
        receipt = await producer.send(Message(unique("topic"), b"x"))
        nowhere = MessageQueue(receipt.queue.topic, receipt.queue.broker_name, 99)
        with pytest.raises(Refused) as caught:
            await producer.send(Message(receipt.queue.topic, b"x"), queue=nowhere)
    assert caught.value.remark


async def test_trace(cluster: Cluster, unique: Unique) -> None:
    topic, handler = unique("topic"), Collector()
    consumer = PushConsumer(unique("g"), cluster.address, trace=True, settings=ConsumerSettings(consume_from="first"))
    consumer.add_handler(topic, handler)
    async with Producer(unique("pg"), cluster.address, trace=True) as producer:
        receipt = await producer.send(Message(topic, b"x", keys="k"))
        async with consumer:
            await handler.wait(1)
    async with AdminClient(cluster.address) as admin, asyncio.timeout(120):
        while True:
            kinds = [record.kind for record in await admin.messages.trace(receipt.message_id)]
            if {"Pub", "SubBefore", "SubAfter"} <= set(kinds):
                break
            await asyncio.sleep(0.2)


async def test_java_and_trace_see_each_message_of_an_automatic_batch(
    cluster: Cluster, unique: Unique, java_533: JavaPeer
) -> None:
    topic = unique("topic")
    async with AdminClient(cluster.address) as admin:
        await admin.topics.create(topic, queues=2)
    async with Producer(unique("pg"), cluster.address, trace=True) as producer:
        messages = [Message(topic, b"%d" % i, sharding_key=f"k{i % 2}", properties={"n": str(i)}) for i in range(60)]
        receipts = await asyncio.gather(*(producer.submit(message) for message in messages))
    java = await asyncio.to_thread(java_533.push_consumer, unique("g"), cluster.address, [topic], orderly=True)
    try:
        seen = await asyncio.to_thread(java.wait, 60)
    finally:
        await asyncio.to_thread(java.shutdown)
    found = {message.body: message for message in seen}
    for message, receipt in zip(messages, receipts, strict=True):
        got = found[message.body]
        assert (got.queue_id, got.queue_offset) == (receipt.queue.queue_id, receipt.queue_offset)
        assert (got.msg_id, got.properties["n"]) == (receipt.message_id, message.properties["n"])
    for queue in {receipt.queue.queue_id for receipt in receipts}:
        offsets = [receipt.queue_offset for receipt in receipts if receipt.queue.queue_id == queue]
        assert offsets == list(range(len(offsets)))
    async with AdminClient(cluster.address) as admin, asyncio.timeout(120):
        while not [r for r in await admin.messages.trace(receipts[-1].message_id) if r.kind == "Pub"]:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
