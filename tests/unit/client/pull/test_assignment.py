from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance, until

from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.errors import Refused, TimedOut, Unreachable
from sprocketmq.client.pull import assignment as assignment_module
from sprocketmq.client.pull.assignment import Assignment
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

UPDATE = RequestCode.UPDATE_CONSUMER_OFFSET
QUEUES = [MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_offsets, "_PAUSE_S", 0.0)


async def polled(transport: FakeTransport, commit_interval: float = 3600) -> tuple[FakeQueues, Assignment]:
    """Two queues with a message each, both of which a poll has given."""
    broker = FakeQueues(transport)
    broker.append(b"0", 0)
    broker.append(b"1", 1)
    made = Assignment(instance(transport), "g", PullSettings(consume_from="first", commit_interval=commit_interval))
    await made.assign(QUEUES, "*", None)
    await until(lambda: all(not buffer.is_empty for buffer in made.buffers.values()))
    assert len(await made.poll(10, 5)) == 2
    return broker, made


async def test_a_commit_that_fails_at_the_stop_is_tried_again() -> None:
    transport = FakeTransport()
    broker, made = await polled(transport)
    errors = [TimedOut("no answer"), Unreachable("a", "reset")]

    def update(address: str, command: Command) -> Command:
        if errors:
            raise errors.pop()
        return broker.update_offset(address, command)

    transport.answers[UPDATE] = update
    await made.stop(commit=True)
    assert broker.committed == {("T", 0): 1, ("T", 1): 1}


async def test_what_stays_uncommitted_after_the_stop_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(assignment_module, "_STOP_S", 0.0)
    transport = FakeTransport()
    broker, made = await polled(transport)

    def update(address: str, command: Command) -> Command:
        if (command.ext_fields or {})["queueId"] == "0":
            raise Unreachable(address, "gone")
        return broker.update_offset(address, command)

    transport.answers[UPDATE] = update
    await made.stop(commit=True)
    assert broker.committed == {("T", 1): 1}
    (told,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert f"queue={QUEUES[0]} offset=1" in told


async def test_a_failed_commit_is_raised_when_every_broker_has_answered() -> None:
    transport = FakeTransport()
    broker, made = await polled(transport)

    async def update(address: str, command: Command) -> Command:
        if (command.ext_fields or {})["queueId"] == "0":
            raise Unreachable(address, "gone")
        for _ in range(5):
            await asyncio.sleep(0)
        return broker.update_offset(address, command)

    transport.answers[UPDATE] = update
    with pytest.raises(Unreachable):
        await made.commit()
    assert broker.committed == {("T", 1): 1}
    transport.answers[UPDATE] = broker.update_offset
    await made.stop(commit=True)


async def test_the_stop_waits_for_a_commit_that_is_under_way() -> None:
    """Cut off, it could reach the broker after the last one, and the older offset would stay."""
    transport, gate = FakeTransport(), asyncio.Event()
    broker, made = await polled(transport, commit_interval=0.001)

    async def slow(address: str, command: Command) -> Command:
        await gate.wait()
        return broker.update_offset(address, command)

    transport.answers[UPDATE] = slow
    assert await made.poll(10, 0) == []  # finishes the first poll, so that the ticker commits it
    await until(lambda: len(transport.commands(UPDATE)) == 1)
    broker.append(b"2", 0)
    await until(lambda: not made.buffers[QUEUES[0]].is_empty)
    assert len(await made.poll(10, 5)) == 1
    stop = asyncio.ensure_future(made.stop(commit=True))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(transport.commands(UPDATE)) == 1
    gate.set()
    await stop
    assert broker.committed == {("T", 0): 2, ("T", 1): 1}


async def test_a_stop_commits_what_a_handover_could_not() -> None:
    transport, gate = FakeTransport(), asyncio.Event()
    broker, made = await polled(transport)
    await made.poll(10, 0)

    async def slow(address: str, command: Command) -> Command:
        await gate.wait()
        return broker.update_offset(address, command)

    transport.answers[UPDATE] = slow
    handover = asyncio.ensure_future(made.assign(QUEUES[1:], "*", None))
    await until(lambda: len(transport.commands(UPDATE)) == 1)
    handover.cancel()
    await asyncio.wait([handover])
    gate.set()
    await made.stop(commit=True)
    assert broker.committed == {("T", 0): 1, ("T", 1): 1}


async def test_a_queue_whose_master_is_gone_at_the_subscription_is_taken_up_later() -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport)
    broker.append(b"0", 0)
    gone = [True, True]

    def query(address: str, command: Command) -> Command:
        if gone and gone.pop():
            raise Unreachable(address, "reset")
        return broker.query_offset(address, command)

    transport.answers[RequestCode.QUERY_CONSUMER_OFFSET] = query
    made = Assignment(instance(transport), "g", PullSettings(consume_from="first", retry_pause=0.01))
    await made.subscribe(Subscription.of("T", "*", None))
    await until(lambda: set(made.buffers) == set(QUEUES))
    assert [message.body for message in await made.poll(10, 60)] == [b"0"]
    await made.stop(commit=True)


async def test_a_subscription_that_is_refused_is_the_callers_to_know() -> None:
    transport = FakeTransport()
    FakeQueues(transport)

    def refuse(address: str, _command: Command) -> Command:
        raise Refused(ResponseCode.NO_PERMISSION, "not you", address)

    transport.answers[RequestCode.QUERY_CONSUMER_OFFSET] = refuse
    made = Assignment(instance(transport), "g", PullSettings(consume_from="first"))
    with pytest.raises(Refused, match="not you"):
        await made.subscribe(Subscription.of("T", "*", None))
    await made.stop(commit=True)


@pytest.mark.parametrize("how", ["subscribe", "assign"])
async def test_a_second_subscription_takes_the_place_of_the_first(how: str) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    for tag in ("A", "B", "A", "B"):
        broker.append(tag.encode(), tags=tag)
    made = Assignment(instance(transport), "g", PullSettings(consume_from="first", commit_interval=3600))

    async def choose(tags: str) -> None:
        if how == "assign":
            await made.assign(QUEUES[:1], tags, None)
        else:
            await made.subscribe(Subscription.of("T", tags))

    await choose("A")
    assert [message.body for message in await made.poll(1, 60)] == [b"A"]
    await choose("B")
    assert [message.body for message in await made.poll(10, 60)] == [b"B", b"B"]
    await made.stop(commit=True)
    assert broker.committed == {("T", 0): 4}
