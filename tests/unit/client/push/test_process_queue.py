from __future__ import annotations

import asyncio
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.fakes import stored

from sprocketmq.client.push.process_queue import LOCK_LIFE_S, ProcessQueue
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.client.settings import FlowLimits
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 0)


def messages(*offsets: int) -> list[ReceivedMessage]:
    return split_records(b"".join(stored(b"x", offset) for offset in offsets), "a")


def filled(*offsets: int, following: int | None = None) -> ProcessQueue:
    queue = ProcessQueue(QUEUE)
    queue.start_at(offsets[0])
    queue.put(messages(*offsets), offsets[-1] + 1 if following is None else following)
    return queue


def test_nothing_to_commit_before_the_first_pull() -> None:
    assert ProcessQueue(QUEUE).commit_offset is None


def test_commit_stops_at_the_first_unsettled() -> None:
    queue = filled(5, 6, 7)
    first, second, third = queue.take(3)
    assert queue.settle([second, third]) == 5
    assert queue.settle([first]) == 8
    assert (queue.count, queue.size_bytes) == (0, 0)


def test_filtered_tail_is_passed() -> None:
    queue = filled(5, 6, following=20)
    assert queue.settle(queue.take(2)) == 20


def test_put_back_keeps_the_order() -> None:
    queue = filled(1, 2, 3)
    taken = queue.take(2)
    queue.put_back(taken)
    assert [message.queue_offset for message in queue.take(3)] == [1, 2, 3]


def test_drop_lets_the_next_owner_begin_with_what_was_not_handed_out() -> None:
    queue = filled(1, 2, 3, 4)
    in_hand = queue.take(2)
    queue.drop()
    assert queue.take(1) == []
    assert queue.commit_offset == 1
    assert queue.settle(in_hand) == 3


def test_restart_forgets_what_is_in_hand() -> None:
    queue = filled(1, 2)
    in_hand = queue.take(1)
    queue.restart_at(100)
    assert queue.settle(in_hand) == 100


@pytest.mark.parametrize(
    ("limits", "bound_span", "full"),
    [
        (FlowLimits(count=2), False, True),
        (FlowLimits(count=3), False, False),
        (FlowLimits(size_bytes=10), False, True),
        (FlowLimits(span=5), True, True),
        (FlowLimits(span=5), False, False),
    ],
)
def test_flow_limits(limits: FlowLimits, bound_span: bool, full: bool) -> None:
    assert filled(1, 100).is_full(limits, bound_span=bound_span) is full


async def test_room_comes_with_settling() -> None:
    queue, limits = filled(1, 2), FlowLimits(count=2)
    waiting = asyncio.ensure_future(queue.room(limits, bound_span=False))
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.settle(queue.take(1))
    await asyncio.wait_for(waiting, 60)


def test_lock_is_trusted_for_half_its_life() -> None:
    now = [0.0]
    queue = ProcessQueue(QUEUE, lambda: now[0])
    states = [queue.is_locked]
    queue.lock()
    states.append(queue.is_locked)
    now[0] = LOCK_LIFE_S
    states.append(queue.is_locked)
    assert states == [False, True, False]


@given(
    gaps=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    data=st.data(),
)
def test_no_order_of_settling_skips_a_message(gaps: list[int], data: st.DataObject) -> None:
    offsets = list(accumulate(gaps))
    queue = filled(*offsets)
    left = queue.take(len(offsets))
    while left:
        message = left.pop(data.draw(st.integers(0, len(left) - 1)))
        commit = queue.settle([message])
        assert commit == min((m.queue_offset for m in left), default=offsets[-1] + 1)
