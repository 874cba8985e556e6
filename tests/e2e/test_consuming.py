"""Push consumers: sharing, order, retries, and groups in which Java and Python take part together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.collect import Collector
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Queue
from tests.peers.servers import Cluster

from sprocketmq.client import (
    AdminClient,
    ConsumeResult,
    ConsumerSettings,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    Retry,
)
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import is_retry_topic
from sprocketmq.remoting import RemotingClient

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
EAGER = ConsumerSettings(consume_from="first", rebalance_interval=1.0, persist_interval=1.0)


@asynccontextmanager
async def consuming(
    cluster: Cluster, group: str, topic: str, handler: Any, /, tags: str = "*", sql: str | None = None, **how: Any
) -> AsyncIterator[PushConsumer]:
    consumer = PushConsumer(group, cluster.address, settings=how.pop("settings", EAGER), **how)
    consumer.add_handler(topic, handler, tags, sql=sql)
    async with consumer:
        yield consumer


async def prepare(cluster: Cluster, topic: str, queues: int = 4) -> None:
    async with AdminClient(cluster.address) as admin:
        await admin.topics.create(topic, queues=queues)


async def fill(cluster: Cluster, topic: str, count: int, group: str, **how: Any) -> None:
    async with Producer(group, cluster.address) as producer:
        await asyncio.gather(*(producer.send(Message(topic, b"%d" % i, **how)) for i in range(count)))


async def test_a_second_connection_makes_no_second_member(cluster: Cluster, unique: Unique) -> None:
    """Apache's brokers keep a connection that broke during a heartbeat, and name its client twice."""
    topic, group = unique("topic"), unique("g")
    await prepare(cluster, topic)
    async with consuming(cluster, group, topic, Collector()) as consumer:
        await assigned(consumer, topic, 4)
        member = await the_member(cluster, group)
        consumers = [{
            "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "unitMode": False,
            "subscriptionDataSet": [{"topic": topic, "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": 0}],
        }]  # fmt: skip
        beat = {"clientID": member, "producerDataSet": [], "consumerDataSet": consumers}
        broken = RemotingClient()
        try:
            beaten = await broken.call(cluster.broker.address, Command(34, body=json.dumps(beat).encode()), 60)
            assert beaten.code == 0
            await consumer._balance()
            assert len(own(consumer, topic)) == 4
        finally:
            await broken.close()


