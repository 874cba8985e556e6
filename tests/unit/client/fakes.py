"""A network in memory: requests are answered by functions, and everything that was asked is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import ClientError, TimedOut, Unreachable
from sprocketmq.client.options import ClientOptions
from sprocketmq.client.producer import producer as producer_module
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConnectionLost, RemotingError, RequestTimeout
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import GetConsumerListByGroupResponseBody
from sprocketmq.protocol.bodies.heartbeat import HeartbeatData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from sprocketmq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, encode_record
from sprocketmq.protocol.requests.send_frame import Sign
from sprocketmq.remoting.connection import Connection

NAMESERVER = "nameserver:9876"
_OF_NAMESERVERS = {RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO}

Answer = Callable[[str, Command], Command | Awaitable[Command]]


class FakeTransport:
    """Answers by request code; a code without an answer succeeds with nothing. An answer may raise."""

    def __init__(self, answers: dict[int, Answer] | None = None) -> None:
        self.answers: dict[int, Answer] = answers or {}
        self.asked: list[tuple[str, Command]] = []
        self.closed = False
        self.hold: asyncio.Event | None = None
        self.tasks: list[asyncio.Task[None]] = []

    #: Whether brokers are connected; when not, they are as often as somebody connects.
    is_connected = False
    sign: Sign | None = None

    async def call(self, address: str, command: Command, timeout: float) -> Command:
        self.asked.append((address, command))
        if self.hold is not None and command.code not in _OF_NAMESERVERS:
            await self.hold.wait()
        await asyncio.sleep(0)
        answer = self.answers.get(command.code)
        reply = command.reply() if answer is None else answer(address, command)
        return reply if isinstance(reply, Command) else await reply

    async def oneway(self, address: str, command: Command) -> None:
        self.asked.append((address, command))

    def connected(self, address: str) -> Connection | None:
        return cast(Connection, FakeConnection(self, address)) if self.is_connected else None

    def all_connected(self) -> dict[str, Connection]:
        return {}

    async def connect(self, address: str, timeout: float) -> Connection:
        await asyncio.sleep(0)
        return cast(Connection, FakeConnection(self, address))

    def failure(self, address: str, error: RemotingError, timeout: float) -> ClientError:
        return TimedOut(str(error)) if isinstance(error, RequestTimeout) else Unreachable(address, str(error))

    async def close(self) -> None:
        self.closed = True

    def commands(self, code: int) -> list[Command]:
        return [command for _, command in self.asked if command.code == code]

    def addresses(self, code: int) -> list[str]:
        return [address for address, command in self.asked if command.code == code]


class FakeConnection:
    """For callers that encode by themselves; answers as its transport does."""

    closed = False

    def __init__(self, transport: FakeTransport, address: str) -> None:
        self._transport, self._address = transport, address
        self._calls: dict[int, tuple[asyncio.Future[Command], float]] = {}

    def expect(self, timeout: float) -> tuple[int, asyncio.Future[Command]]:
        future: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._calls[len(self._calls)] = (future, timeout)
        return len(self._calls) - 1, future

    def next_opaque(self) -> int:
        return 0

    def put_now(self, parts: list[bytes]) -> None:
        self.put(b"".join(parts))

    def put(self, frame: bytes) -> None:
        (command,) = FrameDecoder().feed(frame)
        if command.is_oneway:
            self._transport.asked.append((self._address, command))
            return
        future, timeout = self._calls[command.opaque]
        self._transport.tasks.append(asyncio.ensure_future(self._answer(command, future, timeout)))

    async def _answer(self, command: Command, future: asyncio.Future[Command], timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                answer = await self._transport.call(self._address, command, timeout)
        except (Unreachable, TimeoutError) as error:
            if not future.done():
                lost = ConnectionLost(error.reason) if isinstance(error, Unreachable) else RequestTimeout("no answer")
                future.set_exception(lost)
        else:
            if not future.done():  # else who asked has gone
                future.set_result(answer)


def route(*brokers: str, queues: int = 4, perm: int = 6) -> TopicRouteData:
    return TopicRouteData(
        queue_datas=tuple(
            QueueData(broker_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm) for name in brokers
        ),
        broker_datas=tuple(
            BrokerData(cluster="c", broker_name=name, broker_addrs={0: f"{name}:10911"}) for name in brokers
        ),
    )


def routes(table: dict[str, TopicRouteData]) -> Callable[[str, Command], Command]:
    """A nameserver that knows these topics."""

    def answer(_address: str, command: Command) -> Command:
        found = table.get((command.ext_fields or {})["topic"])
        if found is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, "no such topic")
        return command.reply(body=codec.encode(found))

    return answer


def stores(first_offset: int = 0) -> Callable[[str, Command], Command]:
    """A broker that stores every message."""
    offsets: dict[str, int] = {}

    def answer(address: str, command: Command) -> Command:
        ext = command.ext_fields or {}
        place = f"{address}/{ext['e']}"
        offset = offsets.get(place, first_offset)
        count = 1 if command.code != RequestCode.SEND_BATCH_MESSAGE else batch_size(command.body)
        offsets[place] = offset + count
        ids = ",".join(f"{i:032X}" for i in range(offset, offset + count))
        return command.reply(ext_fields={"msgId": ids, "queueId": ext["e"], "queueOffset": str(offset)})

    return answer


def batch_size(body: bytes) -> int:
    at = count = 0
    while at < len(body):
        at += int.from_bytes(body[at : at + 4], "big")
        count += 1
    return count


def batch_bodies(body: bytes) -> list[bytes]:
    at, bodies = 0, []
    while at < len(body):
        length = int.from_bytes(body[at + 16 : at + 20], "big")
        bodies.append(body[at + 20 : at + 20 + length])
        at += int.from_bytes(body[at : at + 4], "big")
    return bodies


def instance(transport: FakeTransport, **options: float) -> ClientInstance:
    return ClientInstance(ClientOptions((NAMESERVER,), **options), transport)  # type: ignore[arg-type]


def connect_producers(monkeypatch: pytest.MonkeyPatch, transport: FakeTransport) -> FakeTransport:
    """Every producer that is started reaches this network and no other."""

    async def release(made: ClientInstance, producer: str) -> None:
        await made.stop()

    monkeypatch.setattr(producer_module, "acquire", lambda options, producer: instance(transport))
    monkeypatch.setattr(producer_module, "release", release)
    return transport


def stored(
    body: bytes, offset: int, *, topic: str = "T", queue_id: int = 0, properties: bytes = b"", **more: int
) -> bytes:
    """The bytes of one record."""
    return encode_record(
        Record(topic=topic, body=body, queue_offset=offset, queue_id=queue_id, properties=properties, **more)  # type: ignore[arg-type]
    )


class FakeQueues:
    """A broker's queues for consumers: pulls, offsets, group members and locks, with long polls that wait."""

    def __init__(self, transport: FakeTransport, topic: str = "T", queues: int = 2, broker: str = "a") -> None:
        self.topic, self.broker = topic, broker
        self.logs: dict[int, list[bytes]] = {i: [] for i in range(queues)}
        self.committed: dict[tuple[str, int], int] = {}
        self.members: list[str] = []
        self.returned: list[dict[str, str]] = []
        self.locked = True
        self._grown = asyncio.Event()
        code = RequestCode
        transport.answers |= {
            code.GET_ROUTEINFO_BY_TOPIC: routes({topic: route(broker, queues=queues)}),
            code.PULL_MESSAGE: self.pull,
            code.QUERY_CONSUMER_OFFSET: self.query_offset,
            code.UPDATE_CONSUMER_OFFSET: self.update_offset,
            code.GET_MAX_OFFSET: self.max_offset,
            code.GET_MIN_OFFSET: lambda _, c: c.reply(ext_fields={"offset": "0"}),
            code.SEARCH_OFFSET_BY_TIMESTAMP: lambda _, c: c.reply(ext_fields={"offset": "1"}),
            code.GET_CONSUMER_LIST_BY_GROUP: self.list_members,
            code.HEART_BEAT: self.heartbeat,
            code.CONSUMER_SEND_MSG_BACK: self.send_back,
            code.LOCK_BATCH_MQ: self.lock,
        }  # fmt: skip

    def append(self, body: bytes, queue_id: int = 0, **more: str) -> None:
        log = self.logs[queue_id]
        text = encode_properties({name.upper(): value for name, value in more.items()}).encode()
        log.append(stored(body, len(log), topic=self.topic, queue_id=queue_id, properties=text))
        self._grown.set()
        self._grown = asyncio.Event()

    async def pull(self, _address: str, command: Command) -> Command:
        ask = fields(command)
        log, offset = self.logs[int(ask["queueId"])], int(ask["queueOffset"])
        if offset > len(log):
            return command.reply(ResponseCode.PULL_OFFSET_MOVED, ext_fields=self._ends(log, len(log)))
        if offset == len(log):
            await self._grown.wait()
        found = log[offset : offset + int(ask["maxMsgNums"])]
        code = ResponseCode.SUCCESS if found else ResponseCode.PULL_NOT_FOUND
        return command.reply(code, ext_fields=self._ends(log, offset + len(found)), body=b"".join(found))

    def max_offset(self, _address: str, command: Command) -> Command:
        return command.reply(ext_fields={"offset": str(len(self.logs[int(fields(command)["queueId"])]))})

    def query_offset(self, _address: str, command: Command) -> Command:
        offset = self.committed.get((fields(command)["topic"], int(fields(command)["queueId"])))
        if offset is None:
            return command.reply(ResponseCode.QUERY_NOT_FOUND)
        return command.reply(ext_fields={"offset": str(offset)})

    def update_offset(self, _address: str, command: Command) -> Command:
        ask = fields(command)
        self.committed[ask["topic"], int(ask["queueId"])] = int(ask["commitOffset"])
        return command.reply()

    def heartbeat(self, _address: str, command: Command) -> Command:
        client = codec.decode(HeartbeatData, command.body).client_id
        if client not in self.members:
            self.members.append(client)
        return command.reply()

    def list_members(self, _address: str, command: Command) -> Command:
        return command.reply(
            body=codec.encode(GetConsumerListByGroupResponseBody(consumer_id_list=tuple(self.members)))
        )

    def send_back(self, _address: str, command: Command) -> Command:
        self.returned.append(fields(command))
        return command.reply()

    def lock(self, _address: str, command: Command) -> Command:
        asked = codec.decode(LockBatchRequestBody, command.body).mq_set
        return command.reply(
            body=codec.encode(LockBatchResponseBody(lock_okmqset=asked if self.locked else frozenset()))
        )

    @staticmethod
    def _ends(log: list[bytes], following: int) -> dict[str, str]:
        return {
            "nextBeginOffset": str(following),
            "minOffset": "0",
            "maxOffset": str(len(log)),
            "suggestWhichBrokerId": "0",
        }


def fields(command: Command) -> dict[str, str]:
    return command.ext_fields or {}


async def until(true: Callable[[], bool]) -> None:
    """Let the loop run until `true` holds: everything here happens without waiting for a clock."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0)
