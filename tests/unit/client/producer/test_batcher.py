from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from tests.loop_clock import LoopClock
from tests.unit.client.fakes import FakeTransport, batch_bodies, instance, route, routes, stores, until

from sprocketmq.client.errors import InvalidMessage, NoRoute, Overloaded, Refused, Unreachable
from sprocketmq.client.message import Message, SendReceipt, SendStatus
from sprocketmq.client.producer.batcher import Batcher
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.settings import Batching, ProducerSettings
from sprocketmq.client.telemetry.hooks import SendContext
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties

BATCH = RequestCode.SEND_BATCH_MESSAGE
SINGLE = RequestCode.SEND_MESSAGE_V2


@pytest.fixture(autouse=True, params=["connected", "not connected"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches go out alike when their broker is connected and when it is not yet."""
    monkeypatch.setattr(FakeTransport, "is_connected", request.param == "connected")


def network(**topics: int) -> FakeTransport:
    table = {name: route("a", queues=queues) for name, queues in topics.items()}
    return FakeTransport({RequestCode.GET_ROUTEINFO_BY_TOPIC: routes(table), BATCH: stores()})


class Alone:
    """Takes what is sent unbatched, and answers all of it when it is told to."""

    def __init__(self) -> None:
        self.sends: list[asyncio.Future[SendReceipt]] = []

    def __call__(self, message: Message) -> asyncio.Future[SendReceipt]:
        self.sends.append(asyncio.get_running_loop().create_future())
        return self.sends[-1]

    def settle(self) -> None:
        for number, send in enumerate(self.sends):
            send.set_result(SendReceipt(SendStatus.OK, "id", "offset id", MessageQueue("T", "a", 0), number))


def batcher(
    transport: FakeTransport, *, retries: int = 2, timeout: float = 60, alone: Alone | None = None, **limits: float
) -> Batcher:
    settings = ProducerSettings(retries=retries, send_timeout=timeout, batching=Batching(**limits))  # type: ignore[arg-type]
    sender = Sender(instance(transport), "g", settings)
    return Batcher(sender, Encoder("", settings), settings, alone or Alone())


async def test_many_messages_one_request_one_future_each() -> None:
    transport = network(T=1)
    made = batcher(transport)
    futures = [made.submit(Message("T", b"%d" % i)) for i in range(100)]
    await made.flush()
    assert len(transport.commands(BATCH)) == 1
    receipts = [future.result() for future in futures]
    assert [receipt.queue_offset for receipt in receipts] == list(range(100))
    assert len({receipt.message_id for receipt in receipts}) == 100
    await made.stop()


async def test_size_limits_close_a_batch() -> None:
    transport = network(T=1)
    made = batcher(transport, max_messages=10, linger=60)
    for i in range(25):
        made.submit(Message("T", b"%d" % i))
    await made.flush()
    assert [len(batch_bodies(command.body)) for command in transport.commands(BATCH)] == [10, 10, 5]
    await made.stop()


async def test_linger_sends_what_is_there() -> None:
    transport = network(T=1)
    made = batcher(transport, linger=0.001)
    receipt = await asyncio.wait_for(made.submit(Message("T", b"x")), 60)
    assert receipt.queue_offset == 0
    await made.stop()


async def test_a_queue_keeps_the_order_of_its_key() -> None:
    transport = network(T=4)
    made = batcher(transport, max_messages=3)
    for i in range(40):
        made.submit(Message("T", b"%d" % i, sharding_key="k"))
    await made.flush()
    commands = transport.commands(BATCH)
    assert len({(command.ext_fields or {})["e"] for command in commands}) == 1
    assert [int(body) for command in commands for body in batch_bodies(command.body)] == list(range(40))
    await made.stop()


async def test_a_large_message_keeps_its_place_in_the_queue_of_its_key() -> None:
    transport = network(T=4)
    transport.answers[SINGLE] = transport.answers[BATCH]
    made = batcher(transport)
    sizes = [1, 2, 5000, 3, 6000, 7000, 4]
    futures = [made.submit(Message("T", b"x" * size, sharding_key="k")) for size in sizes]
    await made.flush()
    sent = [command for _, command in transport.asked if command.code in (SINGLE, BATCH)]
    assert [command.code for command in sent] == [BATCH, SINGLE, BATCH, SINGLE, SINGLE, BATCH]
    assert len({(command.ext_fields or {})["e"] for command in sent}) == 1
    assert [future.result().queue_offset for future in futures] == list(range(7))
    await made.stop()


async def test_order_survives_a_failed_request() -> None:
    transport = network(T=1)
    fine, failures = stores(), [Unreachable("a", "reset"), None]

    def sometimes(address: str, command: Command) -> Command:
        if failures and (error := failures.pop(0)) is not None:
            raise error
        return fine(address, command)

    transport.answers[BATCH] = sometimes
    made = batcher(transport, max_messages=2)
    futures = [made.submit(Message("T", b"%d" % i, sharding_key="k")) for i in range(6)]
    await made.flush()
    assert [future.result().queue_offset for future in futures] == list(range(6))
    stored = [batch_bodies(command.body) for command in transport.commands(BATCH)]
    assert stored == [[b"0", b"1"], [b"0", b"1"], [b"2", b"3"], [b"4", b"5"]]
    await made.stop()


async def test_at_most_one_batch_per_queue_is_on_its_way() -> None:
    transport = network(T=2)
    transport.hold = asyncio.Event()
    made = batcher(transport, max_messages=1)
    for i in range(10):
        made.submit(Message("T", b"%d" % i))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(transport.commands(BATCH)) == 2
    transport.hold.set()
    await made.flush()
    assert len(transport.commands(BATCH)) == 10
    await made.stop()


async def test_the_buffer_is_bounded_and_tells() -> None:
    transport = network(T=1)
    transport.hold = asyncio.Event()
    made = batcher(transport, buffer_messages=3, max_messages=1)
    for _ in range(3):
        made.submit(Message("T", b"x"))
    with pytest.raises(Overloaded):
        made.submit(Message("T", b"x"))
    waiting = asyncio.ensure_future(made.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    transport.hold.set()
    await waiting
    made.submit(Message("T", b"x"))
    await made.stop()


async def test_no_room_in_time(loop_clock: LoopClock) -> None:
    transport = network(T=1)
    transport.hold = asyncio.Event()
    made = batcher(transport, delivery_timeout=30, buffer_messages=1, max_messages=1)
    future = made.submit(Message("T", b"x"))
    await until(lambda: any(command.code == BATCH for _, command in transport.asked))
    waiting = asyncio.ensure_future(made.room())
    await asyncio.sleep(0)
    loop_clock.advance(29)
    await asyncio.sleep(0)
    assert not waiting.done()
    loop_clock.advance(2)
    with pytest.raises(Overloaded):
        await waiting
    transport.hold.set()
    await made.stop()
    assert future.done()


async def test_refused_batch_fails_its_own_messages_only() -> None:
    transport = network(T=1)
    fine = stores()

    def refuse_first(address: str, command: Command) -> Command:
        if b"bad" in command.body:
            return command.reply(ResponseCode.MESSAGE_ILLEGAL, "no")
        return fine(address, command)

    transport.answers[BATCH] = refuse_first
    made = batcher(transport, max_messages=1)
    bad, good = made.submit(Message("T", b"bad")), made.submit(Message("T", b"good"))
    await made.flush()
    assert isinstance(bad.exception(), Refused)
    assert good.result().queue_offset == 0
    await made.stop()


async def test_no_route_fails_what_waits_and_the_next_message_asks_anew() -> None:
    transport = network()
    made = batcher(transport)
    lost = [made.submit(Message("T", b"x")), made.submit(Message("T", b"x", sharding_key="k"))]
    await made.flush()
    assert all(isinstance(future.exception(), NoRoute) for future in lost)
    transport.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = routes({"T": route("a")})
    found = made.submit(Message("T", b"x"))
    await made.flush()
    assert found.result().ok
    await made.stop()


async def test_a_route_that_cannot_even_be_asked_for_fails_what_waits() -> None:
    def broken(address: str, command: Command) -> Command:
        raise RuntimeError("no credentials")

    transport = network(T=1)
    transport.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = broken
    made = batcher(transport)
    futures = [made.submit(Message("T", b"x")), made.submit(Message("T", b"x", sharding_key="k"))]
    await made.flush()
    assert [str(future.exception()) for future in futures] == ["no credentials", "no credentials"]
    await made.stop()


async def test_what_no_batch_takes_goes_alone() -> None:
    alone = Alone()
    made = batcher(network(T=1), alone=alone)
    made.submit(Message("T", b"x", delay_level=1))
    made.submit(Message("T", b"x" * 5000))
    assert len(alone.sends) == 2
    alone.settle()
    await made.stop()


async def test_what_goes_alone_is_waited_for_as_the_rest() -> None:
    alone = Alone()
    made = batcher(network(T=1), alone=alone, buffer_messages=2)
    futures = [made.submit(Message("T", b"x", delay_level=1)), made.submit(Message("T", b"x" * 5000))]
    with pytest.raises(Overloaded):
        made.submit(Message("T", b"x"))
    stopping = asyncio.create_task(made.stop())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not stopping.done()
    alone.settle()
    await stopping
    assert all(future.result().ok for future in futures)


async def test_what_would_go_alone_is_refused_at_once() -> None:
    made = batcher(network(T=1))
    with pytest.raises(InvalidMessage):
        made.submit(Message("T", b"x", delay=1, delay_level=1))
    await made.stop()


class Watcher:
    """A hook that numbers the messages it sees."""

    def __init__(self) -> None:
        self.contexts: list[SendContext] = []

    def before_send(self, context: SendContext) -> None:
        self.contexts.append(context)
        context.properties["number"] = str(len(self.contexts))

    def after_send(self, context: SendContext) -> None:
        context.state["ended"] = True


async def test_hooks_hear_of_any_error() -> None:
    watcher, settings = Watcher(), ProducerSettings()
    sender = Sender(instance(network(T=1)), "g", settings, [watcher])
    made = Batcher(sender, Encoder("", settings), settings, lambda _: asyncio.Future())
    with pytest.raises(InvalidMessage):
        made.submit(Message("T", b"x", tag="\ud800"))
    assert isinstance(watcher.contexts[0].error, InvalidMessage)
    await made.stop()


async def test_hooks_see_each_message_of_a_batch() -> None:
    transport, watcher = network(T=1), Watcher()
    settings = ProducerSettings()
    sender = Sender(instance(transport), "g", settings, [watcher])
    made = Batcher(sender, Encoder("", settings), settings, lambda _: asyncio.Future())
    futures = [made.submit(Message("T", body, sharding_key="k")) for body in (b"a", b"b")]
    await made.stop()
    await asyncio.sleep(0)
    (batch,) = [command.body for _, command in transport.asked if command.code == BATCH]
    numbers = [decode_properties(text.decode())["number"] for _, _, text in decode_batch(batch)]
    assert numbers == ["1", "2"]
    assert [context.receipt for context in watcher.contexts] == [future.result() for future in futures]
    assert [context.kind for context in watcher.contexts] == ["order", "order"]
    assert all(context.state["ended"] for context in watcher.contexts)


async def test_messages_of_a_namespace_carry_its_name() -> None:
    transport, settings = network(**{"ns%T": 1}), ProducerSettings()
    sender = Sender(instance(transport), "g", settings)
    made = Batcher(sender, Encoder("ns", settings), settings, lambda _: asyncio.Future())
    made.submit(Message("T", b"a"))
    await made.stop()
    (batch,) = [command.body for _, command in transport.asked if command.code == BATCH]
    ((_, _, text),) = decode_batch(batch)
    assert decode_properties(text.decode())["INSTANCE_ID"] == "ns"


async def test_a_batch_is_written_while_its_submitter_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker works meanwhile: nothing here gives way to the event loop."""
    monkeypatch.setattr(FakeTransport, "is_connected", True)
    transport = network(T=2)
    made = batcher(transport, max_messages=10, linger=60)
    made.submit(Message("T", b"to find the route"))
    await made.flush()
    before = len(transport.tasks)
    futures = [made.submit(Message("T", b"x")) for _ in range(20)]
    assert len(transport.tasks) - before == 2
    await made.stop()
    assert all(future.result().ok for future in futures)


async def test_a_broker_that_is_lost_while_a_batch_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was under way is sent again, with the ids it had: consumers can tell that it is the same."""
    monkeypatch.setattr(FakeTransport, "is_connected", True)
    transport = network(T=1)
    fine, failures = stores(), [Unreachable("a", "reset")]

    def reset_first(address: str, command: Command) -> Command:
        if failures:
            raise failures.pop()
        return fine(address, command)

    transport.answers[BATCH] = reset_first
    made = batcher(transport)
    future = made.submit(Message("T", b"x"))
    await made.stop()
    lost, kept = transport.commands(BATCH)
    assert lost.body == kept.body
    assert future.result().message_id.encode() in kept.body


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"tag": "\ud800"}, "tag"),
        ({"keys": ["a", "b\udcff"]}, "each of keys"),
        ({"properties": {"a": "\udcff"}}, "property 'a'"),
        ({"sharding_key": "\udcff"}, "sharding_key"),
    ],
)
async def test_text_that_is_not_unicode_is_told_by_its_field(wrong: dict[str, Any], field: str) -> None:
    made, message = batcher(network(T=1)), Message("T", b"x", **wrong)
    with pytest.raises(InvalidMessage, match=f"^{field} holds half a character"):
        await made.submit(message)
    with pytest.raises(InvalidMessage, match=f"^{field} holds half a character"):
        Encoder("", ProducerSettings()).single(message)
    await made.stop()


async def test_too_many_properties_are_refused_at_once() -> None:
    made = batcher(network(T=1))
    with pytest.raises(InvalidMessage):
        made.submit(Message("T", b"x", properties={"a": "x" * 32768}))
    keyed = made.submit(Message("T", b"x", properties={"a": "x" * 32768}, sharding_key="k"))
    await made.flush()
    assert isinstance(keyed.exception(), InvalidMessage)
    await made.stop()


def test_a_loop_that_ends_too_early_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def forgets_to_stop() -> None:
        made = batcher(network(T=1), linger=60)
        for i in range(5):
            made.submit(Message("T", b"%d" % i))

    asyncio.run(forgets_to_stop())
    gc.collect()
    [record] = [each for each in caplog.records if each.name == "sprocketmq.client.producer.batcher"]
    assert record.message.startswith("5 submitted messages were lost")
