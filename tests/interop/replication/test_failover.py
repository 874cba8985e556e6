"""A broker set under a controller: master, slave and controller each ours or Apache's, all eight of them.

The master is killed under load, the other takes over, the first comes back, and they change places once more, so that
each pair is tried both ways round: a mixed pair is two of the eight. What was promised must be there at the end, and
our producer must not have noticed more than a pause. Java's clients go on as well; their producer gives up sooner.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from tests.peers.broker_set import TOPIC, BrokerSet, Load, lost
from tests.peers.clients import Producer as JavaProducer
from tests.peers.controllers import ApacheController, SprocketController
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing
from tests.peers.patience import LONG
from tests.peers.process import eventually
from tests.peers.servers import Server

pytestmark = pytest.mark.interop

MakeController = Callable[[Path], Server]


@pytest.mark.parametrize(
    ("controller", "kinds"),
    [
        (SprocketController, ["sprocket", "sprocket"]),
        (ApacheController, ["sprocket", "sprocket"]),
        pytest.param(SprocketController, ["apache", "sprocket"], marks=LONG),
        pytest.param(ApacheController, ["apache", "sprocket"], marks=LONG),
        pytest.param(SprocketController, ["apache", "apache"], marks=LONG),
        pytest.param(ApacheController, ["apache", "apache"], marks=LONG),
    ],
)
def test_nothing_promised_is_lost_when_masters_change(
    tmp_path: Path, controller: MakeController, kinds: list[str]
) -> None:
    with BrokerSet(tmp_path, controller(tmp_path / "controller"), kinds) as brokers:
        asyncio.run(change_places(brokers))


async def change_places(brokers: BrokerSet) -> None:
    async with Load(brokers.nameserver.address) as load:
        await load.more(50)
        for _ in range(2):
            old = brokers.master
            assert old is not None
            old.kill()
            await asyncio.to_thread(brokers.wait_master_not, old)
            await load.more(50)
            await asyncio.to_thread(old.start)
            await asyncio.to_thread(brokers.wait_whole)
            await load.more(50)
    assert load.errors == []
    assert await lost(brokers.nameserver.address, load.acked) == set()


@pytest.mark.parametrize(
    ("controller", "kinds"),
    [
        (SprocketController, ["sprocket", "sprocket"]),
        pytest.param(ApacheController, ["sprocket", "sprocket"], marks=LONG),
        pytest.param(SprocketController, ["apache", "sprocket"], marks=LONG),
    ],
)
def test_java_clients_go_on_with_the_new_master(
    tmp_path: Path, java_533: JavaPeer, controller: MakeController, kinds: list[str]
) -> None:
    with BrokerSet(tmp_path, controller(tmp_path / "controller"), kinds) as brokers:
        address = brokers.nameserver.address
        with java_533.producer("senders", address) as producer, JavaLoad(producer) as load:
            load.more()
            with java_533.push_consumer("readers", address, [TOPIC]) as consumer:
                consumer.wait(1)
                old = brokers.master
                assert old is not None
                old.kill()
                brokers.wait_master_not(old)
                load.more()
                load.stop()
                consumer.wait_bodies(load.acked)


class JavaLoad:
    """A Java producer that sends one message after the other, on a thread, and goes on when it gave one up."""

    def __init__(self, producer: JavaProducer) -> None:
        self.acked: list[bytes] = []
        self._producer = producer
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def more(self, count: int = 20) -> None:
        """Until so many more are promised."""
        wanted = len(self.acked) + count
        eventually(lambda: len(self.acked) >= wanted, f"{count} more are promised")

    def _send(self) -> None:
        for number in itertools.count():
            if self._stopping.wait(0.01):
                return
            body = b"%d" % number
            with suppress(PeerError):
                if self._producer.send(Outgoing(TOPIC, body)).status == "SEND_OK":
                    self.acked.append(body)


def test_a_master_that_was_asleep_promises_nothing_and_follows(tmp_path: Path) -> None:
    with BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 3) as brokers:
        asyncio.run(sleep_and_wake(brokers))


async def sleep_and_wake(brokers: BrokerSet) -> None:
    async with Load(brokers.nameserver.address) as load:
        await load.more(50)
        old = brokers.master
        assert old is not None
        os.kill(old.pid, signal.SIGSTOP)
        await asyncio.to_thread(brokers.wait_master_not, old)
        await load.more(50)
        os.kill(old.pid, signal.SIGCONT)
        await asyncio.to_thread(brokers.wait_whole)
        await load.more(50)
    assert load.errors == [], "who waited at the old master has tried again at the new one"
    assert await lost(brokers.nameserver.address, load.acked) == set()
