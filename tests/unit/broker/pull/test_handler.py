from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.loop_clock import LoopClock
from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, fields, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.pull.long_polling import _FEW_ENDED
from sprocketmq.broker.tables.subscriptions import PropertyRule
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConnectionLost
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.permissions import PERM_READ
from sprocketmq.protocol.record.properties import decode_properties

SUSPEND, SUBSCRIPTION = 2, 4


@pytest.mark.parametrize("serialize_type", [0, 1])
async def test_a_pull_brings_the_messages_and_where_to_go_on(caller: Caller, serialize_type: int) -> None:
    for number in range(5):
        await caller.send(body=b"%d" % number)
    for _way in range(2):  # the second finds the admission of the first
        answer = await caller.pull(offset=1, count=3, serialize_type=serialize_type)
        assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
        assert bodies(answer) == [b"1", b"2", b"3"]
        assert fields(answer) == {
            "nextBeginOffset": "4", "minOffset": "0", "maxOffset": "5", "suggestWhichBrokerId": "0",
            "topicSysFlag": "0", "groupSysFlag": "0",
        }  # fmt: skip


@pytest.mark.parametrize("serialize_type", [0, 1])
async def test_a_bulk_read_gets_more_at_once_than_a_consumer(caller: Caller, serialize_type: int) -> None:
    for number in range(40):
        await caller.send(body=b"%d" % number)
    for _way in range(2):
        assert len(bodies(await caller.pull(count=100, serialize_type=serialize_type))) == 32
        assert len(bodies(await caller.pull(count=100, serialize_type=serialize_type, bulk=1))) == 40
        assert len(bodies(await caller.pull(count=35, serialize_type=serialize_type, bulk=1))) == 35


