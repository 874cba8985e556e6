"""What an answer to a pull makes of the offset that was asked for."""

from __future__ import annotations

import pytest
from tests.unit.client.fakes import FakeTransport, instance, route, routes

from sprocketmq.client.blocking.range_reader import RangeReader, _Step
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullStatus, pull
from sprocketmq.client.errors import Unreachable
from sprocketmq.client.subscription import Subscription
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 0)


def answer(request: Command, following: int) -> Command:
    fields = {"nextBeginOffset": str(following), "minOffset": "0", "maxOffset": "3", "suggestWhichBrokerId": "0"}
    return request.reply(ResponseCode.PULL_RETRY_IMMEDIATELY, "OFFSET_OVERFLOW_BADLY", ext_fields=fields)


async def pulled(following: int) -> PullStatus:
    transport = FakeTransport(
        {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"T": route("a")}),
            RequestCode.PULL_MESSAGE: lambda _, request: answer(request, following),
        }
    )
    client = instance(transport)
    try:
        return (await pull(client, "g", OutgoingPull(QUEUE, 1000, Subscription("T"), 32, 1 << 20))).status
    finally:
        await client.stop()


async def test_a_slave_that_does_not_have_an_offset_is_not_asked_again_at_once() -> None:
    """Its master is away, else it would have been asked: who asks waits a moment, and stays where it is."""
    with pytest.raises(Unreachable, match="does not have offset 1000") as refusal:
        await pulled(1000)
    assert refusal.value.retriable


async def test_behind_messages_that_do_not_match_it_goes_on() -> None:
    assert await pulled(1001) is PullStatus.NO_MATCH


def test_a_range_reader_waits_for_the_master_too() -> None:
    reader = RangeReader.__new__(RangeReader)
    object.__setattr__(reader, "queue", QUEUE)
    step = _Step(1000, 1010)
    with pytest.raises(Unreachable, match="does not have offset 1000"):
        reader._result(answer(Command(RequestCode.PULL_MESSAGE), 1000), step)
