from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.unit.broker.support import Caller, fields, wants

from sprocketmq.broker.admin import client_relay
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import GetConsumerStatusBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.record import decode_record
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, Reply

HELD = {MessageQueue("T", "broker-a", 0): 7}


class Consumer(Caller):
    """A consumer that answers what a broker relays to it, or is silent."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.asked: list[Command] = []
        self.silent = False
        table = ProcessorTable()
        codes = (RequestCode.GET_CONSUMER_RUNNING_INFO, RequestCode.CONSUME_MESSAGE_DIRECTLY)
        table.add(codes, self.answer)
        table.add(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, self.status)
        table.add(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, lambda _connection, _request: None)
        self.client = RemotingClient(table)

    def answer(self, _connection: Connection, request: Command) -> Reply:
        self.asked.append(request)
        return None if self.silent else request.reply(0, "said so", body=b"{the answer}")

    def status(self, _connection: Connection, request: Command) -> Reply:
        return (
            None if self.silent else request.reply(body=codec.encode(GetConsumerStatusBody(message_queue_table=HELD)))
        )


@pytest_asyncio.fixture
async def consumer(broker: Broker) -> AsyncIterator[Consumer]:
    consumer = Consumer(broker)
    await consumer.heartbeat("G", "c1", wants("T"))
    yield consumer
    await consumer.client.close(grace=0.1)


async def test_running_info_comes_from_the_client(caller: Caller, consumer: Consumer) -> None:
    answer = await caller(RequestCode.GET_CONSUMER_RUNNING_INFO, consumerGroup="G", clientId="c1", jstackEnable=True)
    assert (answer.code, answer.remark, answer.body) == (0, "said so", b"{the answer}")
    assert fields(consumer.asked[0])["jstackEnable"] == "true"


async def test_a_client_that_is_not_there(caller: Caller, consumer: Consumer) -> None:
    for asked in ({"consumerGroup": "G", "clientId": "c2"}, {"consumerGroup": "H", "clientId": "c1"}):
        answer = await caller.call(RequestCode.GET_CONSUMER_RUNNING_INFO, asked)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "not online" in (answer.remark or "")


async def test_a_client_that_does_not_answer(
    caller: Caller, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_relay, "RELAY_SECONDS", 0.05)
    monkeypatch.setattr(client_relay, "STATUS_SECONDS", 0.05)
    consumer.silent = True
    answer = await caller(RequestCode.GET_CONSUMER_RUNNING_INFO, consumerGroup="G", clientId="c1")
    assert answer.code == ResponseCode.CONSUME_MSG_TIMEOUT
    answer = await caller(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic="T", group="G")
    assert codec.decode(GetConsumerStatusBody, answer.body).consumer_table == {}


async def test_a_stored_message_is_handed_to_a_client(caller: Caller, consumer: Consumer) -> None:
    sent = await caller.send("T", b"once more")
    asked = {"consumerGroup": "G", "clientId": "c1", "msgId": fields(sent)["msgId"], "topic": "T"}
    answer = await caller.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, asked)
    assert answer.body == b"{the answer}"
    (relayed,) = consumer.asked
    assert decode_record(relayed.body).body == b"once more"
    told = fields(relayed)
    assert (told["brokerName"], told["topicSysFlag"], told["groupSysFlag"]) == ("broker-a", "0", "0")
    del asked["clientId"]
    assert (await caller.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, asked)).code == 0


@pytest.mark.parametrize("message_id", ["", "nonsense", "7F00000100002A9F" + "0" * 15 + "9"])
async def test_a_message_that_is_not_there(caller: Caller, consumer: Consumer, message_id: str) -> None:
    asked = {"consumerGroup": "G", "clientId": "c1", "msgId": message_id, "topic": "T"}
    assert (await caller.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, asked)).code == ResponseCode.SYSTEM_ERROR
    assert consumer.asked == []


async def test_offsets_that_clients_hold(caller: Caller, consumer: Consumer) -> None:
    asked = {"topic": "T", "group": "G", "clientAddr": ""}
    answer = await caller.call(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, asked)
    assert codec.decode(GetConsumerStatusBody, answer.body).consumer_table == {"c1": HELD}
    answer = await caller(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic="T", group="G", clientAddr="c2")
    assert answer.code == ResponseCode.CONSUMER_NOT_ONLINE