async def assigned(consumer: PushConsumer, topic: str, count: int) -> None:
    async with asyncio.timeout(120):
        while len(own(consumer, topic)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def own(consumer: PushConsumer, topic: str) -> set[MessageQueue]:
    return {queue for queue in consumer.assignment() if queue.topic == topic}


async def the_member(cluster: Cluster, group: str) -> str:
    async with AdminClient(cluster.address) as admin:
        (member,) = (await admin.groups.connection(group)).connection_set
    return member.client_id


@pytest.mark.parametrize("how", [{}, {"orderly": True}], ids=["concurrent", "orderly"])
async def test_at_least_once(cluster: Cluster, unique: Unique, how: dict[str, Any]) -> None:
    topic, handler = unique("topic"), Collector()
    await prepare(cluster, topic)
    async with consuming(cluster, unique("g"), topic, handler, **how):
        await fill(cluster, topic, 100, unique("pg"))
        assert {int(body) for body in await handler.wait(100)} == set(range(100))


async def test_pop(cluster: Cluster, unique: Unique) -> None:
    """Two members share what the broker hands out, and what one of them fails comes again."""
    topic, group, failed = unique("topic"), unique("g"), list[bytes]()

    def fail_once(message: ReceivedMessage) -> None:
        if message.body == b"7" and not failed:
            failed.append(message.body)
            raise Retry(1)

    one, two = Collector(fail_once), Collector(fail_once)
    await prepare(cluster, topic)
    async with consuming(cluster, group, topic, one, pop=True), consuming(cluster, group, topic, two, pop=True):
        await fill(cluster, topic, 100, unique("pg"))
        async with asyncio.timeout(120):
            while len(one.bodies) + len(two.bodies) < 101:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    bodies = one.bodies + two.bodies
    assert {int(body) for body in bodies} == set(range(100))
    assert (bodies.count(b"7"), len(bodies)) == (2, 101)
    again = next(m for m in reversed(one.messages + two.messages) if m.body == b"7" and m.reconsume_times > 0)
    assert again.topic == topic


def places(handler: Collector) -> set[tuple[MessageQueue, int]]:
    return {(message.queue, message.queue_offset) for message in handler.messages}


async def test_a_group_goes_on_where_it_was(cluster: Cluster, unique: Unique) -> None:
    """Told by places, not by bodies: a send that was tried again is stored twice, and then there is more to consume."""
    topic, group, first, second = unique("topic"), unique("g"), Collector(), Collector()
    await prepare(cluster, topic)
    await fill(cluster, topic, 50, unique("pg"))
    async with consuming(cluster, group, topic, first):
        await first.wait(50)
    await fill(cluster, topic, 5, unique("pg"), tag="new")
    async with consuming(cluster, group, topic, second):
        await second.until(lambda _: len({m.body for m in second.messages if m.tag == "new"}) == 5)
    assert not places(first) & places(second)


async def test_tags_and_sql(cluster: Cluster, unique: Unique) -> None:
    topic, tagged, selected = unique("topic"), Collector(), Collector()
    await prepare(cluster, topic)
    async with Producer(unique("pg"), cluster.address) as producer:
        for i, tag in enumerate(["Aa", "BB", "C", "Aa"]):
            await producer.send(Message(topic, b"%d" % i, tag=tag, properties={"n": str(i)}))
    async with consuming(cluster, unique("g"), topic, tagged, "Aa || C"):
        await tagged.wait(3)
    async with consuming(cluster, unique("g"), topic, selected, sql="n > 1 AND TAGS = 'Aa'"):
        await selected.wait(1)
    assert sorted(tagged.bodies) == [b"0", b"2", b"3"]
    assert selected.bodies == [b"3"]


async def test_retry_comes_back(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    handler = Collector(lambda m: ConsumeResult.RETRY if m.reconsume_times == 0 else None)
    await prepare(cluster, topic, 1)
    await fill(cluster, topic, 1, unique("pg"))
    async with consuming(cluster, unique("g"), topic, handler):
        await handler.wait(2)
    first, again = handler.messages
    assert (first.body, first.topic, again.reconsume_times) == (again.body, again.topic, 1)


async def test_exhausted_messages_go_to_the_dead_letter_queue(cluster: Cluster, unique: Unique) -> None:
    topic, group = unique("topic"), unique("g")
    handler, dead = Collector(lambda _: ConsumeResult.RETRY), Collector()
    await prepare(cluster, topic, 1)
    await fill(cluster, topic, 1, unique("pg"))
    settings = ConsumerSettings(consume_from="first", max_reconsume_times=0)
    async with consuming(cluster, group, topic, handler, settings=settings):
        await handler.wait(1)
    async with AdminClient(cluster.address) as admin:
        async with asyncio.timeout(120):
            while f"%DLQ%{group}" not in await admin.topics.names(everything=True):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        await admin.topics.set_perm(f"%DLQ%{group}", 6)
    async with consuming(cluster, unique("dlq"), f"%DLQ%{group}", dead):
        assert await dead.wait(1) == [b"0"]


async def test_broadcast_gives_all_to_each(cluster: Cluster, unique: Unique, tmp_path: Path) -> None:
    topic, group, one, two = unique("topic"), unique("g"), Collector(), Collector()
    await prepare(cluster, topic)

    def settings(name: str) -> ConsumerSettings:
        return ConsumerSettings(consume_from="first", offsets_path=tmp_path / name)

    async with (
        consuming(cluster, group, topic, one, broadcasting=True, settings=settings("one")),
        consuming(cluster, group, topic, two, broadcasting=True, settings=settings("two")),
    ):
        await fill(cluster, topic, 20, unique("pg"))
        await one.wait(20)
        await two.wait(20)
    assert sorted(one.bodies) == sorted(two.bodies)


def owned(assignment: set[MessageQueue]) -> set[Queue]:
    return {Queue(q.topic, q.broker_name, q.queue_id) for q in assignment if not is_retry_topic(q.topic)}


@pytest.mark.parametrize("java_version", ["java_498", "java_533"])
async def test_java_and_python_share_a_group(
    cluster: Cluster, unique: Unique, java_version: str, request: pytest.FixtureRequest
) -> None:
    java: JavaPeer = request.getfixturevalue(java_version)
    topic, group, handler = unique("topic"), unique("g"), Collector()
    await prepare(cluster, topic, 8)
    other = await asyncio.to_thread(java.push_consumer, group, cluster.address, [topic])
    try:
        async with consuming(cluster, group, topic, handler) as consumer:
            async with asyncio.timeout(120):
                while True:  # each queue exactly one owner
                    ours = owned(consumer.assignment())
                    theirs = {q for q in await asyncio.to_thread(other.assigned) if not is_retry_topic(q.topic)}
                    if len(ours) == len(theirs) == 4 and not ours & theirs:
                        break
                    await asyncio.sleep(0.2)
            await fill(cluster, topic, 200, unique("pg"))
            wanted = {b"%d" % i for i in range(200)}
            async with asyncio.timeout(120):
                while True:
                    both = set(handler.bodies) | {m.body for m in await asyncio.to_thread(other.received)}
                    if both >= wanted:
                        break
                    await asyncio.sleep(0.2)
            assert len(handler.bodies) + len(other.received()) == 200
            assert handler.bodies
            assert other.received()
    finally:
        await asyncio.to_thread(other.shutdown)


async def test_orderly_java_and_python_keep_the_order(cluster: Cluster, unique: Unique, java_533: JavaPeer) -> None:
    topic, group, handler = unique("topic"), unique("g"), Collector()
    await prepare(cluster, topic, 4)
    async with consuming(cluster, group, topic, handler, orderly=True):
        await fill(cluster, topic, 100, unique("pg"))
        await handler.wait(50)
        other = await asyncio.to_thread(java_533.push_consumer, group, cluster.address, [topic], orderly=True)
        try:
            await fill(cluster, topic, 100, unique("pg"), tag="later")
            async with asyncio.timeout(180):
                while len(handler.bodies) + len(await asyncio.to_thread(other.received)) < 200:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            theirs = await asyncio.to_thread(other.received)
        finally:
            await asyncio.to_thread(other.shutdown)
    seen: dict[int, list[int]] = {}
    for message in handler.messages:
        seen.setdefault(message.queue_id, []).append(message.queue_offset)
    for received in theirs:
        seen.setdefault(received.queue_id, []).append(received.queue_offset)
    for queue, offsets in seen.items():
        firsts = list(dict.fromkeys(offsets))
        assert firsts == sorted(firsts), f"queue {queue} was consumed out of order"


async def test_java_in_the_same_namespace(cluster: Cluster, unique: Unique, java_498: JavaPeer) -> None:
    """Both ways; and what is sent in a namespace is not seen outside it."""
    topic, space, handler, outside = unique("topic"), unique("ns"), Collector(), Collector()
    await prepare(cluster, topic, 2)
    async with AdminClient(cluster.address, namespace=space) as admin:
        await admin.topics.create(topic, queues=2)
    options = {"namespace": space}
    other = await asyncio.to_thread(java_498.push_consumer, unique("g"), cluster.address, [topic], options=options)
    sender = await asyncio.to_thread(java_498.producer, unique("pg"), cluster.address, options=options)
    try:
        async with consuming(cluster, unique("g"), topic, handler, namespace=space):
            async with consuming(cluster, unique("g"), topic, outside):
                await fill(cluster, topic, 1, unique("pg"))
                async with Producer(unique("pg"), cluster.address, namespace=space) as producer:
                    await producer.send(Message(topic, b"from Python"))
                await asyncio.to_thread(sender.send, Outgoing(topic, b"from Java"))
                await handler.wait_for(b"from Python", b"from Java")
                await outside.wait_for(b"0")
        seen = await asyncio.to_thread(other.wait_bodies, [b"from Python", b"from Java"])
    finally:
        await asyncio.to_thread(other.shutdown)
        await asyncio.to_thread(sender.shutdown)
    assert {message.topic for message in seen} == {topic} == {message.topic for message in handler.messages}
    assert outside.bodies == [b"0"]
