"""What a batch meets on its way; test_batcher.py shows the rest of it."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from tests.unit.client.fakes import FakeTransport, instance, route, routes, stores, until

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import Closed, Refused, TimedOut, Unreachable
from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.delivery import ClosedBatch, Delivery
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command

BATCH = RequestCode.SEND_BATCH_MESSAGE

Outcomes = list[SendReceipt | BaseException]


@pytest.fixture(params=["connected", "not connected"])
def transport(request: pytest.FixtureRequest) -> FakeTransport:
    table = routes({"T": route("a", "b", queues=1)})
    made = FakeTransport({RequestCode.GET_ROUTEINFO_BY_TOPIC: table, BATCH: stores()})
    made.is_connected = request.param == "connected"
    return made


def start(
    transport: FakeTransport, outcomes: Outcomes, *, is_bound: bool, seconds: float = 60, known: Route | None = None
) -> Delivery:
    settings = ProducerSettings()
    delivery = Delivery(Sender(instance(transport), "g", settings))
    way = known or Route.of("T", route("a", "b", queues=1))
    deadline = asyncio.get_running_loop().time() + seconds
    payload = Encoder("", settings).batch("T", bytearray(b"body"))
    delivery.start(ClosedBatch(payload, way, way.write_queues[0], is_bound, deadline, outcomes.append))
    return delivery


@pytest.mark.parametrize("is_bound", [True, False])
async def test_a_broker_that_fails(transport: FakeTransport, is_bound: bool) -> None:
    fine = stores()

    def fail_first(address: str, command: Command) -> Command:
        if len(transport.commands(BATCH)) == 1:
            raise Unreachable(address, "reset")
        return fine(address, command)

    transport.answers[BATCH] = fail_first
    outcomes: Outcomes = []
    delivery = start(transport, outcomes, is_bound=is_bound)
    await until(lambda: bool(outcomes))
    (receipt,) = outcomes
    assert isinstance(receipt, SendReceipt)
    assert not is_bound or transport.addresses(BATCH) == ["a:10911", "a:10911"]
    await delivery.stop()


async def test_a_deadline_ends_it(transport: FakeTransport) -> None:
    transport.hold = asyncio.Event()
    outcomes: Outcomes = []
    delivery = start(transport, outcomes, is_bound=True, seconds=0)
    await until(lambda: bool(outcomes))
    assert isinstance(outcomes[0], TimedOut)
    await delivery.stop()


@pytest.mark.parametrize("is_begun", [True, False])
async def test_a_stop_tells_what_is_under_way(transport: FakeTransport, is_begun: bool) -> None:
    transport.hold = asyncio.Event()
    outcomes: Outcomes = []
    delivery = start(transport, outcomes, is_bound=False)
    if is_begun:
        await until(lambda: bool(transport.commands(BATCH)))
    await delivery.stop()
    assert [type(outcome) for outcome in outcomes] == [Closed]


async def test_a_refusal_that_will_not_pass(transport: FakeTransport) -> None:
    transport.answers[BATCH] = lambda _address, command: command.reply(ResponseCode.MESSAGE_ILLEGAL, "no")
    outcomes: Outcomes = []
    delivery = start(transport, outcomes, is_bound=False)
    await until(lambda: bool(outcomes))
    assert [type(outcome) for outcome in outcomes] == [Refused]
    assert len(transport.commands(BATCH)) == 1
    await delivery.stop()


@pytest.mark.parametrize("is_bound", [True, False])
async def test_a_master_that_is_not_in_the_route_any_more(transport: FakeTransport, is_bound: bool) -> None:
    """The route of the batch knows its queue, and not where it is; the one that is known now does."""
    outcomes: Outcomes = []
    old = dataclasses.replace(Route.of("T", route("a", "b", queues=1)), order_conf="a:1;b:1", addresses={})
    delivery = start(transport, outcomes, is_bound=is_bound, known=old)
    await until(lambda: bool(outcomes))
    assert [type(outcome) for outcome in outcomes] == [SendReceipt]
    await delivery.stop()
