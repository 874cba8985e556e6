from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.broker.conftest import Connect, StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, fields, records

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConnectionLost
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.properties import decode_properties

INVISIBLE_MS = 10_000


async def pop(caller: Caller, **more: Any) -> Command:
    header = {
        "consumerGroup": "G", "topic": "T", "queueId": -1, "maxMsgNums": 32, "invisibleTime": INVISIBLE_MS,
        "pollTime": 0, "bornTime": 0, "initMode": 0, "expType": "TAG", "exp": "*", "order": False,
    }  # fmt: skip
    return await caller(RequestCode.POP_MESSAGE, **{**header, **more})


def infos(answer: Command) -> list[tuple[int, int, str]]:
    """(queue, offset, extra info) of every message in an answer."""
    found = fields(answer)
    starts = {tuple(part.split(" ")[:2]): part.split(" ")[2] for part in found["startOffsetInfo"].split(";")}
    return [
        (
            int(queue_id),
            int(offset),
            f"{starts[flag, queue_id]} {found['popTime']} {found['invisibleTime']} {found['reviveQid']} {flag} "
            f"broker-a {queue_id} {offset}",
        )
        for flag, queue_id, offsets in (part.split(" ") for part in found["msgOffsetInfo"].split(";"))
        for offset in offsets.split(",")
    ]


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not happened():  # noqa: ASYNC110 - the broker tells nobody of it
            await asyncio.sleep(0)


async def ack(caller: Caller, info: tuple[int, int, str], **more: Any) -> Command:
    queue_id, offset, extra = info
    header = {"consumerGroup": "G", "topic": "T", "queueId": queue_id, "offset": offset, "extraInfo": extra}
    return await caller(RequestCode.ACK_MESSAGE, **{**header, **more})


def pass_time(broker: Broker, clock: FakeClock, ms: int) -> None:
    """Second by second, as the clock goes."""
    end = clock.now + ms
    broker.kinds.timer.alarm.ring()
    while clock.now < end:
        clock.now = min(end, clock.now + 1000)
        broker.kinds.timer.alarm.ring()
        broker.kinds.revive.run()


