"""Ranges between offset maps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.read.plan import (
    DataLost,
    Patience,
    QueueRange,
    clamp,
    find_losses,
    keep_known,
    limit_bytes,
    limit_rows,
    ranges_between,
    report_loss,
    rows_between,
    split_ranges,
)

Q0, Q1, Q2 = (MessageQueue("orders", "broker-a", number) for number in range(3))
_SIZES = st.lists(st.integers(0, 10_000), min_size=1, max_size=12)


def test_ranges_leave_out_what_is_empty() -> None:
    assert ranges_between({Q0: 1, Q1: 5}, {Q0: 4, Q1: 5}) == [QueueRange(Q0, 1, 4)]


@given(_SIZES, st.integers(1, 40), st.none() | st.integers(1, 500))
def test_splitting_covers_every_offset_once(sizes: list[int], least: int, most: int | None) -> None:
    whole = [QueueRange(MessageQueue("t", "b", i), 100, 100 + size) for i, size in enumerate(sizes) if size]
    pieces = split_ranges(whole, least, most)
    for one in whole:
        own = [piece for piece in pieces if piece.queue == one.queue]
        assert own[0].begin == one.begin
        assert own[-1].end == one.end
        assert all(left.end == right.begin for left, right in pairwise(own))
        assert all(piece.size > 0 for piece in own)
    if most:
        assert all(piece.size <= most for piece in pieces)


def test_large_queues_are_cut_into_more_pieces() -> None:
    pieces = split_ranges([QueueRange(Q0, 0, 900), QueueRange(Q1, 0, 100)], 10)
    assert [piece.queue for piece in pieces].count(Q0) == 9
    assert len(pieces) == 10


def test_fewer_partitions_than_queues_are_not_forced() -> None:
    whole = [QueueRange(Q0, 0, 9), QueueRange(Q1, 0, 1)]
    assert split_ranges(whole, 1) == whole


@given(_SIZES, st.integers(1, 5_000))
def test_a_limit_moves_every_queue_and_none_too_far(sizes: list[int], most: int) -> None:
    start = {MessageQueue("t", "b", i): 7 for i in range(len(sizes))}
    end = {queue: 7 + size for queue, size in zip(start, sizes, strict=True)}
    limited = limit_rows(start, end, most)
    assert rows_between(start, limited) <= most + len(sizes)
    for queue in start:
        assert start[queue] <= limited[queue] <= end[queue]
        assert (limited[queue] > start[queue]) == (end[queue] > start[queue])


def test_a_limit_is_shared_in_proportion() -> None:
    assert limit_rows({Q0: 0, Q1: 0}, {Q0: 900, Q1: 100}, 100) == {Q0: 90, Q1: 10}


def test_a_limit_of_bytes_goes_by_size() -> None:
    sizes = {Q0: 1000.0, Q1: 10.0}
    limited = limit_bytes({Q0: 0, Q1: 0}, {Q0: 100, Q1: 100}, 50_500, lambda queue, _: sizes[queue])
    assert limited == {Q0: 50, Q1: 50}
    assert limit_bytes({Q0: 0}, {Q0: 10}, 10**9, lambda *_: 1.0) == {Q0: 10}


def test_patience_ends_with_rows_or_with_time() -> None:
    patience = Patience(100, 1000)
    assert patience.enough(1, 0), "how long the first rows waited is unknown"
    assert not patience.enough(99, 999)
    assert patience.enough(100, 999)
    assert not patience.enough(5, 1998)
    assert patience.enough(5, 1999)
    assert not patience.enough(0, 10_000)


def test_a_queue_that_is_away_stays_where_it_was() -> None:
    assert keep_known({Q0: 5, Q1: 9}, {Q0: 7, Q2: 3}) == {Q0: 7, Q1: 9, Q2: 3}
    assert keep_known({Q0: 5}, {Q0: 2}) == {Q0: 5}


def test_losses_are_told_apart() -> None:
    losses = find_losses({Q0: 1, Q1: 50, Q2: 5}, {Q0: 4, Q1: 0}, {Q0: 9, Q1: 20})
    assert [loss.split(" ", 1)[1] for loss in losses] == [
        "begins at 4: offsets 1 to 3 have expired",
        "ends at 20, before offset 50: the topic was made anew or lost its end",
        "is gone, from offset 5 on",
    ]
    assert find_losses({Q0: 4}, {Q0: 4}, {Q0: 4}) == []


def test_what_is_lost_is_passed_over() -> None:
    assert clamp({Q0: 1, Q1: 50, Q2: 5}, {Q0: 4, Q1: 0, Q2: 0}, {Q0: 9, Q1: 20, Q2: 6}) == {Q0: 4, Q1: 0, Q2: 5}


def test_loss_fails_or_is_logged() -> None:
    said: list[str] = []
    report_loss(["a", "b"], False, said.append)
    assert said == ["data was lost: a", "data was lost: b"]
    with pytest.raises(DataLost, match=r"a; b .*failOnDataLoss"):
        report_loss(["a", "b"], True, said.append)
    report_loss([], True, said.append)
