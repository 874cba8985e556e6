"""A transaction is visible exactly once when it was committed, and never when it was rolled back or is open.

dirty-read           visible before anybody asked for its commit, or although it was rolled back
lost-commit          committed, and not visible at the end
visible-twice        one transaction, or one row of an exactly-once batch, at two places
torn-batch           an exactly-once batch of which a part is visible at the end
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.fault.history.events import Call, History
from tests.fault.history.findings import Finding, Losses
from tests.fault.history.topics import Generations

#: Where a message was seen: topic, queue, offset.
Seen = dict[str, set[tuple[str, int, int]]]


def check_transactions(history: History, losses: Losses, generations: Generations) -> Iterator[Finding]:
    decisions: dict[str, list[Call]] = defaultdict(list)
    for call in history.of("decide"):
        if call.kind != "fail":
            decisions[call["uid"]].append(call)
    first = _first_reads(history)
    seen, final = seen_at_the_end(history)
    for half in history.of("half"):
        uid = half["uid"]
        yield from _check_visible(uid, first.get(uid), decisions[uid])
        if len(seen[uid]) > 1:
            yield Finding("visible-twice", f"{uid}: {sorted(seen[uid])}")
        committed = [one for one in decisions[uid] if one.is_ok and one["commit"]]
        gone = bool(committed and final) and not seen[uid] and generations.lives(half)
        if gone and losses.fault_behind(committed[0]) is None:
            yield Finding("lost-commit", f"{uid}: {committed[0]}")
    yield from _check_batches(history, seen, bool(final), losses)


def _check_visible(uid: str, read: Call | None, decisions: list[Call]) -> Iterator[Finding]:
    if read is None:
        return
    if not any(one["commit"] and one.begun < read.ended for one in decisions):
        yield Finding("dirty-read", f"{uid} in {read}, decided by {[str(one) for one in decisions]}")


def _first_reads(history: History) -> dict[str, Call]:
    first: dict[str, Call] = {}
    for read in history.ok("read"):
        for _offset, uid in read["found"]:
            if uid not in first or read.ended < first[uid].ended:
                first[uid] = read
    return first


def seen_at_the_end(history: History) -> tuple[Seen, list[Call]]:
    """Where the final reads of one node found each message, and these reads."""
    reads = [call for call in history.ok("read") if call.fields.get("final")]
    seen: Seen = defaultdict(set)
    for read in reads:
        for offset, uid in read["found"]:
            seen[uid].add((read["topic"], read["queue"], offset))
    return seen, reads


def _check_batches(history: History, seen: Seen, final: bool, losses: Losses) -> Iterator[Finding]:
    batches: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in history.of("sink"):
        batches[call["query"], call["batch"]].append(call)
    for name, tries in batches.items():
        uids = list(dict.fromkeys(uid for call in tries for uid in call["uids"]))
        for uid in uids:
            if len(seen[uid]) > 1:
                yield Finding("visible-twice", f"{uid} of {name}: {sorted(seen[uid])}")
        there = [uid for uid in uids if seen[uid]]
        done = [call for call in tries if call.is_ok]
        if not final or any(losses.fault_behind(call) is not None for call in done[:1] or tries):
            continue
        if done and not there:
            yield Finding("lost-commit", f"{name}: {done[0]}")
        elif 0 < len(there) < len(uids):
            yield Finding("torn-batch", f"{name}: {len(there)} of {len(uids)} rows are visible")
