from __future__ import annotations

import asyncio

from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, wants
from tests.unit.store.support import finish_cleaning

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.queue import QueryConsumeQueueResponseBody
from sprocketmq.protocol.record.hashing import tags_code


async def test_entries_of_a_queue(caller: Caller, broker: Broker) -> None:
    for tag in ("A", "B", "A"):
        await caller.send("T", TAGS=tag)
    asked = {"topic": "T", "queueId": 0, "index": 1, "count": 5}
    body = codec.decode(QueryConsumeQueueResponseBody, (await caller.call(RequestCode.QUERY_CONSUME_QUEUE, asked)).body)
    assert (body.min_queue_index, body.max_queue_index) == (0, 3)
    assert [entry.tags_code for entry in body.queue_data] == [tags_code("B"), tags_code("A")]
    assert body.queue_data[0].physic_offset > 0
    assert body.subscription_data is None


async def test_whether_a_group_would_get_them(caller: Caller) -> None:
    for tag in ("A", "B"):
        await caller.send("T", TAGS=tag, n=str(ord(tag)))
    await caller.heartbeat("G", "c1", wants("T", "B"))
    await caller.heartbeat("S", "c1", wants("T", "n = 65", kind="SQL92"))
    asked = {"topic": "T", "queueId": 0, "index": 0, "count": 5}
    for group, passes in (("G", [False, True]), ("S", [True, False]), ("offline", [False, False])):
        answer = await caller.call(RequestCode.QUERY_CONSUME_QUEUE, asked | {"consumerGroup": group})
        body = codec.decode(QueryConsumeQueueResponseBody, answer.body)
        assert [entry.eval for entry in body.queue_data] == passes
        assert (body.subscription_data is None) == (group == "offline")


async def test_others_have_their_turns_while_many_entries_are_looked_at(broker: Broker, connect: Connect) -> None:
    many, other = connect(), connect()
    for caller in (many, other):
        await caller.send("T")
    for _ in range(900):  # one file of entries has a thousand
        broker.store.put("T", 0, 0, 0, b"x", b"", 0, bytes(8), 0, 0)
    asked = asyncio.ensure_future(many(RequestCode.QUERY_CONSUME_QUEUE, topic="T", queueId=0, index=0, count=2**31 - 1))
    for _ in range(3):
        await other(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    assert not asked.done()
    assert len(codec.decode(QueryConsumeQueueResponseBody, (await asked).body).queue_data) == 902


async def test_a_queue_that_is_not_there(caller: Caller) -> None:
    answer = await caller(RequestCode.QUERY_CONSUME_QUEUE, topic="T", queueId=5, index=0, count=1)
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_unused_topics_go_and_those_of_the_system_stay(caller: Caller, broker: Broker) -> None:
    for topic in ("used", "unused"):
        await caller.send(topic)
    broker.store.put("TRANS_CHECK_MAX_TIME_TOPIC", 0, 0, 0, b"x", b"", 0, bytes(8), 0, 0)
    await broker.topics.delete("unused")
    assert (await caller(RequestCode.CLEAN_UNUSED_TOPIC)).code == 0
    left = set(broker.store.topics())
    assert "unused" not in left
    assert {"used", "TRANS_CHECK_MAX_TIME_TOPIC"} <= left


async def test_expired_queues_begin_again_and_their_groups_with_them(
    start_broker: StartBroker, tmp_path: object
) -> None:
    broker = await start_broker(mappedFileSizeCommitLog="4096")
    caller = Caller(broker)
    await caller.send("old")
    broker.groups.get("G")
    broker.offsets.commit("G", "old", 0, 1)
    for _ in range(5):
        await caller.send("new", bytes(3000))
    broker.store.flush()
    broker.store.log.remove_first()
    broker.store.cleaner.drop_what_points_nowhere()
    finish_cleaning(broker.store)
    assert (await caller(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)).code == 0
    assert broker.store.queues.find("old", 0) is None
    assert broker.offsets.query("G", "old", 0) == 0
    await caller.send("old", b"again")
    assert (await caller.pull("old", 0)).code == 0
    await caller.client.close(grace=0.2)


async def test_expired_log_files_are_deleted_by_the_next_round(caller: Caller, broker: Broker) -> None:
    assert (await caller(RequestCode.DELETE_EXPIRED_COMMITLOG)).code == 0
    assert broker.store.cleaner._is_time(0.0)
