from __future__ import annotations

import pytest

from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.epochs import Epoch, EpochList, consistent_point, is_superseded


def epochs(*pairs: tuple[int, int]) -> EpochList:
    return EpochList([Epoch(*pair) for pair in pairs])


def test_an_epoch_begins_behind_the_last() -> None:
    mine = epochs((1, 0))
    assert mine.add(Epoch(3, 100))
    assert mine == epochs((1, 0), (3, 100))


@pytest.mark.parametrize("late", [(1, 200), (3, 200), (2, 100), (4, 99)])
def test_an_epoch_that_is_not_later_is_refused(late: tuple[int, int]) -> None:
    mine = epochs((1, 0), (3, 100))
    assert not mine.add(Epoch(*late))
    assert mine == epochs((1, 0), (3, 100))


def test_an_epoch_without_bytes_gives_way() -> None:
    mine = epochs((1, 0), (2, 100))
    assert mine.add(Epoch(5, 100))
    assert mine == epochs((1, 0), (5, 100))
    first = epochs((1, 0))
    assert first.add(Epoch(2, 0))
    assert first == epochs((2, 0))


def test_the_epoch_of_a_byte() -> None:
    mine = epochs((1, 10), (2, 100))
    assert [mine.at(offset) for offset in (9, 10, 99, 100, 10**9)] == [
        None, Epoch(1, 10), Epoch(1, 10), Epoch(2, 100), Epoch(2, 100)
    ]  # fmt: skip


def test_epochs_follow_the_log_at_both_ends() -> None:
    mine = epochs((1, 0), (2, 100), (3, 200))
    assert not mine.cut(201)
    assert mine.cut(200)
    assert mine == epochs((1, 0), (2, 100))
    assert not mine.expire(99)
    assert mine.expire(100)
    assert mine == epochs((2, 100))
    assert not mine.expire(10**9)  # the last epoch is that of the bytes to come
    assert epochs((1, 0), (2, 5)).cut(0)


def test_epochs_that_nobody_sent_are_dropped() -> None:
    mine = epochs((1, 0), (4, 100), (5, 200))
    assert mine.drop_from(4)
    assert mine == epochs((1, 0))
    assert not mine.drop_from(4)


def test_a_list_that_does_not_grow_is_none() -> None:
    with pytest.raises(FrameError, match="epoch 1 at 5 comes after 2 at 0"):
        epochs((2, 0), (1, 5))


@pytest.mark.parametrize(
    ("mine", "my_end", "theirs", "their_end", "point"),
    [
        (epochs((1, 0)), 50, epochs((1, 0)), 80, 50),  # behind
        (epochs((1, 0)), 80, epochs((1, 0)), 50, 50),  # ahead of the same master
        (epochs((1, 0)), 80, epochs((1, 0), (2, 60)), 100, 60),  # a tail nobody had
        (epochs((1, 0)), 40, epochs((1, 0), (2, 60)), 100, 40),  # missed the election
        (epochs((1, 0), (2, 50)), 90, epochs((1, 0), (3, 70)), 100, 50),  # master of an epoch nobody else saw
        (epochs((1, 0), (2, 50)), 90, epochs((1, 0), (2, 60)), 100, 50),  # one number, two beginnings
        (epochs((2, 50)), 90, epochs((1, 0), (2, 50), (3, 70)), 100, 70),  # the first files are gone
        (epochs((1, 0)), 90, epochs((2, 0)), 100, None),
        (epochs(), 0, epochs((1, 0)), 10, None),
    ],
)
def test_up_to_where_two_logs_agree(
    mine: EpochList, my_end: int, theirs: EpochList, their_end: int, point: int | None
) -> None:
    assert consistent_point(mine, my_end, theirs, their_end) == point


@pytest.mark.parametrize(
    ("mine", "theirs", "superseded"),
    [
        (epochs((1, 0)), epochs((2, 0)), True),  # nobody had what the first master wrote
        (epochs((1, 0)), epochs((3, 500)), True),  # the files of the epoch that was shared are gone
        (epochs((1, 0), (3, 500)), epochs((2, 300), (4, 800)), True),  # and one that only the log here has
        (epochs((1, 0)), epochs((1, 50)), False),  # one number, two beginnings
        (epochs((1, 0), (3, 500)), epochs((1, 50), (4, 800)), False),
        (epochs((5, 900)), epochs((1, 0)), False),  # the master is the older one
        (epochs(), epochs((1, 0)), False),
        (epochs((1, 0)), epochs(), False),
    ],
)
def test_a_log_of_which_nothing_is_left_at_its_master(mine: EpochList, theirs: EpochList, superseded: bool) -> None:
    assert is_superseded(mine, theirs) is superseded
