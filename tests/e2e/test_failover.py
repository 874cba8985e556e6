"""Three replicas as processes, as `sprocket up --replicas 3` starts them; each master is killed in its turn.

Whoever uses the client sees a pause, and no error: producers for coroutines and for threads, push and pull consumers.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from tests.e2e.collect import Collector
from tests.peers.broker_set import TOPIC, BrokerSet, Load, lost
from tests.peers.controllers import SprocketController

from sprocketmq.client import (
    ClientError,
    ConsumerSettings,
    Message,
    ProducerSettings,
    PullConsumer,
    PullSettings,
    PushConsumer,
)
from sprocketmq.client.sync import Producer

pytestmark = pytest.mark.interop

KILLS = 3


class ThreadLoad:
    """Sends one message after the other from a thread."""

    def __init__(self, nameserver: str) -> None:
        self.acked: list[bytes] = []
        self.errors: list[str] = []
        self._nameserver = nameserver
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        with Producer("threads", self._nameserver, settings=ProducerSettings(send_timeout=60)) as producer:
            while not self._stopping.is_set():
                body = b"thread %d" % (len(self.acked) + len(self.errors))
                try:
                    if producer.send(Message(TOPIC, body)).ok:
                        self.acked.append(body)
                except ClientError as error:
                    self.errors.append(repr(error))

    async def end(self) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)


class PullLoop:
    """Polls until it is told to end."""

    def __init__(self, nameserver: str) -> None:
        self.seen: set[bytes] = set()
        self._consumer = PullConsumer("pulls", nameserver, settings=PullSettings(consume_from="first"))
        self._more = asyncio.Event()

    async def run(self) -> None:
        async with self._consumer as consumer:
            await consumer.subscribe(TOPIC)
            while True:
                self.seen |= {message.body for message in await consumer.poll(timeout=0.5)}
                self._more.set()

    async def wait_for(self, bodies: list[bytes]) -> None:
        while not set(bodies) <= self.seen:
            self._more.clear()
            await self._more.wait()


async def kill_in_turn(brokers: BrokerSet, load: Load) -> None:
    for _ in range(KILLS):
        old = brokers.master
        assert old is not None
        old.kill()
        await asyncio.to_thread(brokers.wait_master_not, old)
        await load.more(20)
        await asyncio.to_thread(old.start)
        await asyncio.to_thread(brokers.wait_whole)


async def ride_through(brokers: BrokerSet) -> None:
    nameserver = brokers.nameserver.address
    handler, pulls = Collector(), PullLoop(nameserver)
    push = PushConsumer("pushes", nameserver, settings=ConsumerSettings(consume_from="first"))
    push.add_handler(TOPIC, handler)
    async with Load(nameserver, timeout=60.0) as load:
        await load.more(5)
        threads, polling = ThreadLoad(nameserver), asyncio.ensure_future(pulls.run())
        try:
            async with push:
                await kill_in_turn(brokers, load)
                await threads.end()
                acked = load.acked + threads.acked
                await handler.wait_for(*acked)
                waiting = asyncio.ensure_future(pulls.wait_for(acked))
                done, _ = await asyncio.wait([polling, waiting], timeout=120, return_when=asyncio.FIRST_COMPLETED)
                assert waiting in done, polling
                await waiting
        finally:
            await threads.end()
            polling.cancel()
    assert (load.errors, threads.errors) == ([], [])
    assert len(threads.acked) > KILLS
    assert await lost(nameserver, acked) == set()


def test_clients_see_no_error_when_masters_are_killed_in_turn(tmp_path: Path) -> None:
    with BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 3) as brokers:
        asyncio.run(ride_through(brokers))
