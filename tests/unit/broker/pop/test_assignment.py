from __future__ import annotations

from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.pop import (
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from sprocketmq.protocol.enums import MessageModel, MessageRequestMode


async def ask(
    caller: Caller, client_id: str, *, strategy: str = "AVG", model: MessageModel = MessageModel.CLUSTERING
) -> tuple[set[int], set[MessageRequestMode | None]]:
    """The queue ids of a client, and how it consumes them."""
    body = QueryAssignmentRequestBody(
        topic="T", consumer_group="G", client_id=client_id, strategy_name=strategy, message_model=model
    )
    answer = await caller(RequestCode.QUERY_ASSIGNMENT, codec.encode(body))
    assert answer.code == ResponseCode.SUCCESS
    found = codec.decode(QueryAssignmentResponseBody, answer.body).message_queue_assignments
    queues = {each.message_queue.queue_id for each in found if each.message_queue is not None}
    return queues, {each.mode for each in found}


async def set_mode(caller: Caller, share: int, topic: str = "T") -> int:
    body = SetMessageRequestModeRequestBody(
        topic=topic, consumer_group="G", mode=MessageRequestMode.POP, pop_share_queue_num=share
    )
    return (await caller(RequestCode.SET_MESSAGE_REQUEST_MODE, codec.encode(body))).code


async def members(connect: Connect, *client_ids: str) -> Caller:
    for client_id in client_ids:
        await connect().heartbeat("G", client_id, wants())
    caller = connect()
    await caller.send()
    return caller


async def test_pulled_queues_are_shared(broker: Broker, connect: Connect) -> None:
    caller = await members(connect, "c1", "c2")
    pulled = {MessageRequestMode.PULL}
    assert await ask(caller, "c1") == ({0, 1}, pulled)
    assert await ask(caller, "c2") == ({2, 3}, pulled)
    assert await ask(caller, "c2", strategy="AVG_BY_CIRCLE") == ({1, 3}, pulled)
    assert await ask(caller, "c1", model=MessageModel.BROADCASTING) == ({0, 1, 2, 3}, pulled)
    assert (await ask(caller, "stranger"))[0] == set()


async def test_popped_queues_belong_to_everyone(broker: Broker, connect: Connect) -> None:
    caller = await members(connect, "c1", "c2", "c3", "c4")
    assert await set_mode(caller, 0) == ResponseCode.SUCCESS
    assert await ask(caller, "c1") == ({-1}, {MessageRequestMode.POP})
    await set_mode(caller, 1)
    assert (await ask(caller, "c1"))[0] == {0, 1}
    assert (await ask(caller, "c4"))[0] == {3, 0}


async def test_the_mode_outlives_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    await caller.send("T")
    await set_mode(caller, 3)
    await broker.stop()
    again = await start_broker()
    assert again.kinds.assignments.modes["T"]["G"].pop_share_queue_num == 3


async def test_a_retry_topic_has_no_mode_of_its_own(broker: Broker, caller: Caller) -> None:
    assert await set_mode(caller, 0, "%RETRY%G") == ResponseCode.NO_PERMISSION


async def test_what_is_not_there_has_no_mode(start_broker: StartBroker) -> None:
    broker = await start_broker(autoCreateSubscriptionGroup="false")
    caller = Caller(broker)
    assert await set_mode(caller, 0) == ResponseCode.TOPIC_NOT_EXIST
    await caller.send("T")
    assert await set_mode(caller, 0) == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert broker.kinds.assignments.modes == {}
