"""Three replicas as processes, as `sprocket up --replicas 3` starts them; each master is killed in its turn.

Whoever uses the client sees a pause, and no error: producers for coroutines and for threads, push and pull consumers.
What belongs to one queue stays there, in order.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from tests.e2e.collect import Collector
from tests.peers.broker_set import TOPIC, BrokerSet, Load, lost
from tests.peers.controllers import SprocketController

from sprocketmq.client import (
    ClientError,
    ConsumerSettings,
    Message,
    MessageQueue,
    Producer,
    ProducerSettings,
    PullConsumer,
    PullSettings,
    PushConsumer,
    SendReceipt,
    TransactionState,
)
from sprocketmq.client.sync import Producer as SyncProducer

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
        with SyncProducer("threads", self._nameserver, settings=ProducerSettings(send_timeout=60)) as producer:
            while not self._stopping.is_set():
                body = b"thread %d" % (len(self.acked) + len(self.errors))
                try:
                    if producer.send(Message(TOPIC, body, sharding_key="thread")).ok:
                        self.acked.append(body)
                except ClientError as error:
                    self.errors.append(repr(error))

    async def end(self) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)


def last_queue(_message: Message, queues: Sequence[MessageQueue]) -> MessageQueue:
    return queues[-1]


class OrderedLoads:
    """Each sends to its own queue, one message or batch after the other, and keeps them in their order.

    The word that ends a transaction may be lost with its broker, and the next one asks: the producer stays to answer.
    """

    def __init__(self, producer: Producer, nameserver: str) -> None:
        self.sent: dict[str, list[bytes]] = {"key": [], "queue": [], "selector": [], "batch": [], "half": []}
        self.queues: dict[str, set[MessageQueue]] = {kind: set() for kind in self.sent}
        self.errors: list[str] = []
        self._producer = producer
        self._nameserver = nameserver
        self._stopping = False

    async def run(self) -> None:
        producer = self._producer
        first = (await producer.queues(TOPIC))[0]

        async def send_key(body: bytes) -> list[SendReceipt]:
            return [await producer.send(Message(TOPIC, body, sharding_key="one"))]

        async def send_queue(body: bytes) -> list[SendReceipt]:
            return [await producer.send(Message(TOPIC, body), queue=first)]

        async def send_selector(body: bytes) -> list[SendReceipt]:
            return [await producer.send(Message(TOPIC, body), selector=last_queue)]

        async def send_batch(body: bytes) -> list[SendReceipt]:
            return await producer.send_batch([Message(TOPIC, body)] * 2, queue=first)

        async def send_half(body: bytes) -> list[SendReceipt]:
            async with producer.transaction(Message(TOPIC, body)):
                return []

        kinds = zip(self.sent, (send_key, send_queue, send_selector, send_batch, send_half), strict=True)
        await asyncio.gather(*(self._send(kind, send) for kind, send in kinds))

    async def _send(self, kind: str, send: Callable[[bytes], Awaitable[list[SendReceipt]]]) -> None:
        while not self._stopping:
            body = b"%s %d" % (kind.encode(), len(self.sent[kind]))
            try:
                receipts = await send(body)
            except ClientError as error:
                self.errors.append(f"{kind}: {error!r}")
                continue
            assert all(receipt.ok for receipt in receipts) or kind == "half"
            self.sent[kind].append(body)
            self.queues[kind] |= {receipt.queue for receipt in receipts}

    def stop(self) -> None:
        self._stopping = True

    async def check_order(self) -> None:
        """Each queue has what was sent to it in the order of the sends; of what is there twice, the first counts."""
        ordered = {kind: queues for kind, queues in self.queues.items() if kind != "half"}
        assert [len(queues) for queues in ordered.values()] == [1] * len(ordered)
        async with PullConsumer("checker", self._nameserver) as consumer:
            for kind, (queue,) in ordered.items():
                begin, end, found = await consumer.begin_offset(queue), await consumer.end_offset(queue), list[bytes]()
                async for messages in consumer.read_range(queue, begin, end):
                    found += [message.body for message in messages if message.body.startswith(kind.encode())]
                assert list(dict.fromkeys(found)) == self.sent[kind], kind


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
    producer = Producer(
        "ordered", nameserver, settings=ProducerSettings(send_timeout=60), check=lambda _: TransactionState.COMMIT
    )
    async with Load(nameserver, timeout=60.0) as load, producer:
        await load.more(5)
        threads, polling = ThreadLoad(nameserver), asyncio.ensure_future(pulls.run())
        ordered = OrderedLoads(producer, nameserver)
        ordering = asyncio.ensure_future(ordered.run())
        try:
            async with push:
                await kill_in_turn(brokers, load)
                await threads.end()
                ordered.stop()
                await ordering
                acked = load.acked + threads.acked + [body for sent in ordered.sent.values() for body in sent]
                await handler.wait_for(*acked)
                waiting = asyncio.ensure_future(pulls.wait_for(acked))
                done, _ = await asyncio.wait([polling, waiting], timeout=120, return_when=asyncio.FIRST_COMPLETED)
                assert waiting in done, polling
                await waiting
        finally:
            await threads.end()
            ordering.cancel()
            polling.cancel()
    assert (load.errors, threads.errors, ordered.errors) == ([], [], [])
    assert min(len(threads.acked), *map(len, ordered.sent.values())) > KILLS
    await ordered.check_order()
    assert await lost(nameserver, acked) == set()


def test_clients_see_no_error_when_masters_are_killed_in_turn(tmp_path: Path) -> None:
    ask_soon = {
        "transactionTimeOut": "1000",
        "transactionCheckInterval": "1000",
    }  # a commit may be lost with its broker
    with BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 3, ask_soon) as brokers:
        asyncio.run(ride_through(brokers))