async def test_messages_between_those_of_other_queues_are_gathered(caller: Caller) -> None:
    for number in range(12):
        await caller.send(body=b"%d" % number, queue_id=number % 3 // 2)
    for _way in range(2):
        assert bodies(await caller.pull(queue_id=0)) == [b"%d" % number for number in range(12) if number % 3 < 2]
        assert bodies(await caller.pull(queue_id=1)) == [b"2", b"5", b"8", b"11"]


async def test_what_is_pulled_is_counted(broker: Broker, caller: Caller) -> None:
    for _ in range(3):
        await caller.send()
    for way in range(1, 4):
        await caller.pull(count=2)
        counter = broker.stats.gets["T@G"]
        assert (counter.count, broker.stats.found, broker.offsets.pulled["T@G"]) == (2 * way, way, {0: 2})
        assert counter.size * 3 == broker.store.log.max_offset * 2 * way


@pytest.mark.parametrize(
    ("offset", "code", "next_offset"),
    [(0, 0, 2), (2, ResponseCode.PULL_NOT_FOUND, 2), (3, ResponseCode.PULL_OFFSET_MOVED, 2)],
)
async def test_every_offset_has_its_code_and_next_offset(
    caller: Caller, offset: int, code: int, next_offset: int
) -> None:
    for _ in range(2):
        await caller.send()
    answer = await caller.pull(offset=offset)
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (code, str(next_offset))


async def test_an_empty_queue_is_not_found_at_0_and_moved_elsewhere(caller: Caller) -> None:
    await caller.send(queue_id=1)
    at_zero, beyond = await caller.pull(offset=0), await caller.pull(offset=7)
    assert (at_zero.code, fields(at_zero)["nextBeginOffset"]) == (ResponseCode.PULL_NOT_FOUND, "0")
    assert (beyond.code, fields(beyond)["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")


async def test_tags_that_do_not_match_are_passed_over(caller: Caller) -> None:
    for tag in "ABAB":
        await caller.send(body=tag.encode(), TAGS=tag)
    assert bodies(await caller.pull(expression="A || C")) == [b"A", b"A"]
    nothing = await caller.pull(expression="none")
    assert (nothing.code, fields(nothing)["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "4")


async def test_sql92_is_served_and_can_be_switched_off(start_broker: StartBroker, caller: Caller) -> None:
    for age in ("3", "30", "x"):
        await caller.send(body=age.encode(), age=age)
    answer = await caller.pull(expression="age > 10 AND age IS NOT NULL", expression_type="SQL92")
    assert bodies(answer) == [b"30"]
    wrong = await caller.pull(expression="age >", expression_type="SQL92")
    assert wrong.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_an_expression_that_is_too_long_is_refused(caller: Caller) -> None:
    await caller.send(TAGS="A")
    assert bodies(await caller.pull(expression="A||" + "x" * 60_000)) == [b"body"]
    for kind in ("TAG", "SQL92"):
        answer = await caller.pull(expression="A||" + "x" * 70_000, expression_type=kind)
        assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_bits_spare_a_look_at_what_no_group_wants(
    start_broker: StartBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(enableConsumeQueueExt="true", enableCalcFilterBitMap="true")
    caller = Caller(broker)
    await caller.heartbeat("H", "c2", wants(text="a = 3", kind="SQL92"))
    clock.now += 1000
    await caller.send(body=b"before the subscription", a="1")
    clock.now -= 500  # store times do not go back, and nothing is skipped for that
    await caller.heartbeat("G", "c1", wants(text="a = 1", kind="SQL92"))
    clock.now += 1000
    for value in "2212":
        await caller.send(body=value.encode(), a=value)
    looked: list[bytes] = []
    look = PropertyRule.matches_properties

    def noted(rule: PropertyRule, text: bytes) -> bool:
        looked.append(text)
        return look(rule, text)

    monkeypatch.setattr(PropertyRule, "matches_properties", noted)
    answer = await caller.pull(sys_flag=0, sub_version=1)
    assert bodies(answer) == [b"before the subscription", b"1"]
    assert fields(answer)["nextBeginOffset"] == "5"
    assert [decode_properties(text)["a"] for text in looked] == ["1", "1"]
    await caller.client.close(grace=0.1)


async def test_without_property_filters_sql92_is_refused(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(enablePropertyFilter="false"))
    await caller.send()
    assert (await caller.pull(expression="a = 1", expression_type="SQL92")).code == ResponseCode.SYSTEM_ERROR
    await caller.client.close(grace=0.1)


async def test_a_pull_may_commit(broker: Broker, caller: Caller) -> None:
    await caller.send()
    for committed in (1, 0):
        await caller.pull(sys_flag=5, commit=committed)
        assert broker.offsets.query("G", "T", 0) == committed


async def test_what_may_not_be_pulled_is_refused_with_its_code(broker: Broker, caller: Caller) -> None:
    assert (await caller.pull("unknown")).code == ResponseCode.TOPIC_NOT_EXIST
    await caller.send()
    assert (await caller.pull()).code == ResponseCode.SUCCESS  # the next would find its admission
    assert (await caller.pull(queue_id=4)).code == ResponseCode.INVALID_PARAMETER
    config = broker.topics.configs["T"]
    await broker.topics.put(replace(config, perm=2))
    refused = await caller.pull()
    assert (refused.code, fields(refused)["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "3")
    await broker.topics.put(config)
    assert (await caller.pull()).code == ResponseCode.SUCCESS
    await broker.groups.forbid("G", "T", PERM_READ, forbidden=True)
    refused = await caller.pull()
    assert (refused.code, fields(refused)["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "5")
    await broker.groups.forbid("G", "T", PERM_READ, forbidden=False)
    assert (await caller.pull()).code == ResponseCode.SUCCESS
    await broker.settings.update({"brokerPermission": "2"}, 0)
    refused = await caller.pull()
    assert (refused.code, fields(refused)["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "1")
    await broker.settings.update({"brokerPermission": "6"}, 0)
    assert (await caller.pull()).code == ResponseCode.SUCCESS
    await broker.groups.put(replace(broker.groups.configs["G"], consume_enable=False))
    refused = await caller.pull()
    assert (refused.code, fields(refused)["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "2")


async def test_an_unknown_group_is_refused_where_groups_are_not_created(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(autoCreateSubscriptionGroup="false"))
    await caller.send()
    assert (await caller.pull()).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await caller.client.close(grace=0.1)


async def test_without_a_text_the_heartbeat_subscription_counts(caller: Caller) -> None:
    await caller.send(body=b"a", TAGS="A")
    await caller.send(body=b"b", TAGS="B")
    assert (await caller.pull(sys_flag=0)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST  # nobody of the group is here
    await caller.heartbeat("G", "c1", wants("T", "B", version=5))
    for _way in range(2):
        assert bodies(await caller.pull(sys_flag=0, sub_version=5)) == [b"b"]
        assert (await caller.pull(sys_flag=0, sub_version=6)).code == ResponseCode.SUBSCRIPTION_NOT_LATEST
        assert bodies(await caller.pull(expression="A")) == [b"a"]
    await caller.heartbeat("G", "c1", wants("T", "A || B", version=7))
    assert bodies(await caller.pull(sys_flag=0, sub_version=7)) == [b"a", b"b"]
    await caller(RequestCode.UNREGISTER_CLIENT, clientID="c1", consumerGroup="G")
    assert (await caller.pull(sys_flag=0, sub_version=7)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    await caller.heartbeat("G", "c1", wants("T", "B", version=8))
    await caller.send("U")
    assert (await caller.pull("U", sys_flag=0)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST


async def test_lite_pulls_can_be_switched_off(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(litePullMessageEnable="false"))
    await caller.send()
    answer = await caller(
        RequestCode.LITE_PULL_MESSAGE, consumerGroup="G", topic="T", queueId=0, queueOffset=0, maxMsgNums=1, sysFlag=4,
        commitOffset=0, suspendTimeoutMillis=0, subscription="*", subVersion=0,
    )  # fmt: skip
    assert answer.code == ResponseCode.NO_PERMISSION
    await caller.client.close(grace=0.1)


async def test_a_pending_reset_moves_the_next_pull_once(broker: Broker, caller: Caller) -> None:
    for _ in range(4):
        await caller.send()
    assert len(bodies(await caller.pull())) == 4  # opens an admission
    broker.offsets.commit("G", "T", 0, 4)
    broker.offsets.reset("G", "T", 0, 1)
    broker.offsets.commit("G", "T", 0, 4)  # from a consumer that does not know yet
    answer = await caller.pull(offset=4)
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "1")
    assert len(bodies(await caller.pull(offset=1))) == 3


# -- waiting


async def parked(broker: Broker, pull: asyncio.Task[Command]) -> None:
    """Return once the pull is parked."""
    while not len(broker.pulls.long_polls):
        assert not pull.done()
        await asyncio.sleep(0)


async def test_a_parked_pull_with_tags_is_woken_where_queues_are_extended(start_broker: StartBroker) -> None:
    broker = await start_broker(enableConsumeQueueExt="true", enableCalcFilterBitMap="true")
    producer, consumer = Caller(broker), Caller(broker)
    await producer.send(TAGS="A")
    pull = asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, expression="A"))
    await parked(broker, pull)
    for tag in "BA":
        await producer.send(body=tag.encode(), TAGS=tag)
    assert bodies(await pull) == [b"A"]
    for caller in (producer, consumer):
        await caller.client.close(grace=0.1)


async def test_a_parked_pull_is_woken_by_a_message(broker: Broker, connect: Connect) -> None:
    consumer, producer = connect(), connect()
    await producer.send(body=b"old")
    pull = asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION))
    await parked(broker, pull)
    await producer.send(body=b"new", queue_id=1)
    assert not pull.done()
    await producer.send(body=b"new")
    assert bodies(await pull) == [b"new"]
    assert len(broker.pulls.long_polls) == 0


@pytest.mark.parametrize(("kind", "text"), [("TAG", "B"), ("SQL92", "TAGS = 'B'")])
async def test_a_message_that_does_not_match_wakes_nobody(
    broker: Broker, connect: Connect, kind: str, text: str
) -> None:
    consumer, producer = connect(), connect()
    await producer.send(body=b"0", TAGS="A")
    pull = asyncio.ensure_future(
        consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, expression=text, expression_type=kind)
    )
    await parked(broker, pull)
    for _ in range(3):
        await producer.send(body=b"no", TAGS="A")
    assert not pull.done()
    assert len(broker.pulls.long_polls) == 1
    await producer.send(body=b"yes", TAGS="B")
    assert bodies(await pull) == [b"yes"]


async def test_a_pull_waits_no_longer_than_it_asked_to(broker: Broker, connect: Connect, loop_clock: LoopClock) -> None:
    consumer, producer = connect(), connect()
    await producer.send(TAGS="A")
    pull = asyncio.ensure_future(
        consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, expression="B", suspend_ms=30_000)
    )
    await parked(broker, pull)
    await producer.send(TAGS="A")
    loop_clock.advance(29)
    await producer.send(TAGS="A")
    assert not pull.done()
    loop_clock.advance(2)
    answer = await pull
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (ResponseCode.PULL_NOT_FOUND, "3")
    assert len(broker.pulls.long_polls) == 0


async def test_a_pull_on_a_queue_without_messages_waits_too(broker: Broker, connect: Connect) -> None:
    consumer, producer = connect(), connect()
    await producer.send(queue_id=1)
    pull = asyncio.ensure_future(consumer.pull(offset=0, sys_flag=SUSPEND | SUBSCRIPTION))
    await parked(broker, pull)
    await producer.send(body=b"first")
    assert bodies(await pull) == [b"first"]


async def test_a_stopping_broker_answers_who_waits(broker: Broker, connect: Connect) -> None:
    consumer = connect()
    await consumer.send()
    pull = asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=60_000))
    await parked(broker, pull)
    await broker.stop()
    assert (await pull).code == ResponseCode.PULL_NOT_FOUND


async def test_no_pull_waits_longer_than_the_broker_allows(start_broker: StartBroker) -> None:
    broker = await start_broker(maxLongPollingTimeMills="50")
    caller = Caller(broker)
    await caller.send()
    answer = await caller.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=2**63 - 1)
    assert answer.code == ResponseCode.PULL_NOT_FOUND
    await caller.client.close(grace=0.1)


@pytest.mark.parametrize(("asked_ms", "seconds"), [(-1, 0), (0, 0), (30_000, 30), (2**63 - 1, 60)])
def test_ordinary_consumers_wait_as_long_as_they_ask(asked_ms: int, seconds: int) -> None:
    assert BrokerConfig().polling_seconds(asked_ms) == seconds


async def test_a_parked_pull_is_answered_though_its_end_fails(
    broker: Broker, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect().send()
    pull = asyncio.ensure_future(connect().pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION))
    await parked(broker, pull)

    def fail(_admission: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(broker.pulls.long_polls, "_drop_filter", fail)
        await connect().send(body=b"second")
        assert bodies(await pull) == [b"second"]


async def test_a_parked_pull_keeps_nothing_of_its_request(broker: Broker, caller: Caller) -> None:
    await caller.send()
    asked = {
        "consumerGroup": "G", "topic": "T", "queueId": 0, "queueOffset": 1, "maxMsgNums": 32, "commitOffset": 0,
        "sysFlag": SUSPEND | SUBSCRIPTION, "suspendTimeoutMillis": 30_000, "subscription": "A || B", "subVersion": 0,
        "expressionType": "TAG", "note": "x" * 10_000, "proxyFrowardClientId": "y" * 10_000,
    }  # fmt: skip
    await caller.pull(offset=1, expression="A || B")  # both share one admission
    pull = asyncio.ensure_future(caller.call(RequestCode.PULL_MESSAGE, asked, b"y" * 100_000))
    await parked(broker, pull)
    (waiting,) = (each for pulls in broker.pulls.long_polls._queues.values() for each in pulls)
    assert (waiting.request.body, waiting.request.ext_fields) == (b"", None)
    assert waiting.pull.proxy_froward_client_id is None
    assert waiting.pull.subscription is waiting.admission.subscription
    await caller.send(body=b"new", TAGS="A")
    assert bodies(await pull) == [b"new"]


async def test_what_waits_ends_with_its_connection(start_broker: StartBroker) -> None:
    """And not by itself: that it would only in an hour."""
    broker = await start_broker(maxLongPollingTimeMills="3600000")
    polls, producer, consumers = broker.pulls.long_polls, Caller(broker), [Caller(broker) for _ in range(5)]
    await producer.send()
    pulls = [
        asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=2**62))
        for consumer in consumers
        for _ in range(50)
    ]
    while len(polls) < len(pulls):  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)
    for consumer in consumers:
        await consumer.client.close(grace=0)
    assert all(isinstance(lost, ConnectionLost) for lost in await asyncio.gather(*pulls, return_exceptions=True))
    async with asyncio.timeout(60):
        while len(polls):  # noqa: ASYNC110 - nor of this
            await asyncio.sleep(0)
    assert len(polls._deadlines) <= _FEW_ENDED
    await producer.client.close(grace=0.1)


async def test_a_pull_that_was_answered_soon_frees_its_deadline(broker: Broker, connect: Connect) -> None:
    consumer, producer, polls = connect(), connect(), broker.pulls.long_polls
    await producer.send()
    for offset in range(1, 2 * _FEW_ENDED + 10):
        pull = asyncio.ensure_future(consumer.pull(offset=offset, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=30_000))
        await parked(broker, pull)
        await producer.send()
        await pull
    assert len(polls._deadlines) <= _FEW_ENDED + 1


async def test_a_consumer_that_left_is_not_served(broker: Broker, connect: Connect) -> None:
    consumer, producer = connect(), connect()
    await producer.send()
    pull = asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION))
    await parked(broker, pull)
    await consumer.client.close(grace=0.1)
    with pytest.raises(ConnectionLost):
        await pull
    await producer.send()
    assert len(broker.pulls.long_polls) == 0


async def test_what_a_parked_pull_may_read_is_asked_again_when_it_has_changed(broker: Broker, connect: Connect) -> None:
    consumer, producer = connect(), connect()
    await producer.send()
    pull = asyncio.ensure_future(consumer.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION))
    await parked(broker, pull)
    await broker.groups.forbid("G", "T", PERM_READ, forbidden=True)
    await producer.send(body=b"not for G")
    refused = await pull
    assert (refused.code, fields(refused)["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "5")


async def test_one_message_for_many_pulls_does_not_pile_up_before_one_that_does_not_read(
    broker: Broker, connect: Connect
) -> None:
    producer, host_port = connect(), broker.address.rsplit(":", 1)
    await producer.send()
    reader, writer = await asyncio.open_connection(host_port[0], int(host_port[1]), limit=1024)
    asked = {
        "consumerGroup": "G", "topic": "T", "queueId": "0", "queueOffset": "1", "maxMsgNums": "32", "commitOffset": "0",
        "sysFlag": str(SUSPEND | SUBSCRIPTION), "suspendTimeoutMillis": "60000", "subscription": "*", "subVersion": "0",
    }  # fmt: skip
    count, size = 100, 300_000
    for number in range(count):
        writer.write(encode_frame(Command(RequestCode.PULL_MESSAGE, opaque=number, ext_fields=asked)))
    while len(broker.pulls.long_polls) < count:  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)
    await producer.send(body=b"x" * size)
    connections = list(broker.server.connections)
    for _turn in range(1000):
        await asyncio.sleep(0)
        assert max(connection.unread_bytes for connection in connections) < 10 * size
    assert broker.pulls.long_polls.waiting.count > count // 2  # they are not answered yet
    decoder, answers = FrameDecoder(), 0
    while answers < count:
        answers += len(decoder.feed(await reader.read(1 << 20)))
    assert broker.pulls.long_polls.waiting.count == 0
    writer.close()
    await writer.wait_closed()
