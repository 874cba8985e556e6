"""A logical queue as a list of items: stretches of it, oldest first, each held by one queue of one broker.

    item   generation, broker, queue; `start_offset` there is `logic_offset` of the logical queue
    leader the last item: its broker takes the messages and answers for the whole queue

While a queue moves, the new leader already takes messages although nobody has decided yet where its item begins: its
`logic_offset` is negative until then, and nothing can be read from it. `end_offset` is -1 as long as it is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem

Items = Sequence[LogicQueueMappingItem]


def is_decided(item: LogicQueueMappingItem) -> bool:
    """Whether it is known where in the logical queue the item begins."""
    return item.logic_offset >= 0


def is_ended(item: LogicQueueMappingItem) -> bool:
    return item.end_offset > item.start_offset


def to_logical(item: LogicQueueMappingItem, offset: int) -> int:
    """The offset in the logical queue; -1 where that is not decided."""
    return item.logic_offset + max(0, offset - item.start_offset) if is_decided(item) else -1


def to_physical(item: LogicQueueMappingItem, offset: int) -> int:
    return item.start_offset + offset - item.logic_offset


def within(item: LogicQueueMappingItem, offset: int) -> int:
    """The physical `offset`, or the end of the item when that is before it."""
    return min(offset, item.end_offset) if is_ended(item) else offset


def item_at(items: Items, offset: int) -> LogicQueueMappingItem | None:
    """The item that holds a logical offset; the oldest one for what is before all of them."""
    decided = [item for item in items if is_decided(item)]
    return next((item for item in reversed(decided) if offset >= item.logic_offset), decided[0] if decided else None)


def item_after(items: Items, item: LogicQueueMappingItem) -> LogicQueueMappingItem | None:
    """The next one that can be read."""
    return next((each for each in items if each.gen > item.gen and is_decided(each)), None)


def items_fault(items: Items) -> str | None:
    """What is wrong with the items of a logical queue in themselves."""
    for item in items:
        if min(item.start_offset, item.gen, item.queue_id) < 0:
            return f"generation {item.gen}: no generation, queue or start offset is negative"
        if item.end_offset != -1 and item.end_offset < item.start_offset:
            return f"generation {item.gen} ends before it starts"
    for item, following in pairwise(items):
        if following.gen <= item.gen:
            return f"generation {following.gen} comes after generation {item.gen}"
        if not is_decided(item):
            return f"generation {item.gen} has no logical offset, and it is not the last"
        if is_decided(following) and following.logic_offset <= to_logical(item, max(item.end_offset, 0)):
            return f"generation {following.gen} begins before generation {item.gen} ends"
    return None


def change_fault(old: Items, new: Items, *, same_epoch: bool) -> str | None:
    """Why `new` cannot follow `old`: items come and go at both ends, but what an item says of itself stays."""
    if not old:
        return None
    if not new:
        return "the new list has no items"
    known = {item.gen: item for item in old}
    for item in new:
        before = known.get(item.gen)
        if before is not None and not _is_same(before, item):
            return f"generation {item.gen} has changed"
    if same_epoch and (new[-1].gen != old[-1].gen or not _is_same(old[-1], new[-1])):
        return "the leader has changed, but the epoch has not"
    return None


def _is_same(before: LogicQueueMappingItem, after: LogicQueueMappingItem) -> bool:
    place = before.bname, before.queue_id, before.start_offset
    is_moved = is_decided(before) and before.logic_offset != after.logic_offset
    return place == (after.bname, after.queue_id, after.start_offset) and not is_moved
