from __future__ import annotations

import pytest
from tests.unit.broker.static_topic.support import A, B, item

from sprocketmq.broker.static_topic.mapping_items import (
    change_fault,
    item_after,
    item_at,
    items_fault,
    to_logical,
    to_physical,
    within,
)
from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem

MOVED = (item(0, A, 0, end=7), item(1, B, 500), item(2, A, -1))


def test_offsets_are_turned_both_ways() -> None:
    stretch = LogicQueueMappingItem(gen=1, bname=A, logic_offset=500, start_offset=20, end_offset=90)
    assert [to_logical(stretch, physical) for physical in (3, 20, 25)] == [500, 500, 505]
    assert to_physical(stretch, 505) == 25
    assert [within(stretch, physical) for physical in (80, 95)] == [80, 90]
    assert to_logical(item(2, A, -1), 4) == -1


def test_an_offset_is_held_by_the_last_item_that_begins_before_it() -> None:
    found = [item_at(MOVED, offset) for offset in (0, 499, 500, 1 << 62)]
    assert [each and each.gen for each in found] == [0, 0, 1, 1]
    assert item_at((item(3, A, 40),), 5) == item(3, A, 40)
    assert item_at((item(3, A, -1),), 5) is None


def test_after_an_item_comes_the_next_that_can_be_read() -> None:
    assert item_after(MOVED, MOVED[0]) is MOVED[1]
    assert item_after(MOVED, MOVED[1]) is None


def test_items_in_order_are_faultless() -> None:
    assert items_fault(MOVED) is None
    assert items_fault(()) is None


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ((item(-1, A, 0),), "negative"),
        ((LogicQueueMappingItem(gen=1, bname=A, start_offset=9, end_offset=3),), "ends before"),
        ((item(1, A, 0), item(1, B, 500)), "comes after"),
        ((item(0, A, -1), item(1, B, 500)), "no logical offset"),
        ((item(0, A, 0, end=500), item(1, B, 500)), "begins before"),
    ],
)
def test_faults(items: tuple[LogicQueueMappingItem, ...], says: str) -> None:
    assert says in (items_fault(items) or "")


def test_items_come_and_go_at_both_ends() -> None:
    decided = (*MOVED[:2], item(2, A, 900))
    assert change_fault(MOVED, decided, same_epoch=True) is None
    assert change_fault(decided, decided[1:], same_epoch=True) is None
    assert change_fault(MOVED[:1], MOVED[:2], same_epoch=False) is None
    assert change_fault((), MOVED, same_epoch=True) is None


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ((), "no items"),
        ((item(0, B, 0), item(1, B, 500)), "generation 0 has changed"),
        ((item(0, A, 0), item(1, B, 400)), "generation 1 has changed"),
        ((item(0, A, 0), item(1, B, 500, queue_id=1)), "generation 1 has changed"),
        ((item(0, A, 0), item(1, B, 500), item(2, A, -1)), "epoch has not"),
    ],
)
def test_what_an_item_says_of_itself_stays(new: tuple[LogicQueueMappingItem, ...], says: str) -> None:
    assert says in (change_fault(MOVED[:2], new, same_epoch=True) or "")
