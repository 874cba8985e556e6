from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.unit.client.fakes import FakeTransport, batch_bodies, connect_producers, route, routes, stored, stores, until

from sprocketmq.client.errors import Closed, InvalidMessage, NoRoute, Refused, Unreachable
from sprocketmq.client.message import Message, SendStatus
from sprocketmq.client.producer.producer import Producer
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.client.settings import Batching, ProducerSettings
from sprocketmq.client.telemetry.hooks import SendContext
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties, encode_properties

GET_ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
REPLY = RequestCode.SEND_REPLY_MESSAGE_V2
SEND = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE


@pytest.fixture(params=["connected", "not connected"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    """Sends go out alike when their broker is connected and when it is not yet."""
    monkeypatch.setattr(FakeTransport, "is_connected", request.param == "connected")
    return FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"T": route("a", "b", queues=2)}), SEND: stores(), BATCH: stores(),
    })  # fmt: skip


@pytest.fixture
def make(transport: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> type[Producer]:
    """Producers that live on the fake network."""
    connect_producers(monkeypatch, transport)
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
            await producer.send(Message("unknown", b"x"), timeout=60)
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


class Watcher:
    """A hook that adds a property, keeps what it saw, and is wrong in the end."""

    def __init__(self) -> None:
        self.begun: list[SendContext] = []
        self.ended: list[SendContext] = []

    def before_send(self, context: SendContext) -> None:
        self.begun.append(context)
        context.properties["traceparent"] = f"00-{len(self.begun)}"

    def after_send(self, context: SendContext) -> None:
        self.ended.append(context)
        raise RuntimeError("hooks may be wrong")


def question() -> ReceivedMessage:
    """A message that asks for a reply."""
    asks = encode_properties({"CORRELATION_ID": "1", "REPLY_TO_CLIENT": "someone", "CLUSTER": "c"})
    (message,) = split_records(stored(b"?", 0, properties=asks.encode()), "a")
    return message


Send = Callable[[Producer], Coroutine[Any, Any, object]]
SENDS: dict[str, tuple[str, Send]] = {
    "send": ("normal", lambda producer: producer.send(Message("T", b"x"))),
    "delay": ("delay", lambda producer: producer.send(Message("T", b"x", delay_level=3))),
    "oneway": ("normal", lambda producer: producer.send_oneway(Message("T", b"x"))),
    "batch": ("batch", lambda producer: producer.send_batch([Message("T", b"x"), Message("T", b"y")])),
    "half": ("half", lambda producer: producer.send_half(Message("T", b"x"))),
    "request": ("normal", lambda producer: producer.request(Message("T", b"x"), timeout=60)),
    "reply": ("reply", lambda producer: producer.reply(question(), b"")),
}
EVERY_SEND = pytest.mark.parametrize(("kind", "send"), SENDS.values(), ids=SENDS)


@EVERY_SEND
async def test_hooks_see_every_send_and_may_add_properties(
    make: type[Producer], transport: FakeTransport, kind: str, send: Send
) -> None:
    both = {"T": route("a", "b", queues=2), "c_REPLY_TOPIC": route("a", queues=1)}
    transport.answers |= {GET_ROUTE: routes(both), REPLY: stores()}
    hook = Watcher()
    async with make("g", "ns", hooks=[hook]) as producer:
        task = asyncio.ensure_future(send(producer))
        await until(lambda: bool(hook.ended))
        task.cancel()  # the request waits for its reply
        await asyncio.wait([task])
    (context,) = hook.ended
    (command,) = [command for _, command in transport.asked if command.code in {SEND, BATCH, REPLY}]
    assert (context.kind, context.error) == (kind, None)
    assert context.queue == MessageQueue(fields(command)["b"], fields(command)["n"], int(fields(command)["e"]))
    own = fields(command)["i"].encode()
    for text in [own] if command.code != BATCH else [text for _, _, text in decode_batch(command.body)]:
        properties = decode_properties(text.decode())
        assert properties["traceparent"] == "00-1"
        if context.receipt is not None:
            assert properties["UNIQ_KEY"] in context.receipt.message_id


@EVERY_SEND
async def test_hooks_hear_the_end_of_a_cancelled_send(
    make: type[Producer], transport: FakeTransport, kind: str, send: Send
) -> None:
    async def never(_address: str, _command: Command) -> Command:
        await asyncio.Event().wait()
        raise AssertionError

    hook = Watcher()
    async with make("g", "ns", hooks=[hook]) as producer:
        transport.answers[GET_ROUTE] = never
        task = asyncio.ensure_future(send(producer))
        await until(lambda: bool(hook.begun))
        task.cancel()
        await asyncio.wait([task])
    assert [context.kind for context in hook.ended] == [kind]
    assert isinstance(hook.ended[0].error, asyncio.CancelledError)


async def test_a_hook_cannot_take_a_half_message_for_a_plain_one(
    make: type[Producer], transport: FakeTransport
) -> None:
    class Rude(Watcher):
        def before_send(self, context: SendContext) -> None:
            context.properties["TRAN_MSG"] = "false"

    async with make("g", "ns", hooks=[Rude()]) as producer:
        await producer.send_half(Message("T", b"x"))
    assert decode_properties(fields(transport.commands(SEND)[0])["i"])["TRAN_MSG"] == "true"
