from __future__ import annotations

import asyncio

import pytest
from tests.unit.broker.conftest import Connect
from tests.unit.broker.support import START_MS, Caller, FakeClock, wants

from sprocketmq.broker.admin.consumer_lag import Lag
from sprocketmq.broker.broker import Broker
from sprocketmq.broker.tables.topics import own_topic
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import QuerySubscriptionResponseBody
from sprocketmq.protocol.bodies.group import GroupList
from sprocketmq.protocol.bodies.stats import ConsumeStats, ConsumeStatsList, OffsetWrapper, QueryConsumeTimeSpanBody
from sprocketmq.protocol.bodies.topic import TopicConfig, TopicList
from sprocketmq.protocol.message_queue import MessageQueue


def queue(queue_id: int, topic: str = "T") -> MessageQueue:
    return MessageQueue(topic, "broker-a", queue_id)


async def stats(caller: Caller, **asked: object) -> ConsumeStats:
    answer = await caller.call(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G"} | asked)
    return codec.decode(ConsumeStats, answer.body)


async def test_lag_by_queue(caller: Caller) -> None:
    for _ in range(3):
        await caller.send("T")
    await caller.pull("T", 0, count=2)
    await caller(RequestCode.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=0, commitOffset=1)
    found = await stats(caller)
    assert found.offset_table[queue(0)] == OffsetWrapper(
        broker_offset=3, consumer_offset=1, pull_offset=2, last_timestamp=START_MS
    )
    assert found.consume_tps > 0


async def test_a_queue_without_a_commit_is_all_before_the_group(caller: Caller, broker: Broker) -> None:
    """So it is when a consumer hangs in the first message that it was given."""
    await caller.send("T", queue_id=0)
    await caller.send("T", queue_id=1)
    broker.offsets.commit("G", "T", 0, 1)
    found = await stats(caller)
    assert found.offset_table[queue(1)] == OffsetWrapper(broker_offset=1)
    assert found.offset_table[queue(2)] == OffsetWrapper()  # it is empty: there is nothing to lag behind
    assert (await caller(RequestCode.GET_CONSUME_STATS, consumerGroup="unknown")).body == (
        b'{"consumeTps":0.0,"offsetTable":{}}'
    )


async def test_lag_of_chosen_topics(caller: Caller, broker: Broker) -> None:
    for topic in ("A", "B", "C"):
        await caller.send(topic)
        broker.offsets.commit("G", topic, 0, 1)
    assert {q.topic for q in (await stats(caller, topic="A")).offset_table} == {"A"}
    assert {q.topic for q in (await stats(caller, topicList="A;B")).offset_table} == {"A", "B"}
    assert {q.topic for q in (await stats(caller)).offset_table} == {"A", "B", "C"}


async def test_a_group_that_is_online_has_left_what_it_does_not_subscribe_to(caller: Caller, broker: Broker) -> None:
    for topic in ("A", "B"):
        await caller.send(topic)
        broker.offsets.commit("G", topic, 0, 1)
    await caller.heartbeat("G", "c1", wants("A"))
    assert {q.topic for q in (await stats(caller)).offset_table} == {"A"}
    assert {q.topic for q in (await stats(caller, topic="B")).offset_table} == set()
    assert {q.topic for q in (await stats(caller, topicList="B")).offset_table} == {"B"}, "listed"


async def test_tools_do_not_consume(caller: Caller, broker: Broker) -> None:
    await caller.send("T")
    for group in ("TOOLS_CONSUMER", "CID_ONSAPI_PULL", "__MONITOR_CONSUMER"):
        assert (await caller.pull("T", group=group)).code == 0
    broker.stats.add_up()
    assert broker.stats.gets == {}
    assert broker.stats.broker_gets.count == 0
    assert broker.offsets.pulled == {}


async def test_lag_of_the_broker(caller: Caller, broker: Broker) -> None:
    for _ in range(3):
        await caller.send("T")
    broker.groups.get("G")
    broker.offsets.commit("G", "T", 0, 1)
    answer = await caller(RequestCode.GET_BROKER_CONSUME_STATS, isOrder=False)
    body = codec.decode(ConsumeStatsList, answer.body)
    (of_group,) = next(table["G"] for table in body.consume_stats_list if "G" in table)
    assert of_group.offset_table[queue(0)].consumer_offset == 1
    assert (body.total_diff, body.total_inflight_diff) == (2, 0)
    assert body.broker_addr == broker.address
    ordered = codec.decode(ConsumeStatsList, (await caller(RequestCode.GET_BROKER_CONSUME_STATS, isOrder=True)).body)
    assert ordered.total_diff == 0


@pytest.mark.parametrize(
    "code",
    [RequestCode.GET_CONSUME_STATS, RequestCode.GET_BROKER_CONSUME_STATS, RequestCode.GET_ALL_TOPIC_CONFIG],
)
async def test_others_have_their_turns_while_much_is_looked_up(
    broker: Broker, connect: Connect, code: RequestCode
) -> None:
    many, other = connect(), connect()
    topics = [f"T{number}" for number in range(1000)]
    broker.topics.create_all_own([own_topic(topic, 4) for topic in topics])
    broker.groups.get("G")
    for topic in topics:
        broker.offsets.commit("G", topic, 0, 0)
    for caller in (many, other):
        await caller(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    asked = asyncio.ensure_future(many(code, consumerGroup="G", isOrder=False))
    for _ in range(3):
        await other(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    assert not asked.done()
    assert (await asked).code == ResponseCode.SUCCESS


async def test_a_topic_that_is_listed_twice_is_looked_up_once(
    caller: Caller, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.send("T")
    looked: list[str] = []

    def of(lag: Lag, group: str, topic: TopicConfig, broker_name: str) -> ConsumeStats:
        looked.append(topic.topic_name)
        return ConsumeStats()

    monkeypatch.setattr(Lag, "of", of)
    await stats(caller, topicList="T;T;T")
    assert looked == ["T"]


async def test_time_spans(caller: Caller, broker: Broker, clock: FakeClock) -> None:
    for _ in range(3):
        await caller.send("T", queue_id=0)
        await caller.send("T", queue_id=1)
        clock.now += 10
    broker.offsets.commit("G", "T", 0, 2)
    answer = await caller(RequestCode.QUERY_CONSUME_TIME_SPAN, topic="T", group="G")
    first, second = codec.decode(QueryConsumeTimeSpanBody, answer.body).consume_time_span_set
    assert (first.min_time_stamp, first.max_time_stamp) == (START_MS, START_MS + 20)
    assert (first.consume_time_stamp, first.delay_time) == (START_MS + 10, 10)
    assert first.message_queue == queue(0)
    assert (second.consume_time_stamp, second.delay_time) == (START_MS, 30), "nothing of it was committed"
    unknown = await caller(RequestCode.QUERY_CONSUME_TIME_SPAN, topic="unknown", group="G")
    assert unknown.code == ResponseCode.TOPIC_NOT_EXIST


async def test_who_consumes_what(caller: Caller, broker: Broker) -> None:
    broker.offsets.commit("offline", "T", 0, 1)
    await caller.heartbeat("online", "c1", wants("T", "A"))
    groups = codec.decode(GroupList, (await caller(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic="T")).body)
    assert groups.group_list == {"offline", "online"}
    topics = codec.decode(TopicList, (await caller(RequestCode.QUERY_TOPICS_BY_CONSUMER, group="offline")).body)
    assert topics == TopicList(topic_list=frozenset({"T"}), broker_addr=broker.address)
    asked = {"group": "online", "topic": "T"}
    answer = await caller.call(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, asked)
    found = codec.decode(QuerySubscriptionResponseBody, answer.body)
    assert found.subscription_data is not None
    assert found.subscription_data.sub_string == "A"
    answer = await caller(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, group="offline", topic="T")
    assert answer.body == b'{"group":"offline","topic":"T"}'
