from __future__ import annotations

from tests.unit.broker.support import START_MS, Caller, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import LanguageCode, RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import ConsumerConnection, ProducerConnection, ProducerTableInfo
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel


async def test_consumers_of_a_group(caller: Caller) -> None:
    answer = await caller(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="G")
    assert answer.code == ResponseCode.CONSUMER_NOT_ONLINE
    await caller.heartbeat("G", "c1", wants("T", "A || B"))
    answer = await caller(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="G")
    body = codec.decode(ConsumerConnection, answer.body)
    (connection,) = body.connection_set
    assert (connection.client_id, connection.language, connection.version) == ("c1", LanguageCode.PYTHON, 479)
    assert connection.client_addr.startswith("127.0.0.1:")
    assert body.subscription_table["T"].sub_string == "A || B"
    assert body.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert body.message_model is MessageModel.CLUSTERING
    assert body.consume_from_where is ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET


async def test_producers_of_a_group_and_all_of_them(caller: Caller) -> None:
    answer = await caller(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup="P")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    await caller.heartbeat("", "p1", producers=("P", "Q"))
    answer = await caller(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup="P")
    (connection,) = codec.decode(ProducerConnection, answer.body).connection_set
    assert connection.client_id == "p1"
    data = codec.decode(ProducerTableInfo, (await caller(RequestCode.GET_ALL_PRODUCER_INFO)).body).data
    assert set(data) == {"P", "Q"}
    assert data["P"][0].last_update_timestamp == START_MS
    assert (data["P"][0].remote_ip or "").startswith("/127.0.0.1:")


async def test_a_language_that_is_newer_than_we_are(caller: Caller, broker: Broker) -> None:
    await caller.heartbeat("G", "c1", wants())
    group = broker.consumers.get("G")
    assert group is not None
    next(iter(group.members.values())).language = 99
    answer = await caller(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="G")
    assert b'"language":"OTHER"' in answer.body
