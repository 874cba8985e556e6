from __future__ import annotations

from tests.unit.broker.support import Caller, FakeClock

from sprocketmq.broker.tables.queue_locks import QueueLocks
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.message_queue import MessageQueue

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1)


def test_a_queue_is_locked_for_one_client_of_a_group(clock: FakeClock) -> None:
    locks = QueueLocks(clock)
    assert locks.lock("G", "c1", [A, B]) == {A, B}
    assert locks.lock("G", "c2", [A, B]) == frozenset()
    assert locks.lock("H", "c2", [A]) == {A}
    locks.unlock("G", "c2", [A])  # not its own
    locks.unlock("G", "c1", [A])
    assert locks.lock("G", "c2", [A, B]) == {A}


def test_a_lock_that_is_not_renewed_for_a_minute_is_free(clock: FakeClock) -> None:
    locks = QueueLocks(clock)
    locks.lock("G", "c1", [A])
    clock.now += 50_000
    locks.lock("G", "c1", [A])
    clock.now += 60_000
    assert locks.lock("G", "c2", [A]) == frozenset()
    assert locks.is_locked("G")
    clock.now += 1
    assert not locks.is_locked("G")
    assert locks.lock("G", "c2", [A]) == {A}


def test_a_clock_that_is_set_frees_no_lock_and_holds_none(clock: FakeClock) -> None:
    locks = QueueLocks(clock)
    locks.lock("G", "c1", [A])
    clock.jump(61_000)
    assert locks.lock("G", "c2", [A]) == frozenset()
    clock.jump(-3_600_000)
    clock.now += 60_001
    assert locks.lock("G", "c2", [A]) == {A}


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
