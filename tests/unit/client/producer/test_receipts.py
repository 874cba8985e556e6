from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.message import SendReceipt, SendStatus
from sprocketmq.client.producer.receipts import BatchOutcome, BatchReceipts, ReceiptFuture, future_of
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 1)


def receipts(count: int = 3, ids: str = "A,B,C", first: int = 0) -> BatchReceipts:
    return BatchReceipts(SendReceipt(SendStatus.OK, "", ids, QUEUE, 100), "HEAD", first, count)


def futures(count: int = 3) -> tuple[BatchOutcome, list[ReceiptFuture]]:
    outcome = BatchOutcome(asyncio.get_running_loop())
    return outcome, [future_of(outcome, index) for index in range(count)]


def test_each_message_has_its_share_of_the_answer() -> None:
    made = receipts(first=0xFFFE)
    assert [one.message_id for one in made] == ["HEADFFFE", "HEADFFFF", "HEAD0000"]
    assert [one.offset_message_id for one in made] == ["A", "B", "C"]
    assert [one.queue_offset for one in made] == [100, 101, 102]
    assert made[1] == SendReceipt(SendStatus.OK, "HEADFFFF", "B", QUEUE, 101)
    assert len(made) == 3
    with pytest.raises(IndexError):
        made[3]


def test_a_broker_may_tell_one_id_for_all() -> None:
    assert [one.offset_message_id for one in receipts(ids="A")] == ["A", "A", "A"]


async def test_it_is_awaited_gathered_and_waited_for_like_a_future() -> None:
    outcome, (one, two, three) = futures()
    first = asyncio.ensure_future(asyncio.wait_for(one, 60))
    pair = asyncio.gather(two, three)
    again = asyncio.ensure_future(_await(two))
    await asyncio.sleep(0)
    assert not one.done()
    outcome.settle(receipts())
    assert [each.queue_offset for each in (await first, *await pair, await again)] == [100, 101, 102, 101]
    done, pending = await asyncio.wait([one, two])  # type: ignore[type-var]
    assert (done, pending) == ({one, two}, set())
    assert (await one).queue_offset == 100


async def _await(future: ReceiptFuture) -> SendReceipt:
    return await future


async def test_an_error_is_that_of_every_message() -> None:
    outcome, (one, two, _) = futures()
    with pytest.raises(asyncio.InvalidStateError):
        one.result()
    with pytest.raises(asyncio.InvalidStateError):
        one.exception()
    error = Refused(1, "no")
    outcome.fail(error)
    with pytest.raises(Refused):
        one.result()
    with pytest.raises(Refused):
        await two
    assert two.exception() is error


async def test_to_cancel_is_to_stop_waiting() -> None:
    outcome, (one, two, _) = futures()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one, 0.001)
    assert one.cancelled()
    assert not one.cancel()
    outcome.settle(receipts())
    with pytest.raises(asyncio.CancelledError):
        one.result()
    assert two.result().ok


async def test_callbacks_are_called_by_the_loop_and_can_be_removed() -> None:
    outcome, (one, two, three) = futures()
    called: list[ReceiptFuture] = []

    def unwanted(_: ReceiptFuture) -> None:
        raise AssertionError

    one.add_done_callback(called.append)
    one.add_done_callback(unwanted)
    assert one.remove_done_callback(unwanted) == 1
    assert two.remove_done_callback(unwanted) == 0
    outcome.settle(receipts())
    three.add_done_callback(called.append)
    assert not called
    await asyncio.sleep(0)
    assert called == [one, three]


@pytest.mark.parametrize("is_asked", [True, False])
async def test_an_error_that_nobody_asks_for_is_logged(caplog: pytest.LogCaptureFixture, is_asked: bool) -> None:
    outcome, (one, *others) = futures()
    outcome.fail(ClientError("no broker"))
    if is_asked:
        one.exception()
    with caplog.at_level(logging.ERROR):
        del outcome, one, others
        gc.collect()
    assert ("no broker" in caplog.text) is not is_asked


def test_nobody_makes_one_by_hand() -> None:
    with pytest.raises(TypeError, match="comes from `submit`"):
        ReceiptFuture()
