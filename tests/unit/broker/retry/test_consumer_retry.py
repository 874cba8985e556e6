from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.retry.consumer_retry import delay_of
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies.group import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import GroupRetryPolicyType
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.record import Record


async def send_back(caller: Caller, offset: int, *, level: int = 0, **more: object) -> Command:
    header: dict[str, Any] = {"offset": offset, "group": "G", "delayLevel": level, "originTopic": "T"}
    return await caller(RequestCode.CONSUMER_SEND_MSG_BACK, **{**header, **more})


def last(broker: Broker, topic: str, queue_id: int) -> Record:
    entry = broker.store.reader.entry(topic, queue_id, broker.store.max_offset(topic, queue_id) - 1)
    assert entry is not None
    record = broker.store.reader.record_at(entry.commit_offset)
    assert record is not None
    return record


async def test_each_try_waits_longer_and_the_last_is_a_dead_letter(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    answer = await caller.send(TAGS="A")
    first_id = fields(answer)["msgId"]
    await broker.groups.put(SubscriptionGroupConfig(group_name="G", retry_max_times=2))
    offset = int(first_id[16:], 16)
    for tries in (1, 2):
        assert (await send_back(caller, offset)).code == ResponseCode.SUCCESS
        resting = last(broker, SCHEDULE_TOPIC, 1 + tries)
        assert resting.reconsume_times == tries
        clock.now += 60_000
        broker.kinds.schedule.deliver_due()
        back = last(broker, "%RETRY%G", 0)
        properties = decode_properties(back.properties)
        assert (back.reconsume_times, properties["RETRY_TOPIC"], properties["TAGS"]) == (tries, "T", "A")
        assert properties["ORIGIN_MESSAGE_ID"] == first_id
        offset = back.commit_offset
    await send_back(caller, offset)
    dead = last(broker, "%DLQ%G", 0)
    assert (dead.reconsume_times, dead.body) == (3, b"body")
    assert broker.store.max_offset("%RETRY%G", 0) == 2
    assert broker.stats.topic(SCHEDULE_TOPIC).count == 2, "two of the tries waited"


async def test_a_level_below_zero_is_a_dead_letter_at_once(broker: Broker, caller: Caller) -> None:
    offset = int(fields(await caller.send())["msgId"][16:], 16)
    await send_back(caller, offset, level=-1)
    assert broker.store.max_offset("%DLQ%G", 0) == 1


async def timed(broker: Broker, caller: Caller, clock: FakeClock) -> Record:
    """A message that has waited five seconds and came."""
    await caller.send(TIMER_DELAY_SEC="5")
    clock.now += 5000
    broker.kinds.timer.alarm.ring()
    return last(broker, "T", 0)


async def test_a_dead_letter_that_has_waited_waits_no_more(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    came = await timed(broker, caller, clock)
    await send_back(caller, came.commit_offset, level=-1)
    assert decode_properties(last(broker, "%DLQ%G", 0).properties)["TIMER_DELAY_SEC"] == "5", "kept as it was"
    assert broker.store.max_offset(TIMER_TOPIC, 0) == 1


async def test_the_next_try_of_what_has_waited_waits_as_the_group_says(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    own = GroupRetryPolicy(
        type=GroupRetryPolicyType.CUSTOMIZED, customized_retry_policy=CustomizedRetryPolicy(next=(60_000,))
    )
    await broker.groups.put(SubscriptionGroupConfig(group_name="G", group_retry_policy=own))
    came = await timed(broker, caller, clock)
    await send_back(caller, came.commit_offset)
    properties = decode_properties(last(broker, TIMER_TOPIC, 0).properties)
    assert "TIMER_DELAY_SEC" not in properties
    assert clock.now + 59_000 <= int(properties["TIMER_OUT_MS"]) < clock.now + 60_000


async def test_the_consumer_may_set_level_and_limit(broker: Broker, caller: Caller) -> None:
    offset = int(fields(await caller.send())["msgId"][16:], 16)
    await send_back(caller, offset, level=5)
    assert broker.store.max_offset(SCHEDULE_TOPIC, 4) == 1
    await send_back(caller, offset, maxReconsumeTimes=0)
    assert broker.store.max_offset("%DLQ%G", 0) == 1


async def test_what_is_not_there_cannot_be_sent_back(broker: Broker, caller: Caller) -> None:
    assert (await send_back(caller, 123)).code == ResponseCode.SYSTEM_ERROR


async def test_an_unknown_group_sends_nothing_back(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(autoCreateSubscriptionGroup="false"))
    offset = int(fields(await caller.send())["msgId"][16:], 16)
    assert (await send_back(caller, offset)).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


async def test_under_sync_flush_the_answer_waits_for_the_disk(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller = Caller(broker)
    offset = int(fields(await caller.send())["msgId"][16:], 16)
    assert (await send_back(caller, offset)).code == ResponseCode.SUCCESS
    assert broker.store.flushed_offset == broker.store.log.max_offset


@pytest.mark.parametrize(("tries", "topic"), [(16, "%RETRY%G"), (17, "%DLQ%G")])
async def test_a_message_sent_to_the_retry_topic_has_the_same_limit(
    broker: Broker, caller: Caller, tries: int, topic: str
) -> None:
    for _ in range(2):  # a topic that is known goes no straighter way
        answer = await caller(
            RequestCode.SEND_MESSAGE_V2, b"body", a="PG", b="%RETRY%G", c="TBW102", d=1, e=0, f=0, g=1, h=0,
            i="UNIQ_KEY\x01ABC\x02", j=tries, k=False, m=False,
        )  # fmt: skip
        assert answer.code == ResponseCode.SUCCESS
    assert broker.store.max_offset(topic, 0) == 2


async def test_what_an_orderly_group_sends_to_its_retry_topic_is_a_dead_letter(broker: Broker, caller: Caller) -> None:
    broker.locks.lock("G", "c1", MessageQueue(topic="T", broker_name="broker-a", queue_id=0))
    assert (await caller.send("%RETRY%G")).code == ResponseCode.SUCCESS
    assert broker.store.max_offset("%DLQ%G", 0) == 1


def test_delays_by_policy() -> None:
    growing = GroupRetryPolicy(
        type=GroupRetryPolicyType.EXPONENTIAL,
        exponential_retry_policy=ExponentialRetryPolicy(initial=100, multiplier=3, max=1000),
    )
    assert [delay_of(growing, tries, 0) for tries in range(4)] == [
        {"TIMER_DELAY_MS": "100"}, {"TIMER_DELAY_MS": "300"}, {"TIMER_DELAY_MS": "900"}, {"TIMER_DELAY_MS": "1000"},
    ]  # fmt: skip
    own = GroupRetryPolicy(customized_retry_policy=CustomizedRetryPolicy(next=(1, 2, 3, 4)))
    assert [delay_of(own, tries, 0)["TIMER_DELAY_MS"] for tries in range(3)] == ["3", "4", "4"]
    assert delay_of(own, 0, 7) == {"DELAY": "7"}
    assert delay_of(GroupRetryPolicy(), 4, 0) == {"DELAY": "7"}