async def test_what_is_popped_is_hidden_and_gone_when_acknowledged(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    for number in range(3):
        await caller.send(body=str(number).encode(), queue_id=number % 2)
    answer = await pop(caller)
    assert sorted(bodies(answer)) == [b"0", b"1", b"2"]
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT
    for info in infos(answer):
        assert (await ack(caller, info)).code == ResponseCode.SUCCESS
    pass_time(broker, clock, 20_000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT
    assert broker.offsets.queues("G", "T") == {0: 2, 1: 1}


async def test_what_is_not_acknowledged_comes_back(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    for number in range(3):
        await caller.send(body=str(number).encode(), TAGS="A")
    await ack(caller, infos(await pop(caller))[1])
    pass_time(broker, clock, INVISIBLE_MS + 1000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT
    pass_time(broker, clock, 3000)
    answer = await pop(caller)
    again = records(answer)
    assert [(record.topic, record.body, record.reconsume_times) for record in again] == [
        ("T", b"0", 1), ("T", b"2", 1),
    ]  # fmt: skip
    for record in again:
        queue_id, extra = record.queue_id, decode_properties(record.properties)["POP_CK"]
        assert (await ack(caller, (queue_id, record.queue_offset, extra))).code == ResponseCode.SUCCESS
    pass_time(broker, clock, 30_000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT


async def test_check_points_that_came_too_early_hold_up_no_other(
    start_broker: StartBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock was an hour ahead for a moment: there are more of them than are dealt with in a turn."""
    monkeypatch.setattr("sprocketmq.broker.pop.revive.TURN", 2)
    broker = await start_broker(reviveQueueNum="1")
    caller = Caller(broker)
    for number in range(4):
        await caller.send(body=str(number).encode())
    for _ in range(3):
        await pop(caller, maxMsgNums=1, invisibleTime=3_600_000)
    broker.kinds.timer.alarm.ring()
    for by_ms in (3_599_500, -3_599_500):
        clock.jump(by_ms)
        for _ in range(4):
            broker.kinds.timer.alarm.ring()
            broker.kinds.revive.run()
    assert [count for _, count, _ in broker.kinds.revive.behind()] == [3]
    await pop(caller, maxMsgNums=1)
    pass_time(broker, clock, INVISIBLE_MS + 4000)
    assert bodies(await pop(caller)) == [b"3"]
    pass_time(broker, clock, 3_604_000)
    assert sorted(bodies(await pop(caller))) == [b"0", b"1", b"2", b"3"]


async def test_records_are_counted_when_they_are_written_and_when_they_are_read(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    for _ in range(2):
        await caller.send()
    answer = await pop(caller)
    await ack(caller, infos(answer)[0])
    counts, queue = broker.stats.special, int(fields(answer)["reviveQid"])
    assert counts.revive_in == {("T", "G", "CK", "PUT_OK"): 1, ("T", "G", "ACK", "PUT_OK"): 1}
    assert not counts.revive_out, "their time has not come"
    pass_time(broker, clock, 30_000)
    assert counts.revive_out == {("T", "G", "CK", queue): 1, ("T", "G", "ACK", queue): 1}
    assert counts.revive_retries == {("T", "G", "PUT_OK"): 1}


async def test_the_last_message_comes_back_though_no_timer_waits_any_more(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    await caller.send()
    await pop(caller)
    pass_time(broker, clock, INVISIBLE_MS)
    clock.now += 4000  # and no timer rings, for none is set
    broker.kinds.revive.run()
    assert bodies(await pop(caller)) == [b"body"]


async def test_what_is_not_acknowledged_comes_back_after_a_restart(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    for number in range(2):
        await caller.send(body=str(number).encode())
    first, _ = infos(await pop(caller))
    await ack(caller, first)
    await broker.stop()
    again = await start_broker()
    pass_time(again, clock, INVISIBLE_MS + 4000)
    assert bodies(await pop(Caller(again))) == [b"1"]


async def test_the_invisible_time_may_be_changed(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    await caller.send()
    ((queue_id, offset, extra),) = infos(await pop(caller))
    changed = await caller(
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup="G", topic="T", queueId=queue_id, offset=offset,
        extraInfo=extra, invisibleTime=30_000,
    )  # fmt: skip
    assert fields(changed)["invisibleTime"] == "30000"
    pass_time(broker, clock, 25_000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT
    pass_time(broker, clock, 10_000)
    assert bodies(await pop(caller)) == [b"body"]


async def test_a_change_at_the_very_time_of_the_pop_is_not_taken_for_an_acknowledgement(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    await caller.send()
    ((queue_id, offset, extra),) = infos(await pop(caller))
    await caller(
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup="G", topic="T", queueId=queue_id, offset=offset,
        extraInfo=extra, invisibleTime=INVISIBLE_MS,
    )  # fmt: skip
    pass_time(broker, clock, INVISIBLE_MS + 4000)
    assert bodies(await pop(caller)) == [b"body"]


async def test_a_message_whose_time_is_extended_again_and_again_is_handled_once(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    """As a proxy keeps it for a client that takes long: each answer's times make the next handle, which starts at the
    message itself.
    """
    await caller.send()
    await caller.send(body=b"second")
    (_, (queue_id, offset, extra)) = infos(await pop(caller))
    await ack(caller, (queue_id, offset - 1, extra.rpartition(" ")[0] + f" {offset - 1}"))
    for _ in range(3):
        pass_time(broker, clock, INVISIBLE_MS - 1000)
        answer = await caller(
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup="G", topic="T", queueId=queue_id, offset=offset,
            extraInfo=extra, invisibleTime=INVISIBLE_MS,
        )  # fmt: skip
        told = fields(answer)
        extra = f"{offset} {told['popTime']} {told['invisibleTime']} {told['reviveQid']} 0 broker-a {queue_id} {offset}"
    pass_time(broker, clock, INVISIBLE_MS - 1000)
    await ack(caller, (queue_id, offset, extra))
    pass_time(broker, clock, 10 * INVISIBLE_MS)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT


async def test_many_are_acknowledged_at_once(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    for _ in range(3):
        await caller.send()
    answer = await pop(caller)
    found = fields(answer)
    batch = BatchAck(
        consumer_group="G", topic="T", retry="0", start_offset=0, queue_id=0, revive_queue_id=int(found["reviveQid"]),
        pop_time=int(found["popTime"]), invisible_time=INVISIBLE_MS, bit_set=bytes([0b101]),
    )  # fmt: skip
    body = codec.encode(BatchAckMessageRequestBody(broker_name="broker-a", acks=(batch,)))
    assert (await caller(RequestCode.BATCH_ACK_MESSAGE, body)).code == ResponseCode.SUCCESS
    pass_time(broker, clock, INVISIBLE_MS + 4000)
    assert len(records(await pop(caller))) == 1


@pytest.mark.parametrize("order", [True, False])
async def test_what_is_kept_of_a_take_is_bounded(broker: Broker, caller: Caller, order: bool) -> None:
    await caller.send()
    longest = 259_200_000
    assert (await pop(caller, order=order, invisibleTime=longest + 1)).code == ResponseCode.MESSAGE_ILLEGAL
    assert (await pop(caller, order=order, attemptId="a" * 256)).code == ResponseCode.INVALID_PARAMETER
    ((queue_id, offset, extra),) = infos(await pop(caller, order=order))
    answer = await caller(
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup="G", topic="T", queueId=queue_id, offset=offset,
        extraInfo=extra, invisibleTime=2**63 - 1,
    )  # fmt: skip
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL


def batch_of(bit_set: bytes) -> BatchAck:
    return BatchAck(consumer_group="G", topic="T", retry="0", pop_time=1, invisible_time=1, bit_set=bit_set)


async def test_no_check_point_is_of_more_messages_than_a_pop_takes(broker: Broker, caller: Caller) -> None:
    for _ in range(40):
        await caller.send()
    for bits in (b"\xff" * 5, b"\xff" * 600_000):
        body = codec.encode(BatchAckMessageRequestBody(acks=(batch_of(bits),)))
        answer = await caller(RequestCode.BATCH_ACK_MESSAGE, body)
        assert (answer.code, answer.remark) == (ResponseCode.MESSAGE_ILLEGAL, "a check point is of 32 messages at most")


async def test_others_have_their_turns_while_many_check_points_are_acknowledged(
    broker: Broker, connect: Connect
) -> None:
    many, other = connect(), connect()
    for caller in (many, other):
        await caller.send()
    body = codec.encode(BatchAckMessageRequestBody(broker_name="broker-a", acks=(batch_of(b"\x01"),) * 2000))
    asked = asyncio.ensure_future(many(RequestCode.BATCH_ACK_MESSAGE, body))
    for _ in range(3):
        await other(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    assert not asked.done()
    assert (await asked).code == ResponseCode.SUCCESS


async def test_a_pop_waits_for_a_message(broker: Broker, connect: Connect) -> None:
    await connect().send("T", queue_id=0)
    waiter, sender = connect(), connect()
    await pop(waiter)
    parked = asyncio.ensure_future(pop(waiter, pollTime=60_000))
    await until(lambda: len(broker.kinds.pops.polls) == 1)
    info = await sender(RequestCode.POLLING_INFO, consumerGroup="G", topic="T", queueId=-1)
    assert fields(info)["pollingNum"] == "1"
    await sender.send(body=b"now", queue_id=3)
    assert bodies(await parked) == [b"now"]
    assert not len(broker.kinds.pops.polls)


NOTIFY: dict[str, Any] = {"consumerGroup": "G", "topic": "T", "queueId": -1, "bornTime": 0}


async def test_pops_wait_no_longer_than_the_broker_allows(start_broker: StartBroker) -> None:
    broker = await start_broker(maxLongPollingTimeMills="50")
    caller = Caller(broker)
    await caller.send()
    await pop(caller)
    assert (await pop(caller, pollTime=2**62)).code == ResponseCode.POLLING_TIMEOUT
    answer = await caller(RequestCode.NOTIFICATION, pollTime=2**62, **NOTIFY)
    assert fields(answer)["hasMsg"] == "false"
    await caller.client.close(grace=0.1)


async def test_pops_end_with_their_connection(broker: Broker, connect: Connect) -> None:
    waiter, polls = connect(), broker.kinds.pops.polls
    await connect().send()
    await pop(waiter)
    parked = [
        asyncio.ensure_future(waiter(RequestCode.NOTIFICATION, pollTime=60_000, **NOTIFY)),
        asyncio.ensure_future(pop(waiter, pollTime=60_000)),
    ]
    await until(lambda: len(polls) == 2)
    assert {waiting.request.body for waiting in polls._waiting} == {b""}
    await waiter.client.close(grace=0)
    assert all(isinstance(lost, ConnectionLost) for lost in await asyncio.gather(*parked, return_exceptions=True))
    await until(lambda: not len(polls))
    assert not polls._places


async def test_a_pop_that_fails_while_it_waits_is_answered(
    broker: Broker, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiter, sender, polls = connect(), connect(), broker.kinds.pops.polls
    await sender.send()
    await pop(waiter)
    parked = asyncio.ensure_future(pop(waiter, pollTime=60_000))
    await until(lambda: len(polls) == 1)
    monkeypatch.setattr(broker.kinds.revive, "put_check_point", lambda *_: False)
    await sender.send()
    assert (await parked).code == ResponseCode.SYSTEM_ERROR
    assert not len(polls)


async def test_a_oneway_notification_does_not_wait(broker: Broker, caller: Caller) -> None:
    await caller.send()
    await pop(caller)
    asked = {name: str(value) for name, value in {**NOTIFY, "pollTime": 60_000}.items()}
    connection = await caller.client.connect(broker.address)
    connection.send(Command(RequestCode.NOTIFICATION, ext_fields=asked))
    await caller.send("U")  # answered after it
    assert not len(broker.kinds.pops.polls)


async def test_a_pop_and_a_pull_may_wait_on_one_queue(broker: Broker, connect: Connect) -> None:
    await connect().send("T", queue_id=0)
    popper, puller, sender = connect(), connect(), connect()
    await pop(popper)
    parked = asyncio.ensure_future(pop(popper, pollTime=60_000))
    pulled = asyncio.ensure_future(puller.pull(offset=1, sys_flag=6))
    await until(lambda: len(broker.kinds.pops.polls) == len(broker.pulls.long_polls) == 1)
    await sender.send(body=b"both")
    assert bodies(await parked) == bodies(await pulled) == [b"both"]


async def test_filters_pass_over_what_does_not_match(broker: Broker, caller: Caller) -> None:
    for tag in "ABA":
        await caller.send(body=tag.encode(), TAGS=tag)
    assert bodies(await pop(caller, exp="B")) == [b"B"]
    assert (await pop(caller, exp="*")).code == ResponseCode.POLLING_TIMEOUT


async def test_a_new_group_may_begin_at_the_end(start_broker: StartBroker) -> None:
    caller = Caller(await start_broker(accessMessageInMemoryMaxRatio="0"))
    for text in (b"old", b"last"):
        await caller.send(body=text)
    assert bodies(await pop(caller, initMode=1)) == [b"last"]
    await caller.send(body=b"new")
    assert bodies(await pop(caller, initMode=1)) == [b"new"]
    await caller.client.close(grace=0.1)


async def test_a_new_group_reads_a_young_topic_and_its_retries_whole(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    for number in range(2):
        await caller.send(body=str(number).encode())
    assert bodies(await pop(caller, initMode=1)) == [b"0", b"1"]
    pass_time(broker, clock, INVISIBLE_MS + 4000)
    assert bodies(await pop(caller, initMode=1)) == [b"0", b"1"]


async def test_peeking_takes_nothing(broker: Broker, caller: Caller) -> None:
    await caller.send()
    for _ in range(2):
        seen = await caller(RequestCode.PEEK_MESSAGE, consumerGroup="G", topic="T", queueId=-1, maxMsgNums=5)
        assert bodies(seen) == [b"body"]
    assert len(records(await pop(caller))) == 1


async def test_a_notification_tells_whether_there_is_something(broker: Broker, caller: Caller) -> None:
    await caller.send()
    header: dict[str, Any] = {"consumerGroup": "G", "topic": "T", "queueId": -1, "pollTime": 0, "bornTime": 0}
    assert fields(await caller(RequestCode.NOTIFICATION, **header))["hasMsg"] == "true"
    await pop(caller)
    assert fields(await caller(RequestCode.NOTIFICATION, **header))["hasMsg"] == "false"


async def test_orderly_pops_wait_for_what_was_taken_before(broker: Broker, caller: Caller, clock: FakeClock) -> None:
    for number in range(4):
        await caller.send(body=str(number).encode())
    answer = await pop(caller, order=True, maxMsgNums=2)
    assert (bodies(answer), fields(answer)["reviveQid"]) == ([b"0", b"1"], "999")
    assert (await pop(caller, order=True)).code == ResponseCode.POLLING_TIMEOUT
    await ack(caller, infos(answer)[0])
    assert (await pop(caller, order=True)).code == ResponseCode.POLLING_TIMEOUT
    clock.now += INVISIBLE_MS
    answer = await pop(caller, order=True, maxMsgNums=1)
    assert bodies(answer) == [b"1"]
    await ack(caller, infos(answer)[0])
    assert bodies(await pop(caller, order=True)) == [b"2", b"3"]


async def test_an_orderly_pop_waits_until_the_queue_is_free(
    broker: Broker, caller: Caller, connect: Connect, clock: FakeClock
) -> None:
    for number in range(2):
        await caller.send(body=str(number).encode())
    first = await pop(caller, order=True, maxMsgNums=1)
    waiting = asyncio.create_task(pop(connect(), order=True, maxMsgNums=1, pollTime=60_000))
    await until(lambda: len(broker.kinds.pops.polls) == 1)
    await ack(caller, infos(first)[0])
    second = await waiting
    assert (bodies(second), fields(second)["orderCountInfo"]) == ([b"1"], "0 0 0")
    waiting = asyncio.create_task(pop(connect(), order=True, maxMsgNums=1, pollTime=60_000))
    await until(lambda: len(broker.kinds.pops.polls) == 1)
    clock.now += INVISIBLE_MS
    broker.kinds.order.alarm.ring()
    again = await waiting
    assert (bodies(again), fields(again)["orderCountInfo"]) == ([b"1"], "0 qo0%1 1;0 0 1")


async def test_an_orderly_notification_knows_what_is_taken(broker: Broker, caller: Caller) -> None:
    await caller.send()
    header: dict[str, Any] = {"consumerGroup": "G", "topic": "T", "queueId": 0, "pollTime": 0, "bornTime": 0}
    await pop(caller, order=True, attemptId="first")
    for attempt, has_message in (("first", "true"), ("second", "false")):
        answer = await caller(RequestCode.NOTIFICATION, **header, order=True, attemptId=attempt)
        assert fields(answer)["hasMsg"] == has_message


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"maxMsgNums": 33}, ResponseCode.INVALID_PARAMETER),
        ({"topic": "none"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"queueId": 99}, ResponseCode.INVALID_PARAMETER),
        ({"expType": "SQL92", "exp": "a >"}, ResponseCode.SUBSCRIPTION_PARSE_FAILED),
    ],
)
async def test_pops_that_cannot_be(broker: Broker, caller: Caller, wrong: dict[str, Any], code: int) -> None:
    await caller.send()
    assert (await pop(caller, **wrong)).code == code


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"topic": "none"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"queueId": 99}, ResponseCode.MESSAGE_ILLEGAL),
        ({"offset": 5}, ResponseCode.NO_MESSAGE),
        ({"extraInfo": "what"}, ResponseCode.MESSAGE_ILLEGAL),
    ],
)
async def test_acknowledgements_that_cannot_be(
    broker: Broker, caller: Caller, wrong: dict[str, Any], code: int
) -> None:
    await caller.send()
    (info,) = infos(await pop(caller))
    assert (await ack(caller, info, **wrong)).code == code


async def test_a_message_that_is_handled_for_75_s_is_given_once_when_its_handle_is_renewed(
    broker: Broker, caller: Caller, clock: FakeClock
) -> None:
    """As a gRPC proxy does it for its clients: popped for a minute, renewed ten seconds before that is over, and
    acknowledged with the handle of the renewal.
    """
    await caller.send()
    ((queue_id, offset, extra),) = infos(await pop(caller, invisibleTime=60_000))
    pass_time(broker, clock, 50_000)
    changed = fields(
        await caller(
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
            consumerGroup="G",
            topic="T",
            queueId=queue_id,
            offset=offset,
            extraInfo=extra,
            invisibleTime=60_000,
        )
    )
    renewed = (
        f"{offset} {changed['popTime']} {changed['invisibleTime']} {changed['reviveQid']} 0 broker-a "
        f"{queue_id} {offset}"
    )
    pass_time(broker, clock, 25_000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT
    assert (await ack(caller, (queue_id, offset, renewed))).code == ResponseCode.SUCCESS
    pass_time(broker, clock, 60_000)
    assert (await pop(caller)).code == ResponseCode.POLLING_TIMEOUT


async def test_an_acknowledgement_that_waits_for_a_slow_disk_counts(
    start_broker: StartBroker, clock: FakeClock
) -> None:
    """Its timer has delivered it, and until the log is flushed nobody can read it: not even who gives messages back."""
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller, store, revive = Caller(broker), broker.store, broker.kinds.revive

    def flushed() -> bool:
        return store.dispatcher.dispatched_offset == store.log.max_offset

    await caller.send()
    assert (await ack(caller, infos(await pop(caller))[0])).code == ResponseCode.SUCCESS
    pass_time(broker, clock, INVISIBLE_MS - 1000)
    await until(flushed)
    revive.run()
    assert sum(waiting for _queue, waiting, _late in revive.behind()) == 1, "the check point has come"
    with store.flusher.flushing:
        pass_time(broker, clock, 5000)
        assert not flushed()
        assert not broker.stats.special.revive_retries
    await until(flushed)
    pass_time(broker, clock, 2000)
    assert not broker.stats.special.revive_retries
    assert sum(waiting for _queue, waiting, _late in revive.behind()) == 0
    await caller.client.close(grace=0.05)
