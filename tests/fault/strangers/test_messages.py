"""What a stranger's frames could store, create, keep or end in a broker.

Each test does what was done to a running broker, and looks at what is left of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fault.strangers.stranger import FRIEND, STRANGER, Stranger, broker_among_strangers, strangers
from tests.unit.broker.support import START_MS
from tests.unit.remoting.wire import until

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.tables import group_members
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, encode_record

#: The body of a record begins so far behind the record.
BODY_AT = 88
COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4


def send_fields(topic: str, sys_flag: int = 0, /, **properties: str) -> dict[str, object]:
    return {
        "a": "PG", "b": topic, "c": "TBW102", "d": 8, "e": 0, "f": sys_flag, "g": START_MS, "h": 0,
        "i": encode_properties(properties), "j": 0, "k": "false", "m": "false",
    }  # fmt: skip


async def send(peer: Stranger, topic: str, body: bytes = b"body", **properties: str) -> Command:
    return await peer.answer(peer.tell(RequestCode.SEND_MESSAGE_V2, send_fields(topic, **properties), body))


def pull_fields(group: str = "G", topic: str = "T", **changes: object) -> dict[str, object]:
    return {
        "consumerGroup": group, "topic": topic, "queueId": 0, "queueOffset": 0, "maxMsgNums": 32,
        "sysFlag": SUSPEND | SUBSCRIPTION, "commitOffset": 0, "suspendTimeoutMillis": 15_000, "subVersion": 0,
        "subscription": "*", "expressionType": "TAG", **changes,
    }  # fmt: skip


def heartbeat(client: str = "c", consumers: Any = (), producers: Any = ()) -> bytes:
    return codec.encode(
        HeartbeatData(
            client_id=client,
            consumer_data_set=tuple(ConsumerData(group_name=name) for name in consumers),
            producer_data_set=tuple(ProducerData(group_name=name) for name in producers),
        )
    )


async def asked(broker: Broker, stranger: Stranger) -> None:
    """A healthy client is answered, whatever the stranger has done."""
    async with strangers(broker.port, FRIEND) as (friend,):
        assert (await send(friend, "Healthy")).code == 0


# -- 2: records inside of records -------------------------------------------------------------------------------------


async def test_hole_2_a_record_inside_a_body_is_no_record(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        await send(stranger, "Mine")
        inside = broker.store.log.max_offset + BODY_AT
        for topic in (names.TRANSACTION_HALF_TOPIC, "Victim"):
            forged = Record(
                topic=topic, body=b"forged", commit_offset=inside, born_timestamp=START_MS, store_timestamp=START_MS,
                properties=encode_properties({"REAL_TOPIC": "Victim", "REAL_QID": "0", "PGROUP": "PG"}).encode(),
            )  # fmt: skip
            assert (await send(stranger, "Mine", encode_record(forged))).code == 0
            end = {
                "producerGroup": "PG", "tranStateTableOffset": 0, "commitLogOffset": inside, "commitOrRollback": 8,
                "fromTransactionCheck": "false", "msgId": "x", "transactionId": "x",
            }  # fmt: skip
            assert (await stranger(RequestCode.END_TRANSACTION, **end)).code != 0
            assert (await stranger(RequestCode.VIEW_MESSAGE_BY_ID, offset=inside)).code != 0
            back = {"offset": inside, "group": "G", "delayLevel": 1, "originMsgId": "x", "originTopic": "Victim"}
            assert (await stranger(RequestCode.CONSUMER_SEND_MSG_BACK, **back)).code != 0
            inside = broker.store.log.max_offset + BODY_AT
        assert "Victim" not in broker.topics.configs
        assert broker.store.max_offset("Victim", 0) == 0


# -- 3: replies are sends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "topic",
    [names.SCHEDULE_TOPIC, names.TRANSACTION_OP_TOPIC, names.TIMER_TOPIC, "rmq_sys_REVIVE_LOG_DefaultCluster"],
)
async def test_hole_3_no_door_leads_into_a_system_topic(tmp_path: Path, topic: str) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        await stranger(RequestCode.HEART_BEAT, heartbeat("asker", producers=("PG",)))
        before = broker.store.log.max_offset
        fields = send_fields(topic, REPLY_TO_CLIENT="asker", REAL_TOPIC="Victim", REAL_QID="0", DELAY="1")
        codes = (
            RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2,
        )  # fmt: skip
        for code in codes:
            assert (await stranger(code, b"1,2,3,", **fields)).code == ResponseCode.NO_PERMISSION, code
        assert broker.store.log.max_offset == before


async def test_hole_3_a_reply_is_refused_as_a_send_is(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        await stranger(RequestCode.HEART_BEAT, heartbeat("asker", producers=("PG",)))
        before = broker.store.log.max_offset
        code = RequestCode.SEND_REPLY_MESSAGE_V2
        to_asker = {"REPLY_TO_CLIENT": "asker"}
        assert (await stranger(code, b"", **send_fields("T", **to_asker))).code == ResponseCode.MESSAGE_ILLEGAL
        half = send_fields("T", 4, **to_asker)
        assert (await stranger(code, b"x", **half)).code == ResponseCode.MESSAGE_ILLEGAL
        bad_name = send_fields("../T", **to_asker)
        assert (await stranger(code, b"x", **bad_name)).code == ResponseCode.INVALID_PARAMETER
        gone = send_fields("T", REPLY_TO_CLIENT="gone")
        assert (await stranger(code, b"x", **gone)).code == ResponseCode.SYSTEM_ERROR
        assert broker.store.log.max_offset == before, "what is refused is not stored"
        assert "T" not in broker.topics.configs


# -- 4, 8: groups and topics ------------------------------------------------------------------------------------------


async def test_hole_4_a_heartbeat_of_20_000_groups(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        topics, groups = len(broker.topics.configs), len(broker.groups.configs)
        many = heartbeat(consumers=[f"G{number}" for number in range(20_000)])
        answer = await stranger(RequestCode.HEART_BEAT, many)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        subscriptions = tuple(SubscriptionData(topic=f"T{number}") for number in range(2_001))
        data = HeartbeatData(
            client_id="c", consumer_data_set=(ConsumerData(group_name="G", subscription_data_set=subscriptions),)
        )
        assert (await stranger(RequestCode.HEART_BEAT, codec.encode(data))).code == ResponseCode.SYSTEM_ERROR
        assert (len(broker.topics.configs), len(broker.groups.configs)) == (topics, groups)
        await asked(broker, stranger)


async def test_hole_4_many_heartbeats_make_few_groups(tmp_path: Path) -> None:
    """200 a heartbeat is allowed; ten seconds' worth of twenty is all that an address makes at once."""
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        before = len(broker.groups.configs)
        for number in range(10):
            await stranger(RequestCode.HEART_BEAT, heartbeat(consumers=[f"G{number}-{each}" for each in range(200)]))
        for number in range(100):
            await stranger(RequestCode.PULL_MESSAGE, **pull_fields(f"P{number}", sysFlag=SUBSCRIPTION))
        made = len(broker.groups.configs) - before
        assert 0 < made < 1000, made  # a slow machine earns some more meanwhile
        retry = [topic for topic in broker.topics.configs if names.is_retry_topic(topic)]
        assert len(retry) <= made
        assert broker.creations.refused >= 1000
        await asked(broker, stranger)


