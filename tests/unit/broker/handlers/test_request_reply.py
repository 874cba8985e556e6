from __future__ import annotations

from typing import Any

from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import START_MS, Caller, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.requests.send import NAMES
from sprocketmq.remoting import Connection, Reply

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"


class Requester(Caller):
    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.replies: list[Command] = []
        self.table.add(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self._take)

    def _take(self, _connection: Connection, request: Command) -> Reply:
        self.replies.append(request)
        return request.reply()


async def reply(caller: Caller, code: int = RequestCode.SEND_REPLY_MESSAGE_V2, client_id: str = "asker") -> Command:
    return await caller.send(
        REPLY_TOPIC, b"answer", code=code, CORRELATION_ID="c", REPLY_TO_CLIENT=client_id, MSG_TYPE="reply"
    )


async def test_a_reply_reaches_the_client_that_asked(broker: Broker, connect: Connect) -> None:
    asker = Requester(broker)
    await asker.heartbeat("", "asker", producers=("PG",))
    answer = await reply(connect())
    assert (answer.code, fields(answer)["queueOffset"]) == (ResponseCode.SUCCESS, "0")
    (pushed,) = asker.replies
    found = fields(pushed)
    assert (pushed.body, found["topic"], found["bornTimestamp"]) == (b"answer", REPLY_TOPIC, str(START_MS))
    assert decode_properties(found["properties"])["CORRELATION_ID"] == "c"
    assert decode_properties(found["properties"])["PUSH_REPLY_TIME"] == str(START_MS)
    assert found["storeHost"] == broker.address
    assert broker.store.max_offset(REPLY_TOPIC, 0) == 1


async def test_the_long_names_mean_the_same(broker: Broker, connect: Connect) -> None:
    asker = Requester(broker)
    await asker.heartbeat("", "asker", producers=("PG",))
    values = ["PG", REPLY_TOPIC, "TBW102", 4, 0, 0, START_MS, 0, "REPLY_TO_CLIENT\x01asker\x02"]
    named: dict[str, Any] = dict(zip(NAMES, values, strict=False))
    answer = await connect()(RequestCode.SEND_REPLY_MESSAGE, b"answer", **named)
    assert answer.code == ResponseCode.SUCCESS
    assert len(asker.replies) == 1


async def test_a_reply_to_nobody_says_so(broker: Broker, caller: Caller) -> None:
    assert (await reply(caller, client_id="gone")).code == ResponseCode.SYSTEM_ERROR


async def test_replies_need_not_be_kept(start_broker: StartBroker) -> None:
    broker = await start_broker(storeReplyMessageEnable="false")
    asker = Requester(broker)
    await asker.heartbeat("", "asker", producers=("PG",))
    assert fields(await reply(Caller(broker)))["msgId"] == "0"
    assert broker.store.max_offset(REPLY_TOPIC, 0) == 0
