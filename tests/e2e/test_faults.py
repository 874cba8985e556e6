"""Brokers that die, nameservers that vanish, networks that hang: the client goes on by itself and loses nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.e2e.collect import Collector
from tests.faultproxy.proxy import FaultProxy
from tests.peers.patience import PATIENT_S
from tests.peers.servers import Cluster

from sprocketmq.client import (
    ClientError,
    ConsumerSettings,
    Message,
    Offline,
    Producer,
    ProducerSettings,
    PushConsumer,
    TimedOut,
)
from sprocketmq.client.cluster.route import Route

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
SETTINGS = ConsumerSettings(consume_from="first", rebalance_interval=1, persist_interval=1, retry_pause=0.2)


@asynccontextmanager
async def behind_proxy(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultProxy]:
    """Every route leads through the proxy instead of to the broker."""
    plain = Route.of.__func__  # type: ignore[attr-defined]
    async with FaultProxy(cluster.broker.address) as proxy:

        def through(cls: type[Route], topic: str, data: object) -> Route:
            found: Route = plain(cls, topic, data)
            table = {name: dict.fromkeys(ids, proxy.address) for name, ids in found.addresses.items()}
            return Route(topic, table, found.clusters, found.write_counts, found.read_counts, found.order_conf)

        monkeypatch.setattr(Route, "of", classmethod(through))
        yield proxy


async def send_all(producer: Producer, topic: str, bodies: list[bytes]) -> set[bytes]:
    """As a careful user does: again until it is acknowledged."""
    for body in bodies:
        async with asyncio.timeout(120):
            while True:
                try:
                    await producer.send(Message(topic, body))
                    break
                except ClientError as error:
                    if not error.retriable:
                        raise
                    await asyncio.sleep(0.1)
    return set(bodies)


async def test_resets(cluster: Cluster, unique: Unique, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, handler = unique("topic"), Collector()
    async with behind_proxy(cluster, monkeypatch) as proxy:
        consumer = PushConsumer(unique("g"), cluster.address, settings=SETTINGS)
        consumer.add_handler(topic, handler)
        async with Producer(unique("pg"), cluster.address) as producer, consumer:
            wanted: set[bytes] = set()
            for turn in range(4):
                wanted |= await send_all(producer, topic, [b"%d-%d" % (turn, i) for i in range(20)])
                proxy.reset()
            await handler.wait_for(*wanted)


async def test_cut_and_healed(cluster: Cluster, unique: Unique, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, handler = unique("topic"), Collector()
    async with behind_proxy(cluster, monkeypatch) as proxy:
        consumer = PushConsumer(unique("g"), cluster.address, settings=SETTINGS)
        consumer.add_handler(topic, handler)
        async with Producer(unique("pg"), cluster.address) as producer, consumer:
            wanted = await send_all(producer, topic, [b"before"])
            proxy.cut()
            started = time.monotonic()
            with pytest.raises(ClientError) as caught:
                await producer.send(Message(topic, b"lost"), timeout=1.0)
            assert caught.value.retriable
            assert time.monotonic() - started < PATIENT_S / 2, "its own timeout ended it"
            attempts, since = proxy.accepted, time.monotonic()
            await asyncio.sleep(1.0)
            allowed = 40 * (time.monotonic() - since)
            assert proxy.accepted - attempts < allowed, "a client that cannot connect must rest between attempts"
            proxy.heal()
            wanted |= await send_all(producer, topic, [b"after"])
            await handler.wait_for(*wanted)


async def test_silence_ends_at_the_deadline(cluster: Cluster, unique: Unique, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = unique("topic")
    async with behind_proxy(cluster, monkeypatch) as proxy:
        settings = ProducerSettings(retries=0)
        async with Producer(unique("pg"), cluster.address, settings=settings) as producer:
            await producer.send(Message(topic, b"x"))
            proxy.hold()
            started = time.monotonic()
            with pytest.raises(TimedOut):
                await producer.send(Message(topic, b"x"), timeout=0.5)
            assert time.monotonic() - started < PATIENT_S / 2, "its own timeout ended it"
            futures = [producer.submit(Message(topic, b"b")) for _ in range(10)]
            proxy.heal()
            assert all(receipt.ok for receipt in await asyncio.gather(*futures))


async def test_delays_only_slow_down(cluster: Cluster, unique: Unique, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, handler = unique("topic"), Collector()
    async with behind_proxy(cluster, monkeypatch) as proxy:
        proxy.delay(0.05)
        consumer = PushConsumer(unique("g"), cluster.address, settings=SETTINGS)
        consumer.add_handler(topic, handler)
        async with Producer(unique("pg"), cluster.address) as producer, consumer:
            receipts = await asyncio.gather(*(producer.send(Message(topic, b"%d" % i)) for i in range(20)))
            assert all(receipt.ok for receipt in receipts)
            await handler.wait_for(*(b"%d" % i for i in range(20)))


async def test_nameserver_gone_for_a_while(cluster: Cluster, unique: Unique) -> None:
    topic, handler = unique("topic"), Collector()
    async with FaultProxy(cluster.address) as proxy:
        consumer = PushConsumer(unique("g"), proxy.address, settings=SETTINGS, route_interval=0.5)
        consumer.add_handler(topic, handler)
        async with Producer(unique("pg"), proxy.address, route_interval=0.5) as producer, consumer:
            await send_all(producer, topic, [b"before"])
            await handler.wait_for(b"before")
            proxy.cut()
            failed = proxy.accepted
            async with asyncio.timeout(120):
                while proxy.accepted < failed + 3:  # noqa: ASYNC110 - refreshes that fail
                    await asyncio.sleep(0.05)
            await send_all(producer, topic, [b"during"])
            await handler.wait_for(b"during")
            with pytest.raises((Offline, TimedOut)):  # its time was up between two tries, or during one
                await producer.send(Message(unique("new"), b"x"), timeout=0.5)
            proxy.heal()
            await send_all(producer, unique("new"), [b"after"])


async def test_second_nameserver_takes_over(cluster: Cluster, unique: Unique) -> None:
    async with Producer(unique("pg"), ["127.0.0.1:1", cluster.address]) as producer:
        assert (await producer.send(Message(unique("topic"), b"x"))).ok


async def test_broker_killed_and_restarted(own_cluster: Cluster, unique: Unique) -> None:
    topic, handler = unique("topic"), Collector()
    consumer = PushConsumer(unique("g"), own_cluster.address, settings=SETTINGS, route_interval=1.0)
    consumer.add_handler(topic, handler)
    async with Producer(unique("pg"), own_cluster.address, route_interval=1.0) as producer, consumer:
        wanted = await send_all(producer, topic, [b"a%d" % i for i in range(20)])
        await handler.wait_for(*wanted)
        await asyncio.to_thread(own_cluster.broker.kill)
        started = time.monotonic()
        with pytest.raises(ClientError):
            await producer.send(Message(topic, b"lost"), timeout=1.0)
        assert time.monotonic() - started < PATIENT_S / 2, "its own timeout ended it"
        await asyncio.to_thread(own_cluster.broker.start)
        wanted |= await send_all(producer, topic, [b"b%d" % i for i in range(20)])
        await handler.wait_for(*wanted)


async def test_stopping_leaves_nothing(cluster: Cluster, unique: Unique) -> None:
    topic, handler = unique("topic"), Collector()
    for _ in range(3):
        consumer = PushConsumer(unique("g"), cluster.address, settings=SETTINGS)
        consumer.add_handler(topic, handler)
        async with Producer(unique("pg"), cluster.address) as producer, consumer:
            await producer.send(Message(topic, b"x"))
            await handler.wait(1)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
