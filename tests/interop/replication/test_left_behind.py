"""A slave whose log ends before its master's begins: nobody has what it lacks.

RocketMQ's slave waits there for ever and says nothing, whoever its master is: its stream cannot jump. Ours begins anew,
with the master's last file as an empty one does. Our master says of a Java slave that it cannot follow. Under a
controller it is the epochs that may have nothing in common any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.interop.replication.test_replication import SIZES, end_of, followed, log_of
from tests.peers import probe
from tests.peers.apache import ApacheBroker
from tests.peers.broker_set import BrokerSet, wait_until
from tests.peers.controllers import SprocketController
from tests.peers.patience import LONG
from tests.peers.process import eventually
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer
from tests.peers.toolchain import needs_tools

from sprocketmq.client import Message, Producer
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file, encode_epoch_file

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

FILE_BYTES = int(SIZES["mappedFileSizeCommitLog"])
MASTER, SLAVE = SIZES | {"brokerRole": "ASYNC_MASTER"}, SIZES | {"brokerRole": "SLAVE", "brokerId": "1"}


@pytest.fixture
def pair(tmp_path: Path, nameserver: NameServer) -> Iterator[list[Broker]]:
    """A master and a slave of ours, both stopped: the slave has one file, and the master has it no more."""
    roles = (("master", MASTER), ("slave", SLAVE))
    brokers: list[Broker] = [SprocketBroker(tmp_path / name, nameserver.address, conf) for name, conf in roles]
    master, slave = (broker.start() for broker in brokers)
    asyncio.run(send(nameserver, 5))
    eventually(lambda: end_of(slave) == end_of(master), "the slave has the whole log")
    slave.stop()
    asyncio.run(send(nameserver, 100))
    master.stop()
    first, second, *others = sorted((master.store / "commitlog").iterdir())
    assert len(others) > 2
    first.unlink()
    second.unlink()
    yield brokers
    for broker in brokers:
        broker.kill()


async def send(nameserver: NameServer, count: int) -> None:
    async with Producer("senders", nameserver.address) as producer:
        for number in range(count):
            assert (await producer.send(Message("copied", b"%d " % number + bytes(3000)))).ok


def as_apache(brokers: list[Broker], number: int) -> Broker:
    """The same store, port and configuration in the other kind of broker."""
    old = brokers[number]
    brokers[number] = ApacheBroker(old.directory, old.nameserver, old.conf, old.port)
    with needs_tools():
        return brokers[number].start()


def test_our_slave_begins_anew_with_a_java_master(pair: list[Broker], nameserver: NameServer) -> None:
    master = as_apache(pair, 0)
    slave = pair[1].start()
    eventually(lambda: followed(master), "the slave follows")
    asyncio.run(send(nameserver, 30))
    eventually(lambda: end_of(slave) == end_of(master), "the slave has the whole log")
    ours, theirs = log_of(slave), log_of(master)
    first = min(path.name for path in (slave.store / "commitlog").iterdir())
    end, begin = end_of(master), int(first)
    assert begin >= 2 * FILE_BYTES
    behind = begin - int(min(path.name for path in (master.store / "commitlog").iterdir()))
    assert ours[: end - begin] == theirs[behind : behind + end - begin]
    assert [path.name for path in slave.store.glob("quarantine/behind-*/*")] == ["0" * 20]


@LONG
def test_our_master_says_that_a_java_slave_cannot_follow(pair: list[Broker], nameserver: NameServer) -> None:
    master = pair[0].start()
    slave = as_apache(pair, 1)
    end = end_of(slave)
    console = master.directory / "console.log"
    eventually(lambda: "the slave is behind the oldest file of this log" in console.read_text(), "the master says so")
    asyncio.run(send(nameserver, 5))
    assert end_of(slave) == end, "it takes nothing from another place"
    assert not followed(master)


@LONG
def test_our_replica_whose_epoch_is_gone_at_a_java_master_begins_anew(tmp_path: Path) -> None:
    """The log of the replica goes on alone behind the oldest file of its master, so that it is not behind."""
    small = {"mappedFileSizeCommitLog": SIZES["mappedFileSizeCommitLog"]}
    with BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 2, small) as brokers:
        one, two = brokers.brokers
        asyncio.run(send(brokers.nameserver, 5))
        one.kill()
        brokers.wait_master_not(one)
        asyncio.run(send(brokers.nameserver, 100))
        two.stop()
        forget_first_epoch(two)
        write_alone(one)
        brokers.brokers[1] = java = ApacheBroker(two.directory, two.nameserver, two.conf, two.port)
        java.is_ready = partial(probe.answers, java.address)  # type: ignore[method-assign]
        java.start()
        wait_until(lambda: brokers.master is java, "the other one leads")
        one.start()
        brokers.wait_whole()
        assert list(one.store.glob("quarantine/behind-*/*"))
        assert log_of(one)[:FILE_BYTES] == log_of(java)[:FILE_BYTES]


def forget_first_epoch(broker: Broker) -> None:
    """As a master does with the files of an epoch."""
    for path in sorted((broker.store / "commitlog").iterdir())[:2]:
        path.unlink()
    epochs = broker.store / "epochFileCheckpoint"
    _first, second = decode_epoch_file(epochs.read_text())
    epochs.write_text(encode_epoch_file([second]))


def write_alone(broker: Broker) -> None:
    """In another cluster, so that nobody notices."""
    nameserver = SprocketNameServer(broker.directory / "alone").start()
    alone = SprocketBroker(broker.directory, nameserver.address, {"brokerName": broker.name, **MASTER}, broker.port)
    alone.start()
    try:
        asyncio.run(send(nameserver, 60))
    finally:
        alone.stop()
        nameserver.kill()
    assert len(list((broker.store / "commitlog").iterdir())) > 3
