"""What belongs to one queue, in a failover of its broker: nameservers know it with a master that is gone, without one,
perhaps not at all, and then with another one. What may go anywhere is in test_sender.py.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.client.fakes import (
    FakeTransport,
    batch_bodies,
    connect_producers,
    fields,
    route,
    routes,
    stored,
    stores,
    until,
)

from sprocketmq.client.errors import ClientError, Refused, Unreachable
from sprocketmq.client.message import Message
from sprocketmq.client.producer.producer import Producer
from sprocketmq.client.producer.queue_selectors import by_sharding_key
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.client.received import split_records
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies.route import BrokerData, TopicRouteData
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import encode_properties

SEND, BATCH = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE
REPLY, END = RequestCode.SEND_REPLY_MESSAGE_V2, RequestCode.END_TRANSACTION
OLD, NEW = "a:10911", "new:10911"
QUEUE = MessageQueue("T", "a", 1)
#: Its queue is `QUEUE` while both brokers have a master, and another one while only b has.
KEYED = next(
    message
    for message in (Message("T", b"x", sharding_key=str(number)) for number in range(99))
    if by_sharding_key(message, [MessageQueue("T", name, i) for name in "ab" for i in range(2)]) == QUEUE
)
LONG_S = 3600.0


def known(addresses: dict[int, str] | None) -> TopicRouteData:
    """Brokers a and b; a has these addresses, or is not there."""
    both = route("a", "b", queues=2)
    if addresses is None:
        return route("b", queues=2)
    return replace(both, broker_datas=(BrokerData(cluster="c", broker_name="a", broker_addrs=addresses),
                                       both.broker_datas[1]))  # fmt: skip


class Failover(FakeTransport):
    """The master of a is gone when a request comes to it, and each look at the route shows what comes next."""

    def __init__(self, *then: TopicRouteData | None, before: TopicRouteData) -> None:
        super().__init__()
        self.table = {"T": before, "c_REPLY_TOPIC": before}
        self.then = list(then)
        self.is_over = False
        store = stores()

        def find(address: str, command: Command) -> Command:
            if self.is_over and self.then:
                following = self.then.pop(0)
                self.table = {} if following is None else dict.fromkeys(("T", "c_REPLY_TOPIC"), following)
            return routes(self.table)(address, command)

        def take(address: str, command: Command) -> Command:
            if address == OLD:
                self.is_over = True
                raise Unreachable(address, "reset")
            return store(address, command)

        self.answers = {RequestCode.GET_ROUTEINFO_BY_TOPIC: find, SEND: take, BATCH: take, REPLY: take}

    async def connect(self, address: str, timeout: float) -> Any:
        if address == OLD and self.is_over:
            raise Unreachable(address, "refused")
        return await super().connect(address, timeout)

    def landed(self, code: int) -> list[Command]:
        return [command for address, command in self.asked if command.code == code and address == NEW]


BEFORE = known({0: OLD, 2: "slave:1"})
STAGES = {
    "at once": [known({0: NEW, 2: "slave:1"})],
    "without a master for a while": [BEFORE, known({2: NEW}), known({2: NEW}), known({0: NEW})],
    "not known for a while": [known(None), known(None), known({0: NEW})],
    "nothing known for a while": [None, None, known({0: NEW})],
}
EVERY_STAGE = pytest.mark.parametrize("stages", STAGES.values(), ids=STAGES)


async def producer_on(network: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> Producer:
    connect_producers(monkeypatch, network)
    return Producer("g", "ns", settings=ProducerSettings(send_timeout=LONG_S))


class Selector:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _message: Message, _queues: Sequence[MessageQueue]) -> MessageQueue:
        self.calls += 1
        return QUEUE


def question() -> Any:
    asks = encode_properties({"CORRELATION_ID": "1", "REPLY_TO_CLIENT": "someone", "CLUSTER": "c"})
    return split_records(stored(b"?", 0, properties=asks.encode()), "a")[0]


Send = Callable[[Producer], Coroutine[Any, Any, object]]
SENDS: dict[str, tuple[int, str, Send]] = {
    "queue": (SEND, "1", lambda producer: producer.send(Message("T", b"x"), queue=QUEUE)),
    "selector": (SEND, "1", lambda producer: producer.send(Message("T", b"x"), selector=Selector())),
    "key": (SEND, "1", lambda producer: producer.send(KEYED)),
    "batch": (BATCH, "1", lambda producer: producer.send_batch([Message("T", b"x")] * 2, queue=QUEUE)),
    "reply": (REPLY, "0", lambda producer: producer.reply(question(), b"answer")),
}
EVERY_SEND = pytest.mark.parametrize(("code", "queue_id", "send"), SENDS.values(), ids=SENDS)


@pytest.mark.parametrize("is_connected", [True, False])
@EVERY_STAGE
@EVERY_SEND
async def test_it_waits_for_the_new_master_of_its_queue(
    monkeypatch: pytest.MonkeyPatch, is_connected: bool, stages: list[Any], code: int, queue_id: str, send: Send
) -> None:
    network = Failover(*stages, before=BEFORE)
    network.is_connected = is_connected
    async with await producer_on(network, monkeypatch) as producer:
        await send(producer)
    (command,) = network.landed(code)
    assert (fields(command)["n"], fields(command)["e"]) == ("a", queue_id)
    assert {address for address, asked in network.asked if asked.code == code} == {OLD, NEW}, "nowhere else"
    if code == BATCH:
        assert batch_bodies(command.body) == [b"x", b"x"]


async def test_a_selector_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    select = Selector()
    async with await producer_on(
        Failover(BEFORE, known({2: NEW}), known({0: NEW}), before=BEFORE), monkeypatch
    ) as producer:
        receipt = await producer.send(Message("T", b"x"), selector=select)
    assert (receipt.queue, select.calls) == (QUEUE, 1)


async def test_a_broker_that_has_another_master_had_slaves_though_nobody_saw_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Failover(known({0: NEW}), before=known({0: OLD}))
    async with await producer_on(network, monkeypatch) as producer:
        assert (await producer.send(KEYED)).queue == QUEUE


@pytest.mark.parametrize("then", [[], [known(None)], [None]], ids=["stays in the route", "is not known", "nothing is"])
@EVERY_SEND
async def test_without_slaves_it_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, then: list[Any], code: int, queue_id: str, send: Send
) -> None:
    """Those of another broker do not count."""
    alone = known({0: OLD})
    other = BrokerData(cluster="c", broker_name="b", broker_addrs={0: "b:10911", 1: "slave:1"})
    network = Failover(*then, before=replace(alone, broker_datas=(alone.broker_datas[0], other)))
    async with await producer_on(network, monkeypatch) as producer:
        with pytest.raises(Unreachable):
            await send(producer)
    assert [address for address, asked in network.asked if asked.code == code] == [OLD]


async def test_a_refusal_that_will_not_pass_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Failover(before=BEFORE)
    network.answers[SEND] = lambda _address, command: command.reply(ResponseCode.MESSAGE_ILLEGAL)
    async with await producer_on(network, monkeypatch) as producer:
        with pytest.raises(Refused):
            await producer.send(KEYED)
    assert len(network.commands(SEND)) == 1


async def test_a_reply_whose_client_is_gone_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Failover(before=BEFORE)
    network.answers[REPLY] = lambda _address, command: command.reply(ResponseCode.SYSTEM_ERROR, "not connected")
    async with await producer_on(network, monkeypatch) as producer:
        with pytest.raises(Refused, match="not connected"):
            await producer.reply(question(), b"answer")
    assert len(network.commands(REPLY)) == 1


async def test_the_deadline_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Failover(BEFORE, known({2: NEW}), before=BEFORE)
    async with await producer_on(network, monkeypatch) as producer:
        with pytest.raises(ClientError):
            await producer.send(KEYED, timeout=0.2)
    assert not network.landed(SEND)


@EVERY_STAGE
async def test_what_nobody_answers_goes_to_the_new_master(monkeypatch: pytest.MonkeyPatch, stages: list[Any]) -> None:
    """Nothing was written yet: the old one cannot be connected."""
    network = Failover(*stages, before=BEFORE)
    async with await producer_on(network, monkeypatch) as producer:
        await producer.queues("T")
        network.is_over = True
        await producer.send_oneway(KEYED)
    assert [fields(command)["n"] for command in network.landed(SEND)] == ["a"]


@EVERY_STAGE
async def test_a_transaction_is_ended_at_the_new_master(monkeypatch: pytest.MonkeyPatch, stages: list[Any]) -> None:
    network = Failover(*stages, before=BEFORE)
    fine = stores()
    network.answers[SEND] = fine
    async with await producer_on(network, monkeypatch) as producer:
        receipt = await producer.send_half(Message("T", b"x"))
        while receipt.queue.broker_name != "a":
            receipt = await producer.send_half(Message("T", b"x"))
        network.is_over = True
        await producer.end_transaction(receipt, TransactionState.COMMIT)
        await until(lambda: bool(network.commands(END)))
    assert [fields(command)["commitLogOffset"] for command in network.landed(END)] == [
        str(int(receipt.offset_message_id[-16:], 16))
    ]
