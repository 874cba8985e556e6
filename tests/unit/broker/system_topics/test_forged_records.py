"""A record that a producer put into a message's body is no message, whoever names its place."""

from __future__ import annotations

import pytest
from tests.unit.broker.support import START_MS, Caller, fields, wants
from tests.unit.broker.transaction.test_handler import COMMIT, half

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.names import TRANSACTION_CHECK_MAX_TOPIC, TRANSACTION_HALF_TOPIC
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, decode_record, encode_record

#: Where the body of a record begins, with addresses of four bytes.
BODY_AT = 88


def forged(broker: Broker, at: int, topic: str, queue_offset: int, **properties: str) -> bytes:
    local = bytes([127, 0, 0, 1, 0, 0, 0, 1])
    record = Record(
        topic=topic, queue_id=0, queue_offset=queue_offset, commit_offset=at, flag=0, sys_flag=0, body=b"forged",
        properties=encode_properties(properties).encode(), born_timestamp=START_MS, born_host=local,
        store_timestamp=START_MS, store_host=local, reconsume_times=0, prepared_transaction_offset=0,
    )  # fmt: skip
    return encode_record(record)


async def plant(broker: Broker, caller: Caller, topic: str, queue_offset: int = 0, **properties: str) -> int:
    """Send a body that is a whole record; where that stands in the log."""
    at = broker.store.log.max_offset + BODY_AT
    await caller.send(body=forged(broker, at, topic, queue_offset, **properties))
    found = broker.store.reader.record_at(at)
    assert found is not None
    assert found.body == b"forged"
    return at


async def test_a_forged_half_ends_nothing(broker: Broker, caller: Caller) -> None:
    where = await half(caller, b"of another group")
    at = await plant(
        broker, caller, TRANSACTION_HALF_TOPIC, where["tranStateTableOffset"], PGROUP="MINE", REAL_TOPIC="T",
        REAL_QID="0",
    )  # fmt: skip
    before = broker.store.max_offset("T", 0)
    answer = await caller(
        RequestCode.END_TRANSACTION, producerGroup="MINE", commitOrRollback=COMMIT, msgId="M", commitLogOffset=at,
        tranStateTableOffset=where["tranStateTableOffset"],
    )  # fmt: skip
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert broker.store.max_offset("T", 0) == before
    assert list(broker.kinds.halves.open) == [where["tranStateTableOffset"]]


async def test_a_forged_message_is_not_sent_back(broker: Broker, caller: Caller) -> None:
    at = await plant(broker, caller, "SECRET")
    answer = await caller(RequestCode.CONSUMER_SEND_MSG_BACK, offset=at, group="G", delayLevel=0)
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_a_forged_half_is_not_checked_again(broker: Broker, caller: Caller) -> None:
    at = await plant(broker, caller, TRANSACTION_CHECK_MAX_TOPIC, REAL_TOPIC="T", REAL_QID="0")
    before = broker.store.max_offset(TRANSACTION_HALF_TOPIC, 0)
    answer = await caller(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=offset_message_id(bytes(8), at))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert broker.store.max_offset(TRANSACTION_HALF_TOPIC, 0) == before


async def test_a_forged_message_is_handed_to_no_client(broker: Broker, caller: Caller) -> None:
    at = await plant(broker, caller, "SECRET")
    member = Caller(broker)
    await member.heartbeat("G", "c1", wants("T"))
    named = {"consumerGroup": "G", "clientId": "c1", "topic": "T", "msgId": offset_message_id(bytes(8), at)}
    answer = await caller.call(RequestCode.CONSUME_MESSAGE_DIRECTLY, named)
    assert (answer.code, "no message" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
    await member.client.close(grace=0.1)


@pytest.mark.parametrize("topic", ["SECRET", "T"])
async def test_a_forged_message_is_not_viewed(broker: Broker, caller: Caller, topic: str) -> None:
    real = int(fields(await caller.send())["msgId"][16:], 16)
    at = await plant(broker, caller, topic)
    assert (await caller(RequestCode.VIEW_MESSAGE_BY_ID, offset=at)).code == ResponseCode.SYSTEM_ERROR
    seen = await caller(RequestCode.VIEW_MESSAGE_BY_ID, offset=real)
    assert decode_record(seen.body).body == b"body"
