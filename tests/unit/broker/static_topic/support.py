"""Mappings of the static topic `S`, and two brokers that share it."""

from __future__ import annotations

from tests.unit.broker.support import Caller

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem, TopicQueueMappingDetail
from sprocketmq.protocol.command import Command

A, B = "broker-a", "broker-b"


def item(gen: int, bname: str, logic: int, queue_id: int = 0, end: int = -1) -> LogicQueueMappingItem:
    return LogicQueueMappingItem(gen=gen, queue_id=queue_id, bname=bname, logic_offset=logic, end_offset=end)


def detail(bname: str, queues: dict[int, tuple[LogicQueueMappingItem, ...]], epoch: int = 1) -> TopicQueueMappingDetail:
    return TopicQueueMappingDetail(topic="S", total_queues=1, bname=bname, epoch=epoch, hosted_queues=queues)


async def put(caller: Caller, mapping: TopicQueueMappingDetail, *, force: bool = False, topic: str = "S") -> Command:
    asked = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False, "force": force,
    }  # fmt: skip
    return await caller.call(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, asked, codec.encode(mapping))
