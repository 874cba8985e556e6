from __future__ import annotations

import asyncio

from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, bodies

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command

SUSPEND, SUBSCRIPTION = 2, 4


def pull(caller: Caller) -> asyncio.Task[Command]:
    return asyncio.ensure_future(caller.pull(offset=1, sys_flag=SUSPEND | SUBSCRIPTION))


def pop(caller: Caller, **more: object) -> asyncio.Task[Command]:
    asked: dict[str, object] = {
        "consumerGroup": "P", "topic": "T", "queueId": 1, "maxMsgNums": 32, "invisibleTime": 60_000, "pollTime": 20_000,
        "bornTime": 0, "initMode": 0, "order": False, **more,
    }  # fmt: skip
    return asyncio.ensure_future(caller.call(RequestCode.POP_MESSAGE, asked))


async def waiting(broker: Broker, count: int) -> None:
    while broker.pulls.long_polls.waiting.count != count:  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)


async def test_so_many_wait_in_all_and_the_next_is_told_to_try_again(start_broker: StartBroker) -> None:
    broker = await start_broker(maxParkedRequests="3")
    callers = [Caller(broker) for _ in range(4)]
    await callers[0].send()
    waiters = [pull(callers[0]), pull(callers[1]), pop(callers[2])]
    await waiting(broker, 3)
    assert (await pull(callers[3])).code == ResponseCode.SYSTEM_BUSY
    assert (await pop(callers[3])).code == ResponseCode.POLLING_FULL
    await callers[3].send(body=b"new")
    assert bodies(await waiters[0]) == bodies(await waiters[1]) == [b"new"]
    await waiting(broker, 1)
    await callers[3].send(queue_id=1, body=b"popped")
    assert bodies(await waiters[2]) == [b"popped"]
    await waiting(broker, 0)
    for caller in callers:
        await caller.client.close(grace=0.1)


async def test_so_many_of_one_connection_wait(start_broker: StartBroker) -> None:
    broker = await start_broker(maxParkedRequestsPerConnection="2")
    one, other = Caller(broker), Caller(broker)
    await one.send()
    waiters = [pull(one), pop(one)]
    await waiting(broker, 2)
    assert (await pull(one)).code == ResponseCode.SYSTEM_BUSY
    assert (await pop(one)).code == ResponseCode.POLLING_FULL
    waiters.append(pull(other))
    await waiting(broker, 3)
    for caller in (one, other):
        await caller.client.close(grace=0)
    await asyncio.gather(*waiters, return_exceptions=True)
    await waiting(broker, 0)


async def test_filters_of_those_that_wait_have_a_bound(start_broker: StartBroker) -> None:
    broker = await start_broker(costlyWorkPercent="100")  # else a slow machine rests, and the first have waited enough
    caller = Caller(broker)
    await caller.send()
    waiters = []
    for number in range(2000):  # each with a filter of its own
        text = "||".join(f"{number}-{tag}" for tag in range(5000))
        ask = caller.pull(offset=1, group=f"G{number}", sys_flag=SUSPEND | SUBSCRIPTION, expression=text)
        waiters.append(asyncio.ensure_future(ask))
        while not waiters[-1].done() and broker.pulls.long_polls.waiting.count <= number:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        if waiters[-1].done():
            break
    assert (await waiters[-1]).code == ResponseCode.SYSTEM_BUSY
    assert len(waiters) < 200
    await caller.client.close(grace=0)
    await asyncio.gather(*waiters, return_exceptions=True)
    await waiting(broker, 0)
    assert broker.pulls.long_polls.waiting.kept_bytes == 0


async def test_texts_of_pops_that_wait_have_the_same_bound(start_broker: StartBroker) -> None:
    caller = Caller(broker := await start_broker(maxHeaderSize="2000000"))
    await caller.send()
    waiters = []
    for number in range(100):
        waiters.append(pop(caller, bname="x" * 1_000_000))
        while not waiters[-1].done() and broker.pulls.long_polls.waiting.count <= number:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        if waiters[-1].done():
            break
    assert (await waiters[-1]).code == ResponseCode.POLLING_FULL
    assert len(waiters) < 80
    await caller.client.close(grace=0)
    await asyncio.gather(*waiters, return_exceptions=True)
    await waiting(broker, 0)
    assert broker.pulls.long_polls.waiting.kept_bytes == 0
