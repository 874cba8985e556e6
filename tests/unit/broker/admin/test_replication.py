from __future__ import annotations

from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.ha import HARuntimeInfo
from sprocketmq.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper


async def test_what_slaves_copy(caller: Caller, broker: Broker) -> None:
    broker.offsets.commit("G", "T", 0, 5)
    answer = await caller(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert codec.decode(ConsumerOffsetSerializeWrapper, answer.body).offset_table == {"T@G": {0: 5}}
    assert b'"T@G":{0:5}' in answer.body
    answer = await caller(RequestCode.GET_ALL_DELAY_OFFSET)
    assert codec.decode(DelayOffsetSerializeWrapper, answer.body).offset_table == broker.kinds.schedule.offsets()


async def test_a_master_without_slaves(caller: Caller, broker: Broker) -> None:
    await caller.send("T")
    body = codec.decode(HARuntimeInfo, (await caller(RequestCode.GET_BROKER_HA_STATUS)).body)
    assert body == HARuntimeInfo(master=True, master_commit_log_max_offset=broker.store.log.max_offset)
    assert (await caller(RequestCode.RESET_MASTER_FLUSH_OFFSET, masterFlushOffset=0)).code == 0
    assert (await caller(RequestCode.GET_BROKER_EPOCH_CACHE)).code == ResponseCode.SYSTEM_ERROR
