from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.pop.test_handler import INVISIBLE_MS, ack, infos, pop
from tests.unit.broker.support import Caller, fields
from tests.unit.broker.transaction.test_handler import COMMIT, ROLLBACK, end, half

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command

Request = Callable[[], Awaitable[Command]]


async def commit(caller: Caller) -> Request:
    where = await half(caller)
    return lambda: end(caller, where, COMMIT)


async def roll_back(caller: Caller) -> Request:
    where = await half(caller)
    return lambda: end(caller, where, ROLLBACK)


async def recall(caller: Caller) -> Request:
    handle = fields(await caller.send(TIMER_DELAY_SEC="5"))["recallHandle"]
    return lambda: caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)


async def take(caller: Caller) -> Request:
    await caller.send()
    return lambda: pop(caller)


async def acknowledge(caller: Caller) -> Request:
    await caller.send()
    (info,) = infos(await pop(caller))
    return lambda: ack(caller, info)


async def hide(caller: Caller) -> Request:
    await caller.send()
    ((queue_id, offset, extra),) = infos(await pop(caller))
    return lambda: caller(
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup="G", topic="T", queueId=queue_id, offset=offset,
        extraInfo=extra, invisibleTime=INVISIBLE_MS,
    )  # fmt: skip


async def answered_or_waiting(broker: Broker, answer: asyncio.Future[Command]) -> None:
    async with asyncio.timeout(60):
        while not answer.done() and not len(broker.acks):  # noqa: ASYNC110 - the broker has no event for it
            await asyncio.sleep(0)


@pytest.mark.parametrize("prepare", [commit, roll_back, recall, take, acknowledge, hide])
async def test_under_sync_flush_the_answer_waits_for_what_it_promises(
    start_broker: StartBroker, prepare: Callable[[Caller], Awaitable[Request]]
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", recallMessageEnable="true")
    caller = Caller(broker)
    request = await prepare(caller)
    broker.store.flusher.abandon()  # from here on only the test flushes
    answer = asyncio.ensure_future(request())
    await answered_or_waiting(broker, answer)
    assert not answer.done()
    broker.store.flush()
    assert (await answer).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)


async def test_a_repeated_end_waits_for_the_first_one(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller, other = Caller(broker), Caller(broker)
    where = await half(caller)
    broker.store.flusher.abandon()
    first = asyncio.ensure_future(end(caller, where, COMMIT))
    await answered_or_waiting(broker, first)
    second = asyncio.ensure_future(end(other, where, COMMIT))
    async with asyncio.timeout(60):
        while not second.done() and len(broker.acks) < 2:  # noqa: ASYNC110 - the broker has no event for it
            await asyncio.sleep(0)
    assert not second.done()
    broker.store.flush()
    assert [(await first).code, (await second).code] == [ResponseCode.SUCCESS] * 2
    for each in (caller, other):
        await each.client.close(grace=0.1)


async def test_a_disk_that_is_late_is_told(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", syncFlushTimeout="1")
    caller = Caller(broker)
    broker.store.flusher.abandon()
    answer = fields(await caller.send(TRAN_MSG="true", PGROUP="PG", sys_flag=4))  # which is late as well
    broker.store.flush()
    where = {"commitLogOffset": int(answer["msgId"][16:], 16), "tranStateTableOffset": int(answer["queueOffset"])}
    assert (await end(caller, where, COMMIT)).code == ResponseCode.FLUSH_DISK_TIMEOUT
    await caller.client.close(grace=0.1)
