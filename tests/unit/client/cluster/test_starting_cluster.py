"""Clients that are started before their cluster: a nameserver whose port is taken, and listens later or never."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from sprocketmq import Message, Producer, PullConsumer, PushConsumer
from sprocketmq.client.admin import AdminClient
from sprocketmq.client.errors import Offline, TimedOut
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ConsumerSettings, ProducerSettings, PullSettings
from sprocketmq.client.sync import Producer as SyncProducer
from sprocketmq.testing import EmbeddedCluster

HANG = 60.0  # seconds
TOPIC = "starting"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running, SyncProducer("g", running.nameserver) as producer:
        producer.send(Message(TOPIC, b"before"))
        yield running


class LateNameserver:
    """Refuses connections until `listen`, and then hands them on to the cluster's."""

    def __init__(self, behind: str) -> None:
        host, _, port = behind.rpartition(":")
        self._behind = host, int(port)
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._server: asyncio.Server | None = None
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._hand_on, sock=self._socket)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_behind, to_behind = await asyncio.open_connection(*self._behind)
        await asyncio.gather(_copy(reader, to_behind), _copy(from_behind, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


@pytest_asyncio.fixture
async def late(cluster: EmbeddedCluster) -> AsyncIterator[LateNameserver]:
    nameserver = LateNameserver(cluster.nameserver)
    yield nameserver
    await nameserver.close()


async def produce(address: str) -> bool:
    async with Producer("g", address) as producer:
        return (await producer.send(Message(TOPIC, b"x"), timeout=HANG)).ok


async def submit(address: str) -> bool:
    async with Producer("g", address, settings=ProducerSettings(send_timeout=HANG)) as producer:
        return (await producer.submit(Message(TOPIC, b"x"))).ok


async def produce_from_a_thread(address: str) -> bool:
    def send() -> bool:
        with SyncProducer("g", address) as producer:
            return producer.send(Message(TOPIC, b"x"), timeout=HANG).ok

    return await asyncio.to_thread(send)


async def look_for_queues(address: str) -> bool:
    async with PullConsumer("pulls", address, request_timeout=HANG) as consumer:
        return bool(await consumer.queues(TOPIC))


async def pull(address: str) -> bool:
    settings = PullSettings(consume_from="first", retry_pause=0.05)
    async with PullConsumer("pulls", address, settings=settings) as consumer:
        await consumer.subscribe(TOPIC, sql="a is null or a is not null")
        return bool(await consumer.poll(timeout=HANG))


async def push(address: str) -> bool:
    arrived = asyncio.Event()
    consumer = PushConsumer("pushed", address, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe(TOPIC)
    async def handle(_message: ReceivedMessage) -> None:
        arrived.set()

    async with consumer:
        return await arrived.wait()


class Warnings(logging.Handler):
    """What the client says at WARNING, and when it first does."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.first = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self._loop.call_soon_threadsafe(self.first.set)


@pytest_asyncio.fixture
async def warnings() -> AsyncIterator[Warnings]:
    handler = Warnings()
    log = logging.getLogger("sprocketmq.client")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


@pytest.mark.parametrize("start", [produce, submit, produce_from_a_thread, look_for_queues, pull, push])
async def test_a_client_waits_for_its_cluster(
    start: Callable[[str], Awaitable[bool]], late: LateNameserver, warnings: Warnings
) -> None:
    async with asyncio.timeout(HANG):
        started = asyncio.ensure_future(start(late.address))
        await warnings.first.wait()
        await late.listen()
        assert await started
    about = [line for line in warnings.lines if "topic=%RETRY%" not in line]
    assert len(about) == 1
    assert late.address in about[0]


async def test_a_nameserver_that_never_listens_is_named_at_the_deadline(late: LateNameserver) -> None:
    async with Producer("g", late.address) as producer:
        with pytest.raises((Offline, TimedOut), match=late.address):
            await producer.send(Message(TOPIC, b"x"), timeout=0.3)


async def test_an_admin_call_tells_at_once(late: LateNameserver) -> None:
    """Who looks after a cluster wants to know how it is now; one that waits says so."""
    async with AdminClient(late.address) as admin:
        with pytest.raises(Offline, match=late.address):
            await admin.topics.names()
        with pytest.raises(Offline, match=late.address):
            await admin.topics.route(TOPIC)
