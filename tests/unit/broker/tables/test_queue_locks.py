from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.broker.conftest import Connect
from tests.unit.broker.support import Caller, FakeClock, make_settings

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.tables.queue_locks import QueueLocks
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import turns

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1)


def test_a_queue_is_locked_for_one_client_of_a_group(clock: FakeClock, tmp_path: Path) -> None:
    locks = QueueLocks(clock, make_settings(tmp_path))
    assert locks.lock("G", "c1", A)
    assert locks.lock("G", "c1", B)
    assert not locks.lock("G", "c2", A)
    assert locks.lock("H", "c2", A)
    locks.unlock("G", "c2", A)  # not its own
    locks.unlock("G", "c1", A)
    assert locks.lock("G", "c2", A)
    assert not locks.lock("G", "c2", B)


def test_a_lock_that_is_not_renewed_for_a_minute_is_free(clock: FakeClock, tmp_path: Path) -> None:
    locks = QueueLocks(clock, make_settings(tmp_path))
    locks.lock("G", "c1", A)
    clock.now += 50_000
    locks.lock("G", "c1", A)
    clock.now += 60_000
    assert not locks.lock("G", "c2", A)
    assert locks.is_locked("G")
    clock.now += 1
    assert not locks.is_locked("G")
    assert locks.lock("G", "c2", A)


def test_a_clock_that_is_set_frees_no_lock_and_holds_none(clock: FakeClock, tmp_path: Path) -> None:
    locks = QueueLocks(clock, make_settings(tmp_path))
    locks.lock("G", "c1", A)
    clock.jump(61_000)
    assert not locks.lock("G", "c2", A)
    clock.jump(-3_600_000)
    clock.now += 60_001
    assert locks.lock("G", "c2", A)


async def test_locks_over_the_wire(caller: Caller) -> None:
    wanted = LockBatchRequestBody(consumer_group="G", client_id="c1", mq_set=frozenset({A, B}))
    answer = await caller(RequestCode.LOCK_BATCH_MQ, codec.encode(wanted))
    assert codec.decode(LockBatchResponseBody, answer.body).lock_okmqset == {A, B}
    other = LockBatchRequestBody(consumer_group="G", client_id="c2", mq_set=frozenset({A, B}))
    answer = await caller(RequestCode.LOCK_BATCH_MQ, codec.encode(other))
    assert codec.decode(LockBatchResponseBody, answer.body).lock_okmqset == frozenset()
    free = UnlockBatchRequestBody(consumer_group="G", client_id="c1", mq_set=frozenset({B}))
    await caller(RequestCode.UNLOCK_BATCH_MQ, codec.encode(free))
    answer = await caller(RequestCode.LOCK_BATCH_MQ, codec.encode(other))
    assert codec.decode(LockBatchResponseBody, answer.body).lock_okmqset == {B}


async def test_a_lock_of_many_queues_takes_turns_with_others(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SHARE_NS", 0)
    greedy, modest = connect(), connect()
    for caller in (greedy, modest):
        await caller.send()
    queues = frozenset(MessageQueue("T", "broker-a", number) for number in range(5000))
    body = codec.encode(LockBatchRequestBody(consumer_group="G", client_id="c1", mq_set=queues))
    lock = asyncio.ensure_future(greedy(RequestCode.LOCK_BATCH_MQ, body))
    for _ in range(10):
        assert (await modest.send()).code == ResponseCode.SUCCESS
    assert not lock.done()
    answer = codec.decode(LockBatchResponseBody, (await lock).body)
    assert answer.lock_okmqset == queues
    other = body.replace(b'"c1"', b'"c2"')
    _, answered = await asyncio.gather(  # both on their way at once: the lock is what the unlock makes possible
        greedy(RequestCode.UNLOCK_BATCH_MQ, body), greedy(RequestCode.LOCK_BATCH_MQ, other)
    )
    assert codec.decode(LockBatchResponseBody, answered.body).lock_okmqset == queues


@pytest.mark.parametrize(
    ("body", "remark"),
    [
        (b'{"mqSet":5}', "LockBatchRequestBody: mqSet must be an array, not 5"),
        (b'{"mqSet":[{},{"topic":5}]}', "LockBatchRequestBody: mqSet[1].topic must be a text, not 5"),
        (b'{"mqSet":[{"topic":"T"},5]}', "LockBatchRequestBody: mqSet[1] must be an object, not 5"),
        (b"5", "LockBatchRequestBody: the body must be an object, not 5"),
    ],
)
async def test_a_body_that_is_no_lock_is_answered(caller: Caller, broker: Broker, body: bytes, remark: str) -> None:
    wanted = body.replace(b"{}", b'{"topic":"T"}').replace(b'{"mq', b'{"consumerGroup":"G","clientId":"c","mq')
    assert (await caller(RequestCode.LOCK_BATCH_MQ, wanted)).remark == remark
    assert len(broker.locks) == 0


def test_so_many_are_held_and_the_silent_are_forgotten(clock: FakeClock, tmp_path: Path) -> None:
    locks = QueueLocks(clock, make_settings(tmp_path, maxLocksPerGroup="1"))
    assert locks.lock("G", "c1", A)
    assert not locks.lock("G", "c1", B)
    assert locks.lock("H", "c1", A)
    assert (len(locks), locks.refused) == (2, 1)
    locks.unlock("H", "c1", A)
    clock.now += 60_001
    locks.expire()
    assert len(locks) == 0


def test_locks_that_stay_cost_little_when_others_are_forgotten(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be a hundred thousand, and a queue's hash is worked out in Python."""
    locks = QueueLocks(clock, make_settings(tmp_path))
    locks.lock("G", "c1", A)
    clock.now += 60_001
    locks.lock("G", "c1", B)
    hashed: list[MessageQueue] = []

    def counted(queue: MessageQueue) -> int:
        hashed.append(queue)
        return hash((queue.topic, queue.broker_name, queue.queue_id))

    monkeypatch.setattr(MessageQueue, "__hash__", counted)
    locks.expire()
    assert hashed == [A]
    assert len(locks) == 1
    assert not locks.lock("G", "c2", B)
    assert locks.lock("G", "c2", A)
