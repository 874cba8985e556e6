from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.unit.broker.support import START_MS, Caller, FakeClock, bodies, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.stats import TopicStatsTable
from sprocketmq.protocol.bodies.topic import CreateTopicListRequestBody, TopicConfig, TopicList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

from ..conftest import StartBroker
from .conftest import parked_at


async def create(caller: Caller, topic: str = "orders", **changed: object) -> Command:
    asked: dict[str, object] = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": 3, "writeQueueNums": 2, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False, "attributes": "", "force": False,
    }  # fmt: skip
    return await caller.call(RequestCode.UPDATE_AND_CREATE_TOPIC, asked | changed)


async def test_a_topic_is_created_shown_and_outlives_a_restart(
    caller: Caller, broker: Broker, start_broker: StartBroker
) -> None:
    assert (await create(caller, attributes="+message.type=FIFO", order=True)).code == 0
    shown = await caller(RequestCode.GET_TOPIC_CONFIG, topic="orders", lo=True)
    assert shown.body == (
        b'{"attributes":{"message.type":"FIFO"},"order":true,"perm":6,"readQueueNums":3,'
        b'"topicFilterType":"SINGLE_TAG","topicName":"orders","topicSysFlag":0,"writeQueueNums":2}'
    )
    await broker.stop()
    again = await start_broker()
    assert again.topics.configs["orders"].attributes == {"message.type": "FIFO"}


async def test_all_topics(caller: Caller) -> None:
    await create(caller)
    body = codec.decode(TopicConfigAndMappingSerializeWrapper, (await caller(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
    assert body.topic_config_table["orders"].write_queue_nums == 2
    assert "TBW102" in body.topic_config_table
    assert body.data_version.counter > 0


@pytest.mark.parametrize(
    ("topic", "changed", "says"),
    [
        ("", {}, "blank"),
        ("a b", {}, "characters"),
        (" orders", {}, "characters"),
        ("x" * 128, {}, "128"),
        ("SCHEDULE_TOPIC_XXXX", {}, "system"),
        ("TBW102", {}, "system"),
        ("rmq_sys_mine", {}, "system"),
        ("DefaultCluster", {}, "system"),
        ("orders", {"perm": 9}, "permission"),
        ("orders", {"readQueueNums": -1}, "queues"),
        ("orders", {"writeQueueNums": 70_000}, "queues"),
        ("orders", {"topicFilterType": "NO_TAG"}, "SINGLE_TAG"),
        ("orders", {"attributes": "+message.type=ODD"}, "ODD"),
        ("orders", {"attributes": "message.type=FIFO"}, "+NAME=VALUE"),
        ("orders", {"attributes": "+colour=red"}, "colour"),
    ],
)
async def test_topics_that_may_not_be(
    caller: Caller, broker: Broker, topic: str, changed: dict[str, object], says: str
) -> None:
    before = dict(broker.topics.configs)
    answer = await create(caller, topic, **changed)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert says in (answer.remark or "")
    assert broker.topics.configs == before


async def test_a_list_of_topics_is_taken_whole_or_not_at_all(caller: Caller, broker: Broker) -> None:
    good, bad = TopicConfig(topic_name="good"), TopicConfig(topic_name="b a d")
    body = codec.encode(CreateTopicListRequestBody(topic_config_list=(good, bad)))
    assert (await caller(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body)).code == ResponseCode.INVALID_PARAMETER
    assert "good" not in broker.topics.configs
    body = codec.encode(CreateTopicListRequestBody(topic_config_list=(good, TopicConfig(topic_name="too"))))
    assert (await caller(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body)).code == 0
    assert {"good", "too"} <= set(broker.topics.configs)
    version = broker.topics.data_version
    assert (await caller(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body)).code == 0
    assert broker.topics.data_version == version  # nothing is new in it


async def test_attributes_are_set_and_removed(caller: Caller, broker: Broker) -> None:
    await create(caller, attributes="+message.type=FIFO,+reserve.time=100")
    await create(caller, attributes="-reserve.time,+message.type=DELAY")
    assert broker.topics.configs["orders"].attributes == {"message.type": "DELAY"}
    assert (await create(caller, attributes="+queue.type=SimpleCQ")).code == ResponseCode.INVALID_PARAMETER


async def test_deleting_takes_queues_offsets_and_pop_retries(caller: Caller, broker: Broker) -> None:
    await caller.send("orders")
    await caller.send("other")
    broker.offsets.commit("G", "orders", 0, 1)
    broker.offsets.commit("G", "other", 0, 1)
    broker.topics.create_own("%RETRY%G_orders", 1)
    assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="orders")).code == 0
    assert broker.topics.get("orders") is None
    assert broker.topics.get("%RETRY%G_orders") is None
    assert broker.offsets.table == {"other@G": {0: 1}}
    assert "orders" not in broker.store.topics()
    assert "other" in broker.store.topics()
    assert not (broker.store.layout.consume_queues / "orders").exists()
    assert (await caller(RequestCode.GET_TOPIC_CONFIG, topic="orders")).code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_deleted_topic_stays_deleted_after_a_kill(
    caller: Caller, broker: Broker, clock: FakeClock, tmp_path: Path
) -> None:
    await caller.send("orders", body=b"old")
    await caller.send("gone", body=b"old")
    for topic in ("orders", "gone"):
        assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic=topic)).code == 0
    await caller.send("orders", body=b"new")
    for saver in broker._savers:  # a file that is renamed meanwhile cannot be copied
        await saver.saved()
    shutil.copytree(broker.store.layout.root, tmp_path / "killed", ignore=shutil.ignore_patterns("lock"))
    again = make_broker(tmp_path / "killed", clock)
    await again.start()
    try:
        assert again.topics.get("gone") is None
        later = Caller(again)
        assert bodies(await later.pull("orders")) == [b"new"]
        await later.client.close(grace=0.1)
    finally:
        await again.stop()


