"""Users of the cluster, in a namespace of their own: producers in Python and Java, a reader that commits.

Every call is in the history. A producer sends to one queue, one message after the other. Java's never sends one again,
so that each message has one place; ours does when a broker is lost, and says so. Only SEND_OK is a promise.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self
from unittest import mock

from tests.fault.history.events import History, OpenCall
from tests.fault.partitions.machines import QUEUES, TOPIC
from tests.peers.broker_set import NAME
from tests.peers.clients import Producer as JavaProducer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue

from sprocketmq.client import ClientError, Message, Producer, ProducerSettings, PullConsumer
from sprocketmq.client.producer.broker_latency import LatencyFaults
from sprocketmq.protocol.message_queue import MessageQueue

GROUP = "readers"
_SEND_S = 2.0
#: The machine does something else as well.
_REST_S = 0.02
_PATIENCE_S = 180.0


class Users:
    """`java` is a producer in a JVM, or None."""

    def __init__(self, history: History, nameserver: str, java: JavaPeer | None = None) -> None:
        self.history = history
        self.promised = 0
        self._nameserver, self._java = nameserver, java
        self._stopping = False
        self._lost_tries = 0
        self._more = asyncio.Event()
        self._read_upto = dict.fromkeys(range(QUEUES), 0)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        settings = ProducerSettings(send_timeout=_SEND_S)
        self._producer = await Producer("promises", self._nameserver, settings=settings).start()
        self._patch = mock.patch.object(LatencyFaults, "record", self._note_try)
        self._patch.start()
        self._consumer = await PullConsumer(GROUP, self._nameserver).start()
        python = range(QUEUES if self._java is None else QUEUES - 1)
        self._tasks = [asyncio.ensure_future(self._produce(queue)) for queue in python]
        if self._java is not None:
            options = {"retryTimesWhenSendFailed": 0, "sendMsgTimeout": int(_SEND_S * 1000)}
            producer = self._java.producer("java-promises", self._nameserver, options=options)
            self._tasks.append(asyncio.ensure_future(self._produce_in_java(producer, QUEUES - 1)))
        self._tasks.append(asyncio.ensure_future(self._consume()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)
        self._patch.stop()
        await self._producer.stop()
        await self._consumer.stop(commit=False)

    def _note_try(self, _broker_name: str, _latency_ms: float, *, failed: bool = False) -> None:
        """The client tells of it: a try without an answer may have been stored, and the next one too."""
        self._lost_tries += failed

    async def more(self, count: int) -> None:
        """Until so many more are promised."""
        wanted = self.promised + count
        async with asyncio.timeout(_PATIENCE_S):
            while self.promised < wanted:
                self._more.clear()
                await self._more.wait()

    def _promise(self, call: OpenCall, offset: int, lost_tries: int = 0) -> None:
        call.ok(offset=offset, lost_tries=lost_tries)
        self.promised += 1
        self._more.set()

    def _begin(self, who: str, queue: int, number: int) -> tuple[str, OpenCall]:
        uid = f"{who}-{number}"
        return uid, self.history.begin(who, "send", topic=TOPIC, queue=queue, uids=[uid])

    async def _produce(self, queue: int) -> None:
        place, number = MessageQueue(TOPIC, NAME, queue), 0
        while not self._stopping:
            number += 1
            uid, call = self._begin(f"p{queue}", queue, number)
            lost_before = self._lost_tries
            try:
                receipt = await self._producer.send(Message(TOPIC, uid.encode()), queue=place)
            except ClientError:
                call.info()
            else:
                if receipt.ok:
                    self._promise(call, receipt.queue_offset, self._lost_tries - lost_before)
                else:
                    call.info()
            await asyncio.sleep(_REST_S)

    async def _produce_in_java(self, producer: JavaProducer, queue: int) -> None:
        place, number = Queue(TOPIC, NAME, queue), 0
        while not self._stopping:
            number += 1
            uid, call = self._begin("java", queue, number)
            try:
                message = Outgoing(TOPIC, uid.encode())
                sent = await asyncio.to_thread(producer.send, message, queue=place, timeout=_SEND_S)
            except PeerError:
                call.info()
            else:
                if sent.status == "SEND_OK":
                    self._promise(call, sent.queue_offset)
                else:
                    call.info()
            await asyncio.sleep(_REST_S)

    async def _consume(self) -> None:
        """Read on where it was, commit, and now and then ask what is committed, as after a rebalance."""
        turn = 0
        while not self._stopping:
            turn += 1
            for queue in range(QUEUES):
                try:
                    if turn % 5 == 0:
                        await self._fetch(queue)
                    await self._read(queue)
                except ClientError:
                    continue
            await asyncio.sleep(0.2)

    async def _fetch(self, queue: int) -> None:
        call = self.history.begin("reader", "fetch", group=GROUP, topic=TOPIC, queue=queue)
        try:
            committed = await self._consumer.committed(MessageQueue(TOPIC, NAME, queue))
        except ClientError:
            call.info()
            raise
        call.ok(offset=committed)

    async def _read(self, queue: int) -> None:
        at = self._read_upto[queue]
        upto = await self.read(queue, at)
        if upto == at:
            return
        self._read_upto[queue] = upto
        call = self.history.begin("reader", "commit", group=GROUP, topic=TOPIC, queue=queue, offset=upto)
        try:
            await self._consumer.commit({MessageQueue(TOPIC, NAME, queue): upto})
        except ClientError:
            call.info()
            raise
        call.ok()

    async def read(self, queue: int, at: int, *, final: bool = False) -> int:
        """From `at` to the end of the queue; where that is."""
        place, more = MessageQueue(TOPIC, NAME, queue), {"final": True} if final else {}
        call = self.history.begin("end" if final else "reader", "read", topic=TOPIC, queue=queue, at=at, **more)
        found: list[tuple[int, str]] = []
        try:
            end = max(at, await self._consumer.end_offset(place))
            async for messages in self._consumer.read_range(place, at, end):
                found += [(message.queue_offset, message.body.decode()) for message in messages]
        except ClientError:
            call.info()
            raise
        call.ok(found=found, upto=end)
        return end


def java_peer(directory: Path) -> JavaPeer:
    return JavaPeer("5.3.3", directory / "java")
