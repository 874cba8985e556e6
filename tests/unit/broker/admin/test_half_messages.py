from __future__ import annotations

import pytest
from tests.unit.broker.support import START_MS, Caller, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.properties import decode_properties


async def test_a_half_message_is_checked_again(caller: Caller, broker: Broker) -> None:
    properties = b"TRANSACTION_CHECK_TIMES\x0115\x02REAL_TOPIC\x01T\x02TRAN_PREPARED_QUEUE_OFFSET\x015\x02"
    put = broker.store.put("TRANS_CHECK_MAX_TIME_TOPIC", 0, 3, 0, b"half", properties, START_MS, bytes(8), 0, 0)
    message_id = offset_message_id(bytes(8), put.commit_offset)
    before = broker.store.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0)
    assert (await caller(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=message_id)).code == 0
    entry = broker.store.reader.entry("RMQ_SYS_TRANS_HALF_TOPIC", 0, before)
    assert entry is not None
    record = broker.store.reader.record_at(entry.commit_offset)
    assert record is not None
    assert (record.body, record.flag, record.born_timestamp) == (b"half", 3, START_MS)
    assert decode_properties(record.properties) == {"TRANSACTION_CHECK_TIMES": "0", "REAL_TOPIC": "T"}
    assert before in broker.kinds.halves.open


@pytest.mark.parametrize("which", ["ordinary", "", "nonsense"])
async def test_what_is_no_half_message(caller: Caller, broker: Broker, which: str) -> None:
    sent = await caller.send("T")
    message_id = fields(sent)["msgId"] if which == "ordinary" else which
    answer = await caller(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=message_id)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert broker.store.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0) == 0
