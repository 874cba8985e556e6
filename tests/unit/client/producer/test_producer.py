from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.fakes import FakeTransport, batch_bodies, instance, route, routes, stores

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import Closed, InvalidMessage, NoRoute, Refused, Unreachable
from sprocketmq.client.message import Message, SendStatus
from sprocketmq.client.producer import producer as producer_module
from sprocketmq.client.producer.producer import Producer
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.client.settings import Batching, ProducerSettings
from sprocketmq.client.telemetry.hooks import SendContext
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import decode_properties

SEND = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE


@pytest.fixture(params=["straight", "careful"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    """Sends go out alike when their broker is connected and when it is not yet."""
    monkeypatch.setattr(FakeTransport, "is_straight", request.param == "straight")
    return FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"T": route("a", "b", queues=2)}), SEND: stores(), BATCH: stores(),
    })  # fmt: skip


@pytest.fixture
def make(transport: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> type[Producer]:
    """Producers that live on the fake network."""

    async def stop(made: ClientInstance, producer: str) -> None:
        await made.stop()

    monkeypatch.setattr(producer_module, "acquire", lambda options, producer: instance(transport))
    monkeypatch.setattr(producer_module, "release", stop)
    return Producer


def fields(command: Command) -> dict[str, str]:
    assert command.ext_fields is not None
    return command.ext_fields


def refuse(code: int) -> Command:
    return Command(code, remark="no")


async def test_receipt(make: type[Producer], transport: FakeTransport) -> None:
    async with make("g", "ns") as producer:
        receipt = await producer.send(Message("T", b"hello", tag="A"), queue=MessageQueue("T", "b", 1))
    assert (receipt.status, receipt.queue, receipt.queue_offset) == (SendStatus.OK, MessageQueue("T", "b", 1), 0)
    (command,) = transport.commands(SEND)
    sent = fields(command)
    assert (sent["a"], sent["b"], sent["e"], sent["n"], command.body) == ("g", "T", "1", "b", b"hello")
    assert decode_properties(sent["i"])["UNIQ_KEY"] == receipt.message_id
    assert transport.addresses(SEND) == ["b:10911"]


async def test_retries_on_another_broker(make: type[Producer], transport: FakeTransport) -> None:
    def fail_on_first(address: str, command: Command) -> Command:
        if len(transport.commands(SEND)) == 1:
            raise Unreachable(address, "reset")
        return stores()(address, command)

    transport.answers[SEND] = fail_on_first
    async with make("g", "ns") as producer:
        await producer.send(Message("T", b"x"))
    first, second = transport.addresses(SEND)
    assert first != second


@pytest.mark.parametrize(
    ("code", "attempts"),
    [(ResponseCode.SYSTEM_BUSY, 3), (ResponseCode.SERVICE_NOT_AVAILABLE, 3), (ResponseCode.MESSAGE_ILLEGAL, 1)],
)
async def test_refusals(make: type[Producer], transport: FakeTransport, code: ResponseCode, attempts: int) -> None:
    transport.answers[SEND] = lambda _address, command: command.reply(code, "no")
    async with make("g", "ns") as producer:
        with pytest.raises(Refused) as caught:
            await producer.send(Message("T", b"x"))
    assert (caught.value.code, caught.value.remark) == (code, "no")
    assert len(transport.commands(SEND)) == attempts


async def test_stored_but_less_safe_is_a_receipt(make: type[Producer], transport: FakeTransport) -> None:
    def slow_disk(address: str, command: Command) -> Command:
        answer = stores()(address, command)
        answer.code = ResponseCode.FLUSH_DISK_TIMEOUT
        return answer

    transport.answers[SEND] = slow_disk
    async with make("g", "ns") as producer:
        receipt = await producer.send(Message("T", b"x"))
    assert receipt.status is SendStatus.FLUSH_DISK_TIMEOUT
    assert not receipt.ok


async def test_a_message_of_one_queue_is_tried_once(make: type[Producer], transport: FakeTransport) -> None:
    transport.answers[SEND] = lambda _address, command: command.reply(ResponseCode.SYSTEM_BUSY, "no")
    async with make("g", "ns") as producer:
        with pytest.raises(Refused):
            await producer.send(Message("T", b"x", sharding_key="k"))
    assert len(transport.commands(SEND)) == 1


async def test_offline_fails_within_the_timeout(make: type[Producer], transport: FakeTransport) -> None:
    transport.hold = asyncio.Event()
    async with make("g", "ns") as producer:
        transport.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = routes({})
        with pytest.raises(NoRoute):
            await producer.send(Message("unknown", b"x"), timeout=0.05)
        transport.hold = None


async def test_not_started_and_stopped(make: type[Producer]) -> None:
    producer = make("g", "ns")
    with pytest.raises(Closed):
        await producer.send(Message("T", b"x"))
    async with producer:
        await producer.send(Message("T", b"x"))
    with pytest.raises(Closed):
        producer.submit(Message("T", b"x"))


async def test_compression(make: type[Producer], transport: FakeTransport) -> None:
    async with make("g", "ns", settings=ProducerSettings(compression="zstd")) as producer:
        await producer.send(Message("T", b"a" * 5000))
        await producer.send(Message("T", b"a" * 4095))
    big, small = transport.commands(SEND)
    assert (fields(big)["f"], fields(small)["f"]) == (str(0x201), "0")
    assert len(big.body) < 5000
    assert len(small.body) == 4095


async def test_explicit_batch_is_split_to_the_limit(make: type[Producer], transport: FakeTransport) -> None:
    async with make("g", "ns", settings=ProducerSettings(max_message_bytes=20_000)) as producer:
        receipts = await producer.send_batch([Message("T", bytes([i]) * 3000) for i in range(10)])
    commands = transport.commands(BATCH)
    assert len(commands) > 1
    assert [body[0] for command in commands for body in batch_bodies(command.body)] == list(range(10))
    assert len({receipt.message_id for receipt in receipts}) == 10
    with pytest.raises(InvalidMessage):
        make("g", "ns").encoder.parts([Message("T", b"x"), Message("U", b"x")])


async def test_many_are_enqueued_in_order_while_there_is_room(make: type[Producer], transport: FakeTransport) -> None:
    settings = ProducerSettings(batching=Batching(max_messages=3, buffer_messages=7))
    async with make("g", "ns", settings=settings) as producer:
        futures = await producer.enqueue_all(Message("T", b"%d" % i) for i in range(50))
        with pytest.raises(InvalidMessage):
            await producer.enqueue_all([Message("T", b"50"), Message("T", b"")])
    bodies = [body for command in transport.commands(BATCH) for body in batch_bodies(command.body)]
    assert sorted(map(int, bodies)) == list(range(51))
    places = {(future.result().queue, future.result().queue_offset) for future in futures}
    assert len(places) == 50
    with pytest.raises(Closed):
        await producer.enqueue_all([Message("T", b"x")])


async def test_transaction_commits_and_rolls_back(make: type[Producer], transport: FakeTransport) -> None:
    async with make("g", "ns") as producer:
        async with producer.transaction(Message("T", b"x")):
            pass
        with pytest.raises(RuntimeError):
            async with producer.transaction(Message("T", b"x")):
                raise RuntimeError
        _, state = await producer.send_in_transaction(Message("T", b"x"), lambda *_: TransactionState.UNKNOWN)
    assert state is TransactionState.UNKNOWN
    ends = [fields(command)["commitOrRollback"] for command in transport.commands(RequestCode.END_TRANSACTION)]
    assert ends == ["8", "12", "0"]
    half = fields(transport.commands(SEND)[0])
    assert int(half["f"]) & 0xC == 0x4
    assert decode_properties(half["i"])["PGROUP"] == "g"


async def test_hooks_see_every_send_and_may_add_properties(make: type[Producer], transport: FakeTransport) -> None:
    seen: list[SendContext] = []

    class Hook:
        def before_send(self, context: SendContext) -> None:
            context.properties["traceparent"] = "00-1"

        def after_send(self, context: SendContext) -> None:
            seen.append(context)
            raise RuntimeError("hooks may be wrong")

    async with make("g", "ns", hooks=[Hook()]) as producer:
        receipt = await producer.send(Message("T", b"x"))
    assert seen[0].receipt == receipt
    assert decode_properties(fields(transport.commands(SEND)[0])["i"])["traceparent"] == "00-1"
