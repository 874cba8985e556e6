"""A queue is a total order: each offset holds one message for ever, in the order in which sends ended.

phantom              read, and never sent; a torn message has a uid that nobody sent
aborted-read         read, although its sender was told that it does not exist
duplicate            one message at two offsets
inconsistent         two messages at one offset
lost-prefix, lost-middle, lost-postfix
                     acknowledged, and not there when its place was read
vanished             read once, and not there when its place was read again
hole                 an offset between others without a message
reordered            sent after another had been acknowledged, and placed before it
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.fault.history.events import Call, History, Kind
from tests.fault.history.findings import Finding, Losses
from tests.fault.history.topics import Generations

#: topic, generation, queue.
Place = tuple[str, int, int]


@dataclass
class QueueHistory:
    """Everything that was done to one queue of one generation of its topic."""

    place: Place
    sent: list[tuple[int, str, Call]] = field(default_factory=list)
    reads: list[Call] = field(default_factory=list)


def check_queues(history: History, losses: Losses, generations: Generations) -> Iterator[Finding]:
    yield from _check_uids(history)
    again = {call["uid"] for call in history.of("delay", "retry")}  # after a fault these may come twice
    again |= {uid for call in history.ok("send") if call.fields.get("lost_tries") for uid in call["uids"]}
    for queue in _by_queue(history, generations).values():
        yield from _check_offsets(queue, losses, again)
        yield from _check_reads(queue, losses)
        yield from _check_order(queue, losses)


def _by_queue(history: History, generations: Generations) -> dict[Place, QueueHistory]:
    queues: dict[Place, QueueHistory] = {}
    for call in history.ok("send", "read"):
        if not generations.certain(call):
            continue
        place = (call["topic"], generations.of(call), call["queue"])
        queue = queues.setdefault(place, QueueHistory(place))
        if call.name == "read":
            queue.reads.append(call)
        else:
            queue.sent += ((call["offset"] + index, uid, call) for index, uid in enumerate(call["uids"]))
    return queues


def _check_uids(history: History) -> Iterator[Finding]:
    """What is read anywhere must come from somewhere."""
    kinds: dict[str, Kind] = {}
    for call in history.of("send", "half", "delay", "sink"):
        for uid in call.fields.get("uids") or [call["uid"]]:
            kinds[uid] = call.kind if call.name != "sink" or call.kind is not Kind.FAIL else Kind.INFO
    told: set[str] = set()
    for read in history.ok("read"):
        for offset, uid in read["found"]:
            if uid in told:
                continue
            if uid not in kinds:
                told.add(uid)
                yield Finding("phantom", f"{uid} at {read['topic']}/{read['queue']}/{offset}")
            elif kinds[uid] is Kind.FAIL:
                told.add(uid)
                yield Finding("aborted-read", f"{uid} at {read['topic']}/{read['queue']}/{offset}")


def _check_offsets(queue: QueueHistory, losses: Losses, again: set[str]) -> Iterator[Finding]:
    """One message for an offset and one offset for a message, as told to senders and as seen by readers."""
    claims: dict[int, dict[str, Call]] = defaultdict(dict)
    places: dict[str, set[int]] = defaultdict(set)
    for offset, uid, call in queue.sent:
        claims[offset].setdefault(uid, call)
        places[uid].add(offset)
    for read in queue.reads:
        for offset, uid in read["found"]:
            claims[offset].setdefault(uid, read)
            places[uid].add(offset)
    for uid, offsets in places.items():
        if len(offsets) > 1 and uid not in again:
            yield Finding("duplicate", f"{uid} at {queue.place}: {sorted(offsets)}")
    for offset, claimed in claims.items():
        kept = sorted(uid for uid, call in claimed.items() if losses.fault_behind(call) is None)
        if len(kept) > 1:
            yield Finding("inconsistent", f"{queue.place} at {offset}: {kept}")


class Known(NamedTuple):
    """A message whose place somebody was told, or saw, by `call`."""

    offset: int
    uid: str
    call: Call
    rule: str


def _check_reads(queue: QueueHistory, losses: Losses) -> Iterator[Finding]:
    """What was acknowledged or read before is there whenever its place is read."""
    known = _known(queue)
    offsets = [one.offset for one in known]
    told: set[str] = set()
    for read in queue.reads:
        least = max(read["at"], read.fields.get("least", 0))
        yield from _holes(queue.place, read, least)
        found = {uid for _, uid in read["found"]}
        last = len(known) if read.fields.get("final", False) else bisect_left(offsets, read["upto"])
        for one in known[bisect_left(offsets, least) : last]:
            if one.uid in found or one.uid in told or not one.call.before(read):
                continue
            behind = [other for other in known if other.offset > one.offset and other.uid in found]
            if _went_with_a_fault(one, behind, losses):
                continue
            told.add(one.uid)
            rule = one.rule or _where(one.offset, read, least, bool(behind))
            yield Finding(rule, f"{one.uid} at {queue.place}/{one.offset} by {one.call}, not in {read}")


def _known(queue: QueueHistory) -> list[Known]:
    known = {uid: Known(offset, uid, call, "") for offset, uid, call in queue.sent}
    for read in queue.reads:
        for offset, uid in read["found"]:
            if uid not in known:
                known[uid] = Known(offset, uid, read, "vanished")
    return sorted(known.values(), key=lambda one: one.offset)


def _went_with_a_fault(one: Known, behind: list[Known], losses: Losses) -> bool:
    """Whether the mode allows it: the end of the queue is gone, and what is behind it came later."""
    fault = losses.fault_behind(one.call)
    return fault is not None and all(other.call.ended > fault.begun for other in behind)


def _holes(place: Place, read: Call, least: int) -> Iterator[Finding]:
    offsets = [offset for offset, _ in read["found"]]
    wanted = list(range(offsets[0] if offsets[0] > least else least, offsets[-1] + 1)) if offsets else []
    if offsets != wanted:
        missing = sorted(set(wanted) - set(offsets)) or "order"
        yield Finding("hole", f"{place}: {missing} in {read}")


def _where(offset: int, read: Call, least: int, something_behind: bool) -> str:
    if not something_behind:
        return "lost-postfix"
    before = [one for one, _ in read["found"] if least <= one < offset]
    return "lost-middle" if before else "lost-prefix"


def _check_order(queue: QueueHistory, losses: Losses) -> Iterator[Finding]:
    """A send that began after another was acknowledged lies behind it, unless a fault may have taken the other."""
    by_begin = sorted(queue.sent, key=lambda one: (one[2].begun, one[0]))
    by_end = sorted(queue.sent, key=lambda one: one[2].ended)
    highest: tuple[int, str] | None = None
    ended = 0
    for offset, uid, call in by_begin:
        while ended < len(by_end) and by_end[ended][2].ended < call.begun:
            other_offset, other, other_call = by_end[ended]
            ended += 1
            if losses.fault_behind(other_call) is None and (highest is None or other_offset > highest[0]):
                highest = other_offset, other
        if highest is not None and offset < highest[0]:
            yield Finding("reordered", f"{uid} at {queue.place}/{offset}, behind {highest[1]} at {highest[0]}")
