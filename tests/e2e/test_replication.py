"""A master and its slave as processes: nothing that was acknowledged is lost with the master, and consumers read on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.e2e.cli.commands import rows
from tests.e2e.collect import Collector
from tests.peers import probe
from tests.peers.process import eventually
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker

from sprocketmq.client import ConsumerSettings, Message, Producer, PullConsumer, PushConsumer
from sprocketmq.client.errors import ClientError
from sprocketmq.client.message import SendStatus
from sprocketmq.codes import RequestCode

SIZES = {"slaveReadEnable": "true", "mappedFileSizeCommitLog": str(1 << 20)}


@pytest.fixture
def pair(tmp_path: Path, nameserver: NameServer) -> Iterator[tuple[Broker, Broker]]:
    sync = SIZES | {"brokerRole": "SYNC_MASTER", "slaveTimeout": "60000"}
    master = SprocketBroker(tmp_path / "master", nameserver.address, sync)
    slave = SprocketBroker(tmp_path / "slave", nameserver.address, SIZES | {"brokerRole": "SLAVE", "brokerId": "1"})
    try:
        master.start()
        slave.start()
        eventually(lambda: followed(master), "the slave follows")
        yield master, slave
    finally:
        slave.kill()
        master.kill()


def followed(master: Broker) -> bool:
    return b'"inSyncSlaveNums":1' in probe.ask(master.address, RequestCode.GET_BROKER_HA_STATUS)[1]


def knows(broker: Broker, topic: str) -> bool:
    return f'"{topic}"'.encode() in probe.ask(broker.address, RequestCode.GET_ALL_TOPIC_CONFIG)[1]


async def acknowledged(producer: Producer, name: str, broker: Broker | None = None) -> AsyncIterator[bytes]:
    """Bodies that were acknowledged as safe; `broker` is killed in the middle of it, and the first error ends it."""
    for number in range(400):
        if broker is not None and number == 200:
            asyncio.get_running_loop().call_later(0.05, broker.kill)
        body = f"{name} {number}".encode()
        try:
            receipt = await producer.send(Message("T", body), timeout=None if broker is None else 5)
        except ClientError:
            return
        if receipt.status is SendStatus.OK:
            yield body


def test_the_cluster_shows_how_far_the_slave_is(nameserver: NameServer, pair: tuple[Broker, Broker]) -> None:
    eventually(lambda: [row["bytes_behind"] for row in rows(nameserver.address, "cluster")] == [None, 0], "both known")
    master, slave = rows(nameserver.address, "cluster")
    assert (master["role"], master["slaves_in_sync"], master["epoch"]) == ("master", 1, None)
    assert (slave["role"], slave["slaves_in_sync"], slave["state"]) == ("slave", None, "up")


async def test_what_was_acknowledged_outlives_the_master(nameserver: NameServer, pair: tuple[Broker, Broker]) -> None:
    master, slave = pair
    handler = Collector()
    consumer = PushConsumer("readers", nameserver.address, settings=ConsumerSettings(consume_from="first"))
    consumer.add_handler("T", handler)
    async with Producer("p", nameserver.address) as producer, consumer:
        await producer.send(Message("T", b"first"))
        await asyncio.to_thread(eventually, lambda: knows(slave, "T"), "the slave knows the topic")
        safe = [body async for body in acknowledged(producer, "before", master)]
        assert len(safe) >= 150
        await handler.wait_for(*safe)
        async with PullConsumer("pullers", nameserver.address) as puller:
            queues = await puller.queues("T")
            assert sum([await puller.end_offset(queue) for queue in queues]) >= len(safe)
        await asyncio.to_thread(master.start)
        await asyncio.to_thread(eventually, lambda: followed(master), "the slave follows again")
        again = [body async for body in acknowledged(producer, "after")]
        assert len(again) == 400
        await handler.wait_for(*again)
