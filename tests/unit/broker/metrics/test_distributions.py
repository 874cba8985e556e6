"""Sizes of messages and times of answers, as RocketMQ 5.3.3 exports them."""

from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, wants
from tests.unit.remoting.wire import until

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig

Labels = dict[str, str]


def samples(broker: Broker, name: str, **wanted: str) -> list[tuple[Labels, float]]:
    return [
        (sample.labels, sample.value)
        for family in text_string_to_metric_families(broker.metrics.text())
        for sample in family.samples
        if sample.name == name and wanted.items() <= sample.labels.items()
    ]


def value(broker: Broker, name: str, **wanted: str) -> float:
    ((_, found),) = samples(broker, name, **wanted)
    return found


async def test_sizes_of_messages(broker: Broker, caller: Caller) -> None:
    await caller.send()
    for size in (2 << 10, 600 << 10, 900 << 10):
        await caller.send(body=b"x" * size)
    buckets = {labels["le"]: count for labels, count in samples(broker, "rocketmq_message_size_bucket", topic="T")}
    bounds = ("1024", "4096", "524288", "1048576", "2097152", "4194304", "+Inf")
    assert buckets == dict(zip(bounds, (1, 2, 2, 4, 4, 4, 4), strict=True))
    assert value(broker, "rocketmq_message_size_count", topic="T") == 4
    assert value(broker, "rocketmq_message_size_sum", topic="T") == broker.stats.puts["T"].size


async def test_answers_are_counted_by_what_was_asked_and_what_came_of_it(broker: Broker, caller: Caller) -> None:
    await caller.send()
    await caller.send()
    await caller.call(RequestCode.GET_TOPIC_CONFIG, {"topic": "nobody-made-it"})
    await caller.call(9999, {})
    name = "rocketmq_rpc_latency_milliseconds"
    sent = {"request_code": "send_message_v2", "response_code": "success", "result": "success"}
    assert value(broker, f"{name}_count", **sent, is_long_polling="false") == 2
    assert value(broker, f"{name}_sum", **sent) >= 0
    assert [labels["le"] for labels, _ in samples(broker, f"{name}_bucket", **sent)] == [
        "1", "3", "5", "7", "10", "100", "1000", "2000", "3000", "+Inf",
    ]  # fmt: skip
    assert value(broker, f"{name}_count", request_code="get_topic_config", response_code="topic_not_exist") == 1
    refused = "request_code_not_supported"
    assert value(broker, f"{name}_count", request_code="unknown", response_code=refused) == 1
    assert value(broker, "rocketmq_rpc_latency_count", **sent) == 2, "the name of the documents"


async def test_answers_that_come_later_are_counted_too(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller = Caller(broker)
    await caller.send()
    await caller.heartbeat("G", "c1", wants())
    pulled = asyncio.create_task(caller.pull(offset=1, sys_flag=6))
    await until(lambda: len(broker.pulls.long_polls) == 1)
    await caller.send()
    await pulled
    name = "rocketmq_rpc_latency_milliseconds_count"
    assert value(broker, name, request_code="send_message_v2", response_code="success") == 2
    waited = {"request_code": "pull_message", "is_long_polling": "true"}
    assert value(broker, name, **waited, response_code="success") == 1
    await caller.client.close(grace=0.1)


async def test_making_topics_and_groups_is_timed(broker: Broker, caller: Caller) -> None:
    fields = {
        "defaultTopic": "TBW102",
        "readQueueNums": "1",
        "writeQueueNums": "1",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    for topic, code in (("made", ResponseCode.SUCCESS), ("not a name", ResponseCode.INVALID_PARAMETER)):
        answer = await caller.call(RequestCode.UPDATE_AND_CREATE_TOPIC, fields | {"topic": topic})
        assert answer.code == code, answer
    group = codec.encode(SubscriptionGroupConfig(group_name="made"))
    await caller.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, group)
    topics = "rocketmq_topic_create_execution_time_milliseconds_count"
    assert value(broker, topics, invocation_status="success", is_system="false") == 1
    assert value(broker, topics, invocation_status="failure") == 1
    groups = "rocketmq_consumer_group_create_execution_time_milliseconds"
    assert value(broker, f"{groups}_count", invocation_status="success") == 1
    assert [labels["le"] for labels, _ in samples(broker, f"{groups}_bucket")] == [
        "10", "100", "1000", "3000", "5000", "+Inf",
    ]  # fmt: skip
