from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, FakeClock, fields, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.handlers.heartbeat import GROUPS_AT_ONCE
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import GetConsumerListByGroupResponseBody
from sprocketmq.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, HeartbeatData, ProducerData
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.remoting import turns as turns_of_loop
from sprocketmq.store.files.config_files import ConfigFile


async def members(caller: Caller, group: str = "G") -> list[str]:
    answer = await caller(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=group)
    return sorted(codec.decode(GetConsumerListByGroupResponseBody, answer.body).consumer_id_list)


async def noticed(caller: Caller, count: int) -> None:
    while len(caller.notices) < count:  # noqa: ASYNC110 - several may come
        await asyncio.sleep(0.001)


async def test_a_heartbeat_makes_the_group_and_its_retry_topic(broker: Broker, caller: Caller) -> None:
    answer = await caller.heartbeat("G", "c1", wants())
    assert answer.code == ResponseCode.SUCCESS
    assert fields(answer)["IS_SUPPORT_HEART_BEAT_V2"] == "true"
    assert broker.groups.configs["G"].retry_max_times == 16
    assert broker.topics.configs["%RETRY%G"].read_queue_nums == 1
    assert await members(caller) == ["c1"]


async def test_members_hear_of_those_who_come_and_go(connect: Connect) -> None:
    first, second = connect(), connect()
    await first.heartbeat("G", "c1", wants())
    await noticed(first, 1)
    await second.heartbeat("G", "c2", wants())
    await noticed(first, 2)
    await noticed(second, 1)
    assert await members(first) == ["c1", "c2"]
    await second.client.close(grace=0.1)
    await noticed(first, 3)
    assert await members(first) == ["c1"]
    assert fields(first.notices[-1]) == {"consumerGroup": "G"}


async def test_a_heartbeat_that_changes_nothing_is_not_told(caller: Caller) -> None:
    await caller.heartbeat("G", "c1", wants("T", "A", 1))
    await caller.heartbeat("G", "c1", wants("T", "A", 1))
    await caller.heartbeat("G", "c1", wants("T", "B", 2))
    await noticed(caller, 2)
    assert len(caller.notices) == 2


async def test_in_broadcasting_nobody_is_told(caller: Caller) -> None:
    await caller.heartbeat("G", "c1", wants(), model=MessageModel.BROADCASTING)
    assert await members(caller) == ["c1"]
    assert caller.notices == []


async def test_the_newest_subscription_counts(broker: Broker, caller: Caller) -> None:
    await caller.heartbeat("G", "c1", wants("T", "new", 5), wants("U", "*", 5))
    await caller.heartbeat("G", "c1", wants("T", "old", 4))
    group = broker.consumers.get("G")
    assert group is not None
    assert {topic: s.data.sub_string for topic, s in group.subscriptions.items()} == {"T": "new"}


