from __future__ import annotations

from dataclasses import replace

from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import START_MS, Caller, FakeClock, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command


async def ask(caller: Caller, code: int, **more: object) -> Command:
    return await caller.call(code, {"topic": "T", "queueId": 0, **more})


async def test_min_max_and_earliest(caller: Caller) -> None:
    assert fields(await ask(caller, RequestCode.GET_MAX_OFFSET)) == {"offset": "0"}
    assert fields(await ask(caller, RequestCode.GET_EARLIEST_MSG_STORETIME)) == {"timestamp": "-1"}
    for _ in range(3):
        await caller.send()
    assert fields(await ask(caller, RequestCode.GET_MIN_OFFSET)) == {"offset": "0"}
    assert fields(await ask(caller, RequestCode.GET_MAX_OFFSET)) == {"offset": "3"}
    assert fields(await ask(caller, RequestCode.GET_EARLIEST_MSG_STORETIME)) == {"timestamp": str(START_MS)}


async def test_offsets_are_found_by_time(caller: Caller, clock: FakeClock) -> None:
    for _ in range(4):
        await caller.send()
        clock.now += 1000
    search = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    assert fields(await ask(caller, search, timestamp=START_MS + 1500)) == {"offset": "2"}
    assert fields(await ask(caller, search, timestamp=START_MS + 99_000)) == {"offset": "4"}
    assert fields(await ask(caller, search, timestamp=START_MS + 1500, boundaryType="UPPER")) == {"offset": "1"}


async def query(caller: Caller, **more: object) -> tuple[int, str | None]:
    answer = await ask(caller, RequestCode.QUERY_CONSUMER_OFFSET, consumerGroup="G", **more)
    return answer.code, fields(answer).get("offset")


async def test_a_new_group_begins_at_0_in_a_young_queue_and_decides_itself_in_others(caller: Caller) -> None:
    assert await query(caller) == (ResponseCode.QUERY_NOT_FOUND, None)  # no message yet
    await caller.send()
    assert await query(caller) == (0, "0")
    assert await query(caller, setZeroIfNotFound=False) == (ResponseCode.QUERY_NOT_FOUND, None)


async def test_a_committed_offset_is_never_forgotten(caller: Caller, start_broker: StartBroker, broker: Broker) -> None:
    await caller.send()
    await caller.heartbeat("G")
    update = RequestCode.UPDATE_CONSUMER_OFFSET
    assert (await ask(caller, update, consumerGroup="G", commitOffset=1)).code == 0
    assert await query(caller) == (0, "1")
    await broker.stop()
    again = Caller(await start_broker())
    assert await query(again) == (0, "1")
    await again.client.close(grace=0.1)


async def test_nobody_is_ahead_of_a_queue(broker: Broker, caller: Caller) -> None:
    """As RocketMQ's group would skip what comes there next."""
    await caller.send()
    await caller.heartbeat("G")
    update = RequestCode.UPDATE_CONSUMER_OFFSET
    assert (await ask(caller, update, consumerGroup="G", commitOffset=2)).code == ResponseCode.SYSTEM_ERROR
    await caller.pull(offset=0, commit=1 << 60, sys_flag=1 | 4)
    assert broker.offsets.queues("G", "T") == {}
    await caller.pull(offset=0, commit=1, sys_flag=1 | 4)
    assert broker.offsets.queues("G", "T") == {0: 1}


async def test_commits_for_what_does_not_exist_are_refused(caller: Caller) -> None:
    commit = {"consumerGroup": "G", "commitOffset": 7}
    assert (
        await ask(caller, RequestCode.UPDATE_CONSUMER_OFFSET, **commit)
    ).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await caller.heartbeat("G")
    assert (await ask(caller, RequestCode.UPDATE_CONSUMER_OFFSET, **commit)).code == ResponseCode.TOPIC_NOT_EXIST


async def test_only_queues_that_are_there_have_offsets(broker: Broker, caller: Caller) -> None:
    await caller.send()
    await caller.heartbeat("G")
    for queue_id in (-1, 4, 2**31 - 1):
        commit = {"consumerGroup": "G", "commitOffset": 7, "queueId": queue_id}
        assert (await ask(caller, RequestCode.UPDATE_CONSUMER_OFFSET, **commit)).code == ResponseCode.SYSTEM_ERROR
    assert broker.offsets.queues("G", "T") == {}
    await caller.send(queue_id=3)
    await broker.topics.put(replace(broker.topics.configs["T"], read_queue_nums=1, write_queue_nums=1))
    commit = {"consumerGroup": "G", "commitOffset": 1, "queueId": 3}
    assert (await ask(caller, RequestCode.UPDATE_CONSUMER_OFFSET, **commit)).code == 0  # its messages are still there
