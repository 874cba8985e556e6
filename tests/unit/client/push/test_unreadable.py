"""Unreadable records and refused locks: neither ends a queue, and neither reaches a handler."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.unit.client.fakes import Answer, FakeQueues, FakeTransport, fields, stored, until
from tests.unit.client.push.test_consumer import FIRST, Collector, consumer, transport

from sprocketmq.client.push import concurrent
from sprocketmq.client.push.context import Running
from sprocketmq.client.push.rebalance import Rebalance
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ConsumerSettings
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command

__all__ = ["transport"]


def no_magic(record: bytes) -> bytes:
    return record[:4] + struct.pack(">i", 7) + record[8:]


def wrong_crc(record: bytes) -> bytes:
    return record[:8] + struct.pack(">i", 7) + record[12:]


def warned(caplog: pytest.LogCaptureFixture, offset: int) -> bool:
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    return any("unreadable record skipped queue=" in line and f"offset={offset}" in line for line in told)


@pytest.mark.parametrize("damage", [no_magic, wrong_crc])
@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("tags", ["*", "x"])
async def test_the_messages_behind_it_come(
    transport: FakeTransport, damage: object, orderly: bool, tags: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    for number in range(6):
        broker.append(b"%d" % number, tags="x")
    for bad in (0, 3):
        broker.logs[0][bad] = damage(broker.logs[0][bad])  # type: ignore[operator]
    made = consumer(handler, settings=FIRST, orderly=orderly)
    made.unsubscribe("T")
    made.add_handler("T", handler, tags)
    async with made:
        assert sorted(await handler.wait(4)) == [b"1", b"2", b"4", b"5"]
    assert warned(caplog, 0)
    assert warned(caplog, 3)
    assert broker.committed["T", 0] == 6
    assert not broker.returned


async def test_as_many_as_there_are_workers_leave_all_of_them_at_work(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    for number in range(6):
        broker.append(b"%d" % number)
    broker.logs[0][:5] = [wrong_crc(record) for record in broker.logs[0][:5]]
    async with consumer(handler, settings=ConsumerSettings(consume_from="first", concurrency=2)):
        assert await handler.wait(1) == [b"5"]


async def test_popped_messages_beside_it_come(transport: FakeTransport, caplog: pytest.LogCaptureFixture) -> None:
    FakeQueues(transport, queues=1)
    handler, acked = Collector(), list[str]()
    records = [stored(b"%d" % number, number) for number in range(3)]
    answers = [b"".join([records[0], wrong_crc(records[1]), records[2]])]

    async def pop(_address: str, command: Command) -> Command:
        if not answers:
            await asyncio.Event().wait()
        ends = {"popTime": str(2**42), "invisibleTime": "60000", "reviveQid": "0", "restNum": "0"}
        places = {"startOffsetInfo": "0 0 0", "msgOffsetInfo": "0 0 0,1,2"}
        return command.reply(ext_fields={**ends, **places}, body=answers.pop())

    def ack(_address: str, command: Command) -> Command:
        acked.append(fields(command)["offset"])
        return command.reply()

    transport.answers |= {RequestCode.POP_MESSAGE: pop, RequestCode.ACK_MESSAGE: ack}
    async with consumer(handler, pop=True):
        assert sorted(await handler.wait(2)) == [b"0", b"2"]
        await until(lambda: len(acked) == 2)
    assert sorted(acked) == ["0", "2"]
    assert warned(caplog, 1)


def once_failing(answer: Answer) -> Answer:
    failures = [KeyError("nobody expects it")]

    def fail(address: str, command: Command) -> object:
        if failures:
            raise failures.pop()
        return answer(address, command)

    return cast(Answer, fail)


@pytest.mark.parametrize("pop", [False, True], ids=["pull", "pop"])
async def test_what_nobody_expects_ends_no_queue(
    transport: FakeTransport, pop: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker, handler, code = FakeQueues(transport, queues=1), Collector(), RequestCode.PULL_MESSAGE
    broker.append(b"0")
    if pop:
        code, popped = RequestCode.POP_MESSAGE, asyncio.Event()

        async def answer(_address: str, command: Command) -> Command:
            if popped.is_set():
                await asyncio.Event().wait()
            popped.set()
            ends = {"popTime": str(2**42), "invisibleTime": "60000", "reviveQid": "0", "restNum": "0"}
            places = {"startOffsetInfo": "0 0 0", "msgOffsetInfo": "0 0 0"}
            return command.reply(ext_fields={**ends, **places}, body=broker.logs[0][0])

        transport.answers[code] = answer
    transport.answers[code] = once_failing(transport.answers[code])
    async with consumer(handler, settings=replace(FIRST, retry_pause=0.001), pop=pop):
        assert await handler.wait(1) == [b"0"]
    assert "nobody expects it" in caplog.text


async def test_what_nobody_expects_ends_no_worker(
    transport: FakeTransport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The message that it met comes again, and those behind it come."""
    broker, handler, settle = FakeQueues(transport, queues=1), Collector(), Running.settle
    failures = [KeyError("nobody expects it")]

    def settled(running: Running, *arguments: Any) -> None:
        if failures:
            raise failures.pop()
        settle(running, *arguments)

    monkeypatch.setattr(Running, "settle", settled)
    monkeypatch.setattr(concurrent, "_RETRY_HERE_S", 0.001)
    for number in range(3):
        broker.append(b"%d" % number)
    async with consumer(handler, settings=replace(FIRST, concurrency=1)):
        assert sorted(await handler.wait(4)) == [b"0", b"0", b"1", b"2"]
    assert "nobody expects it" in caplog.text
    assert broker.committed["T", 0] == 3


async def test_a_refused_lock_stops_the_next_message_at_once(transport: FakeTransport) -> None:
    broker = FakeQueues(transport, queues=1)
    going_on, seen = asyncio.Event(), list[bytes]()

    async def handle(message: ReceivedMessage) -> None:
        seen.append(message.body)
        await going_on.wait()

    for number in range(3):
        broker.append(b"%d" % number)
    settings = ConsumerSettings(consume_from="first", suspend=0.001)
    async with consumer(handle, settings=settings, orderly=True) as made:
        await until(lambda: bool(seen))
        source = made._source
        assert isinstance(source, Rebalance)
        (queue,) = source.queues.values()
        broker.locked = False
        await source.renew_locks()
        going_on.set()
        await until(lambda: queue.count == 2)
        for _ in range(100):
            await asyncio.sleep(0)
        assert seen == [b"0"]
        broker.locked = True
        await source.renew_locks()
        await until(lambda: len(seen) == 3)