async def test_unregistering_leaves_the_group(broker: Broker, caller: Caller) -> None:
    await caller.heartbeat("G", "c1", wants(), producers=("P",))
    assert broker.producers.find("c1") is not None
    await caller(RequestCode.UNREGISTER_CLIENT, clientID="c1", producerGroup="P", consumerGroup="G")
    assert broker.producers.find("c1") is None
    answer = await caller(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup="G")
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_silent_clients_expire(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    await caller.heartbeat("G", "c1", wants(), producers=("P",))
    clock.now += 120_000
    broker.consumers.expire(120_000)
    assert broker.consumers.get("G") is not None
    clock.now += 1
    broker.consumers.expire(120_000)
    broker.producers.expire(120_000)
    assert broker.consumers.get("G") is None
    assert broker.producers.groups == {}


async def test_a_clock_that_is_set_disconnects_nobody(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    await caller.heartbeat("G", "c1", wants(), producers=("P",))
    clock.jump(130_000)
    broker.consumers.expire(120_000)
    broker.producers.expire(120_000)
    assert broker.consumers.get("G") is not None
    assert "P" in broker.producers.groups


async def test_version_2_heartbeats_may_leave_subscriptions_out(broker: Broker, caller: Caller) -> None:
    first = await caller.heartbeat("G", "c1", wants("T", "A"), fingerprint=77)
    assert fields(first)["IS_SUB_CHANGE"] == "true"
    same = await caller.heartbeat("G", "c1", fingerprint=77, without_sub=True)
    assert fields(same)["IS_SUB_CHANGE"] == "false"
    other = await caller.heartbeat("G", "c1", fingerprint=78, without_sub=True)
    assert fields(other)["IS_SUB_CHANGE"] == "true"
    group = broker.consumers.get("G")
    assert group is not None
    assert set(group.subscriptions) == {"T"}


async def check(caller: Caller, kind: str, text: str) -> int:
    body = CheckClientRequestBody(client_id="c1", group="G", subscription_data=wants("T", text, kind=kind))
    return (await caller(RequestCode.CHECK_CLIENT_CONFIG, codec.encode(body))).code


async def test_subscriptions_are_checked_before_a_client_starts(caller: Caller) -> None:
    assert await check(caller, "TAG", "anything") == ResponseCode.SUCCESS
    assert await check(caller, "SQL92", "a > 1") == ResponseCode.SUCCESS
    assert await check(caller, "SQL92", "a >") == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_without_property_filters_the_check_says_no(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(enablePropertyFilter="false"))
    assert await check(caller, "SQL92", "a > 1") == ResponseCode.SYSTEM_ERROR
    await caller.client.close(grace=0.1)


async def test_a_body_that_is_no_heartbeat_is_answered(caller: Caller) -> None:
    answer = await caller(RequestCode.HEART_BEAT, b'{"clientID":5}')
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_an_unknown_group_is_not_registered_where_groups_are_not_created(start_broker: StartBroker) -> None:
    broker = await start_broker(autoCreateSubscriptionGroup="false")
    caller = Caller(broker)
    assert (await caller.heartbeat("G", "c1", wants(), producers=("P",))).code == ResponseCode.SUCCESS
    assert broker.consumers.get("G") is None
    assert "P" in broker.producers.groups
    await caller.client.close(grace=0.1)


async def test_many_new_groups_cost_few_writes_and_leave_the_loop_free(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", maxGroupsPerHeartbeat="1000")
    caller, other = Caller(broker), Caller(broker)
    await other.send()
    writes: list[tuple[str, bool]] = []
    turns: list[int] = []
    write, create = ConfigFile.write, broker.topics.create_all_own

    def counted(file: ConfigFile[object], data: bytes) -> None:
        writes.append((file.path.name, is_loop()))
        write(file, data)

    def created(configs: Sequence[TopicConfig]) -> None:
        asyncio.get_running_loop().call_soon(lambda: turns.append(len(broker.consumers.groups)))
        create(configs)

    monkeypatch.setattr(ConfigFile, "write", counted)
    monkeypatch.setattr(broker.topics, "create_all_own", created)
    monkeypatch.setattr(turns_of_loop, "SHARE_NS", 0)
    groups = 4 * GROUPS_AT_ONCE
    data = HeartbeatData(
        client_id="c",
        consumer_data_set=tuple(consumer(f"G{number}") for number in range(groups)),
        producer_data_set=tuple(ProducerData(group_name=f"P{number}") for number in range(groups)),
    )
    assert (await caller(RequestCode.HEART_BEAT, codec.encode(data))).code == 0
    await broker.topics.saver.saved()
    assert 1 <= writes.count(("topics.json", False)) <= groups // GROUPS_AT_ONCE
    assert not any(on_loop for _, on_loop in writes)
    assert len(set(turns)) == groups // GROUPS_AT_ONCE  # others had their turn between them
    assert len(broker.consumers.groups) == len(broker.producers.groups) == groups
    assert broker.topics.get(f"%RETRY%G{groups - 1}") is not None
    for each in (caller, other):
        await each.client.close(grace=0.1)


def is_loop() -> bool:
    """Whether this is the thread of the event loop."""
    return threading.current_thread() is threading.main_thread()


def consumer(group: str) -> ConsumerData:
    return ConsumerData(
        group_name=group, consume_type=ConsumeType.CONSUME_PASSIVELY, message_model=MessageModel.CLUSTERING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    )  # fmt: skip