async def test_deleting_answers_those_who_wait(caller: Caller, broker: Broker) -> None:
    await caller.send("orders")
    waiting = await caller.pull("orders", 1, sys_flag=4)
    assert waiting.code == ResponseCode.PULL_NOT_FOUND
    parked = asyncio.ensure_future(caller.pull("orders", 1, sys_flag=6, suspend_ms=60_000))
    await parked_at(broker)
    await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="orders")
    assert (await parked).code == ResponseCode.PULL_OFFSET_MOVED


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "../evil", "DefaultCluster", ""])
async def test_topics_that_may_not_be_deleted(caller: Caller, broker: Broker, topic: str) -> None:
    before = dict(broker.topics.configs)
    answer = await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic=topic)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert broker.topics.configs == before


async def test_figures_of_a_topic(
    caller: Caller, broker: Broker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = broker.stats.clock()
    monkeypatch.setattr(broker.stats, "clock", lambda: now)
    await create(caller, readQueueNums=2)
    await caller.send("orders", queue_id=1)
    clock.now += 5
    await caller.send("orders", queue_id=1)
    body = codec.decode(TopicStatsTable, (await caller(RequestCode.GET_TOPIC_STATS_INFO, topic="orders")).body)
    empty, full = (body.offset_table[MessageQueue("orders", "broker-a", queue)] for queue in (0, 1))
    assert (empty.min_offset, empty.max_offset, empty.last_update_timestamp) == (0, 0, 0)
    assert (full.min_offset, full.max_offset, full.last_update_timestamp) == (0, 2, START_MS + 5)
    assert body.topic_put_tps == pytest.approx(0.2)
    answer = await caller(RequestCode.GET_TOPIC_STATS_INFO, topic="unknown")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST


async def test_system_topics(caller: Caller) -> None:
    body = codec.decode(TopicList, (await caller(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)).body)
    assert {"TBW102", "SCHEDULE_TOPIC_XXXX", "DefaultCluster", "broker-a"} <= body.topic_list
