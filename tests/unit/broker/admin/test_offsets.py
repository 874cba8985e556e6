from __future__ import annotations

import asyncio

import pytest
from tests.unit.broker.support import START_MS, Caller, FakeClock, fields, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import LanguageCode, RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import QueryCorrectionOffsetBody, ResetOffsetBody, ResetOffsetBodyForC
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import ProcessorTable, RemotingClient

from ..conftest import StartBroker
from .conftest import parked_at

TOPIC_OF_THREE = 3


@pytest.fixture
async def filled(caller: Caller, broker: Broker, clock: FakeClock) -> Broker:
    """Three messages in queue 0, ten seconds apart; group G has consumed two of them."""
    for _ in range(TOPIC_OF_THREE):
        await caller.send("T")
        clock.now += 10_000
    broker.groups.get("G")
    broker.offsets.commit("G", "T", 0, 2)
    return broker


async def reset(caller: Caller, **changed: object) -> Command:
    asked = {"group": "G", "topic": "T", "queueId": -1, "offset": -1, "timestamp": 0, "isForce": True}
    return await caller.call(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, asked | changed)


@pytest.mark.parametrize(
    ("asked", "offset"),
    [
        ({"timestamp": 0}, 0),
        ({"timestamp": START_MS + 10_000}, 1),
        ({"timestamp": START_MS + 10_001}, 2),
        ({"timestamp": -1}, 3),
        ({"queueId": 0, "offset": 1}, 1),
        ({"queueId": 0, "offset": 3}, 3),
        ({"queueId": 0, "timestamp": START_MS + 20_000}, 2),
    ],
)
async def test_reset_of_a_group_that_is_offline(
    caller: Caller, filled: Broker, asked: dict[str, object], offset: int, start_broker: StartBroker
) -> None:
    body = codec.decode(ResetOffsetBody, (await reset(caller, **asked)).body)
    assert body.offset_table[MessageQueue("T", "broker-a", 0)] == offset
    assert filled.offsets.query("G", "T", 0) == offset
    await filled.stop()
    assert (await start_broker()).offsets.query("G", "T", 0) == offset


async def test_a_group_that_comes_after_its_reset_begins_there(caller: Caller, filled: Broker) -> None:
    filled.offsets.reset("G", "T", 0, 3)  # of an earlier time, when it was online
    await reset(caller, timestamp=0)
    await caller.heartbeat("G", "c1", wants("T"))
    asked = {"consumerGroup": "G", "topic": "T", "queueId": 0}
    assert fields(await caller.call(RequestCode.QUERY_CONSUMER_OFFSET, asked))["offset"] == "0"
    assert (await caller.pull("T", 0)).code == 0


async def test_a_reset_takes_effect_at_the_next_pull_and_commits_wait(caller: Caller, filled: Broker) -> None:
    await caller.heartbeat("G", "c1", wants("T"))
    await reset(caller, timestamp=0)
    commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 3}
    assert (await caller.call(RequestCode.UPDATE_CONSUMER_OFFSET, commit)).code == 0
    assert filled.offsets.query("G", "T", 0) == 0
    moved = await caller.pull("T", 2)
    assert (moved.code, fields(moved)["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")
    assert (await caller.pull("T", 0)).code == 0
    await caller.call(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert filled.offsets.query("G", "T", 0) == 3


async def test_a_reset_wakes_the_pull_that_waits(caller: Caller, filled: Broker) -> None:
    await caller.heartbeat("G", "c1", wants("T"))
    parked = asyncio.ensure_future(caller.pull("T", 3, sys_flag=6, suspend_ms=60_000))
    await parked_at(filled)
    await reset(caller, timestamp=0)
    moved = await parked
    assert (moved.code, fields(moved)["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"topic": "unknown"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"group": "unknown"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"queueId": 0, "offset": 4}, ResponseCode.SYSTEM_ERROR),
        ({"queueId": 99, "offset": 0}, ResponseCode.INVALID_PARAMETER),
    ],
)
async def test_resets_that_cannot_be(caller: Caller, filled: Broker, asked: dict[str, object], code: int) -> None:
    assert (await reset(caller, **asked)).code == code
    assert filled.offsets.table == {"T@G": {0: 2}}
    assert filled.offsets.resets == {}


class Listener(Caller):
    """A consumer that keeps the resets it is told of."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.resets: asyncio.Queue[Command] = asyncio.Queue()
        table = ProcessorTable()
        table.add(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, lambda _connection, told: self.resets.put_nowait(told))
        table.add(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, lambda _connection, _request: None)
        self.client = RemotingClient(table)


@pytest.mark.parametrize(("force", "offset"), [(True, 3), (False, 2)])
async def test_reset_by_the_consumers(caller: Caller, filled: Broker, force: bool, offset: int) -> None:
    await caller(RequestCode.UPDATE_BROKER_CONFIG, b"useServerSideResetOffset=false")
    assert (await reset(caller, timestamp=-1)).code == ResponseCode.CONSUMER_NOT_ONLINE
    consumer = Listener(filled)
    await consumer.heartbeat("G", "c1", wants("T"))
    assert (await reset(caller, timestamp=-1, isForce=force)).code == 0
    told = await consumer.resets.get()
    assert codec.decode(ResetOffsetBody, told.body).offset_table[MessageQueue("T", "broker-a", 0)] == offset
    assert b'{{"brokerName":"broker-a"' in told.body  # Go reads this form alone
    assert fields(told)["group"] == "G"
    assert told.is_oneway
    group = filled.consumers.get("G")
    assert group is not None
    next(iter(group.members.values())).language = LanguageCode.CPP
    await reset(caller, timestamp=-1, isForce=force)
    body = codec.decode(ResetOffsetBodyForC, (await consumer.resets.get()).body)
    assert body.offset_table[0].offset == offset
    await consumer.client.close(grace=0.2)


async def test_clone(caller: Caller, filled: Broker) -> None:
    filled.offsets.commit("G", "gone", 0, 9)
    assert (await caller(RequestCode.CLONE_GROUP_OFFSET, srcGroup="G", destGroup="H", offline=True)).code == 0
    assert filled.offsets.queues("H", "T") == {0: 2}
    assert filled.offsets.queues("H", "gone") == {}
    await caller.heartbeat("busy", "c1", wants("other"))
    await caller(RequestCode.CLONE_GROUP_OFFSET, srcGroup="G", destGroup="busy", topic="T", offline=False)
    assert filled.offsets.queues("busy", "T") == {0: 2}, "whatever the heir consumes now"
    await caller.heartbeat("G", "c2", wants("other"))
    for offline, expected in ((False, {}), (True, {0: 2})):
        await caller(RequestCode.CLONE_GROUP_OFFSET, srcGroup="G", destGroup="I", topic="T", offline=offline)
        assert filled.offsets.queues("I", "T") == expected, "its source has left the topic"


async def test_correction(caller: Caller, filled: Broker) -> None:
    filled.offsets.commit("H", "T", 0, 1)
    filled.offsets.commit("I", "T", 0, 3)
    asked = {"topic": "T", "compareGroup": "G"}
    answer = await caller.call(RequestCode.QUERY_CORRECTION_OFFSET, asked)
    assert codec.decode(QueryCorrectionOffsetBody, answer.body).correction_offsets == {0: 1}
    answer = await caller.call(RequestCode.QUERY_CORRECTION_OFFSET, asked | {"filterGroups": "G,H"})
    assert codec.decode(QueryCorrectionOffsetBody, answer.body).correction_offsets == {0: (1 << 63) - 1}