async def test_hole_8_sends_make_few_topics(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        before = len(broker.topics.configs)
        numbers = [
            stranger.tell(RequestCode.SEND_MESSAGE_V2, send_fields(f"{kind}{number}"), b"x")
            for number in range(1000)
            for kind in ("T", "%RETRY%T")
        ]
        codes = [(await stranger.answer(number)).code for number in numbers]
        refused = {ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST}
        assert 0 in codes
        assert ResponseCode.TOPIC_NOT_EXIST in codes
        assert set(codes) <= {0, *refused}
        assert 0 < len(broker.topics.configs) - before < 1500
        await asked(broker, stranger)


async def test_hole_8_so_many_topics_in_all(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxAutoCreatedTopics="30", maxAutoCreatedGroups="10") as broker:
        async with strangers(broker.port, STRANGER, FRIEND) as (stranger, friend):
            codes = {(await send(stranger, f"T{number}")).code for number in range(30)}
            assert codes == {0, ResponseCode.TOPIC_NOT_EXIST}
            assert sum(not topic.startswith("%") for topic in broker.topics.configs) == 30
            group_codes = {
                (await stranger(RequestCode.PULL_MESSAGE, **pull_fields(f"G{number}", "T0", sysFlag=SUBSCRIPTION))).code
                for number in range(10)
            }
            assert ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST in group_codes
            assert len(broker.groups.configs) == 10
            assert (await send(friend, "Mine")).code == 0, "an administrator is not held to it"


# -- 5: requests that wait --------------------------------------------------------------------------------------------


async def test_hole_5_parked_pulls_keep_no_body_and_go_with_their_connection(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxParkedRequestsPerConnection="20") as broker:
        async with strangers(broker.port, STRANGER, STRANGER) as (stranger, witness):
            await send(witness, "T")
            fields = pull_fields(queueOffset=1, suspendTimeoutMillis=1 << 40)
            numbers = [stranger.tell(RequestCode.PULL_MESSAGE, fields, bytes(1 << 20)) for _ in range(30)]
            pop = {
                "consumerGroup": "G", "topic": "Empty", "queueId": -1, "maxMsgNums": 1, "invisibleTime": 60_000,
                "pollTime": 1 << 40, "bornTime": START_MS, "initMode": 0,
            }  # fmt: skip
            await send(witness, "Empty")
            refused = [(await stranger.answer(number)).code for number in numbers[20:]]
            assert set(refused) == {ResponseCode.SYSTEM_BUSY}
            parked = [each for _, _, each in broker.pulls.long_polls._deadlines]
            assert len(parked) == 20
            assert all(each.request.body == b"" for each in parked)
            now = parked[0].connection._loop.time()
            assert max(each.deadline for each in parked) - now <= 60
            full = await stranger(RequestCode.POP_MESSAGE, **{**pop, "queueId": 3})
            assert full.code == ResponseCode.POLLING_FULL
            stranger.close()
            await until(lambda: not len(broker.pulls.long_polls))
            await until(lambda: not broker.pulls.long_polls.waiting.count)


# -- 7: offsets -------------------------------------------------------------------------------------------------------


async def test_hole_7_no_group_skips_what_is_not_there_yet(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        await send(stranger, "T")
        await stranger(RequestCode.HEART_BEAT, heartbeat(consumers=["G"]))
        for queue_id, offset in [*((number, 0) for number in range(8, 28)), (0, 1 << 60), (0, 2), (0, -1), (-1, 0)]:
            commit = {"consumerGroup": "G", "topic": "T", "queueId": queue_id, "commitOffset": offset}
            assert (await stranger(RequestCode.UPDATE_CONSUMER_OFFSET, **commit)).code == ResponseCode.SYSTEM_ERROR
        flags = COMMIT | SUBSCRIPTION
        for offset in (1 << 60, 2):
            await stranger(RequestCode.PULL_MESSAGE, **pull_fields(sysFlag=flags, commitOffset=offset))
        assert broker.offsets.queues("G", "T") == {}
        good = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 1}
        assert (await stranger(RequestCode.UPDATE_CONSUMER_OFFSET, **good)).code == 0


# -- 10: locks --------------------------------------------------------------------------------------------------------


async def test_hole_10_locks_are_checked_bounded_and_forgotten(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxLocksPerGroup="50") as broker:
        async with strangers(broker.port, STRANGER) as (stranger,):

            async def lock(group: str, client: str, queues: Any) -> Command:
                body = LockBatchRequestBody(consumer_group=group, client_id=client, mq_set=frozenset(queues))
                return await stranger(RequestCode.LOCK_BATCH_MQ, codec.encode(body))

            queues = [MessageQueue("T", "broker-a", number) for number in range(100)]
            granted = codec.decode(LockBatchResponseBody, (await lock("G", "c", queues)).body).lock_okmqset
            assert len(granted) == len(broker.locks) == 50
            for group, client, queue in (
                ("../G", "c", queues[0]),
                ("G", "c" * 256, queues[0]),
                ("G", "c", MessageQueue("../../T", "broker-a", 0)),
                ("G", "c", MessageQueue("T", "b" * 300, 0)),
                ("G", "c", MessageQueue("T", "broker-a", 1 << 30)),
            ):
                assert (await lock(group, client, [queue])).code == ResponseCode.INVALID_PARAMETER
            broker.locks._clock = _Later(broker.clock)
            broker._jobs.expire_clients()
            assert len(broker.locks) == 0


class _Later:
    """A minute and a bit later."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        return int(self._clock.now_ms()) + 61_000

    def monotonic_ms(self) -> int:
        return int(self._clock.monotonic_ms()) + 61_000


# -- 11: clients ------------------------------------------------------------------------------------------------------


async def test_hole_11_clients_and_their_groups_are_bounded(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxGroupsPerConnection="300") as broker:
        async with strangers(broker.port, STRANGER) as (stranger,):
            long_id = await stranger(RequestCode.HEART_BEAT, heartbeat("c" * 256, producers=("P",)))
            assert long_id.code == ResponseCode.SYSTEM_ERROR
            await stranger(RequestCode.HEART_BEAT, heartbeat(producers=("../P", "p" * 256, "", "a b")))
            assert broker.producers.groups == {}
            for number in range(5):
                await stranger(
                    RequestCode.HEART_BEAT, heartbeat(f"c{number}", producers=[f"P{number}-{n}" for n in range(200)])
                )
            assert len(broker.producers.groups) == 300
            assert broker.producers.find("c0") is broker.producers.find("c1") is not None
            assert broker.producers.find("c4") is None
            stranger.close()
            await until(lambda: not broker.producers.groups)
            assert broker.producers._ids == {}


async def test_a_group_has_so_many_sql_filters(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxSqlFiltersPerGroup="5") as broker:
        async with strangers(broker.port, STRANGER) as (stranger,):
            wanted = tuple(
                SubscriptionData(topic=f"T{number}", sub_string="a > 1", sub_version=1, expression_type="SQL92")
                for number in range(10)
            )
            data = HeartbeatData(
                client_id="c", consumer_data_set=(ConsumerData(group_name="G", subscription_data_set=wanted),)
            )
            assert (await stranger(RequestCode.HEART_BEAT, codec.encode(data))).code == 0
            assert len(broker.consumers.groups["G"].subscriptions) == 5
            assert broker.refused()["SQL filters"] == 5


async def test_subscriptions_take_so_much_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "SUBSCRIPTION_BYTES", 2 << 20)  # one address has half of it

    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):

        async def subscribe(group: str, version: int, by: Stranger = stranger, **wanted: Any) -> int:
            data = SubscriptionData(topic="T", sub_version=version, **wanted)
            consumer = ConsumerData(group_name=group, subscription_data_set=(data,))
            body = codec.encode(HeartbeatData(client_id="c", consumer_data_set=(consumer,)))
            assert (await by(RequestCode.HEART_BEAT, body)).code == 0
            return len(broker.consumers.groups[group].subscriptions)

        many = frozenset(range(7000))
        assert await subscribe("G", 1, sub_string="*", code_set=many) == 1
        assert await subscribe("H", 1, sub_string="*", code_set=many) == 0
        assert await subscribe("I", 1, sub_string="x" * 60_000) == 1
        assert broker.refused()["subscriptions"] == 1
        async with strangers(broker.port, FRIEND) as (friend,):
            assert await subscribe("F", 1, sub_string="*", code_set=many, by=friend) == 1
        assert await subscribe("G", 2, sub_string="*") == 1  # what it had makes room
        assert await subscribe("H", 2, sub_string="*", code_set=many) == 1
        stranger.close()
        await until(lambda: not broker.consumers.groups)
        async with strangers(broker.port, FRIEND) as (friend,):
            assert await subscribe("J", 1, sub_string="*", code_set=many, by=friend) == 1


async def test_all_connections_together_are_in_so_many_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "MAX_MEMBERSHIPS", 100)
    async with broker_among_strangers(tmp_path) as broker:
        many = heartbeat(producers=[f"P{number}" for number in range(90)])
        async with strangers(broker.port, STRANGER, STRANGER, FRIEND) as (one, same, friend):
            await one(RequestCode.HEART_BEAT, many)
            await same(RequestCode.HEART_BEAT, many)
            assert sum(map(len, broker.producers.groups.values())) == 50  # an address leaves half to others
            await friend(RequestCode.HEART_BEAT, many)
            assert sum(map(len, broker.producers.groups.values())) == 100
            one.close()
            await until(lambda: sum(map(len, broker.producers.groups.values())) == 50)
            await same(RequestCode.HEART_BEAT, many)
            assert sum(map(len, broker.producers.groups.values())) == 100
