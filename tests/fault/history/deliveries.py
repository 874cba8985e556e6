"""What the broker brings by itself: delays, retries, POP.

early, late      a delay that comes before its time, or is not there when it should be and comes later
undelivered      a delay or a message that was sent back, and was never seen again
delivered-twice  one delay at two places, and no fault explains it
recalled         delivered, although its recall was acknowledged before
popped-twice     taken by another while it was invisible, or after its acknowledgement
never-popped     sent to a topic that is popped to its end, and taken by nobody; or taken, not acked, and not again
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.fault.history.events import Call, History
from tests.fault.history.findings import Finding, Losses
from tests.fault.history.topics import Generations
from tests.fault.history.transactions import seen_at_the_end


def check_delays(history: History, losses: Losses, generations: Generations) -> Iterator[Finding]:
    promises = losses.promises
    reads: dict[str, list[Call]] = defaultdict(list)
    for read in history.ok("read"):
        for _offset, uid in read["found"]:
            reads[uid].append(read)
    recalled = {call["uid"]: call for call in history.of("recall") if call.kind != "fail"}
    seen, final = seen_at_the_end(history)
    for call in history.of("delay"):
        uid, found = call["uid"], sorted(reads[call["uid"]], key=lambda one: one.ended)
        recall = recalled.get(uid)
        due = call.begun_ms + call["delay_ms"]
        if found and found[0].ended_ms < due - promises.early_ms:
            yield Finding("early", f"{call} in {found[0]}, {due - found[0].ended_ms} ms too early")
        kept = recall is not None and recall.is_ok and losses.fault_behind(recall) is None
        if recall is not None and kept and found and recall.before(found[0]):
            yield Finding("recalled", f"{uid} in {found[0]}, after {recall}")
        if len(seen[uid]) > 1 and not losses.faults:
            yield Finding("delivered-twice", f"{uid}: {sorted(seen[uid])}")
        if call.is_ok and recall is None and generations.lives(call):
            yield from _check_in_time(call, found, final, losses)


def _check_in_time(call: Call, found: list[Call], final: list[Call], losses: Losses) -> Iterator[Finding]:
    last = call.ended_ms + call["delay_ms"] + losses.promises.late_ms
    if not found:
        over = any(read["topic"] == call["topic"] and read.begun_ms > last for read in final)
        if over and losses.fault_behind(call) is None:
            yield Finding("undelivered", str(call))
        return
    asked = [fault for fault in losses.faults if fault.ended_ms > last]
    if found[0].begun_ms > last and not asked and call.fields.get("watched"):
        yield Finding("late", f"{call} in {found[0]}, {found[0].begun_ms - last} ms too late")


def check_retries(history: History, losses: Losses) -> Iterator[Finding]:
    for call in history.ok("retry"):
        topic = f"%RETRY%{call['group']}"
        later = [read for read in history.ok("read") if read["topic"] == topic and read.ended > call.begun]
        if any(uid == call["uid"] for read in later for _offset, uid in read["found"]):
            continue
        if any(read.fields.get("final") for read in later) and losses.fault_behind(call) is None:
            yield Finding("undelivered", f"sent back and gone: {call}")


def check_pops(history: History, losses: Losses) -> Iterator[Finding]:
    taken: dict[tuple[str, str], list[Call]] = defaultdict(list)
    settled: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in history.ok("pop"):
        for uid in set(call["uids"]):
            taken[call["group"], uid].append(call)
    for call in history.of("ack", "renew"):
        if call.kind != "fail":
            settled[call["group"], call["uid"]].append(call)
    sent = {uid: call for call in history.of("send") for uid in call["uids"]}
    for key, pops in taken.items():
        pops.sort(key=lambda one: one.ended)
        yield from _check_taken(key[1], sent.get(key[1], pops[0]), pops, settled[key], losses)
    yield from _check_all_taken(history, taken, settled, losses)


def _check_taken(
    uid: str, sent: Call, pops: list[Call], settled: list[Call], losses: Losses
) -> Iterator[Finding]:  # fmt: skip
    """After a fault there may be two copies of a message; from then on each is judged by itself."""
    for earlier, later in _pairs(uid, sent, pops, losses):
        between = [one for one in settled if earlier.before(one) and one.begun < later.ended]
        acked = next((one for one in between if one.name == "ack" and one.is_ok and one.before(later)), None)
        if acked is not None and acked.ended_ms < _visible_ms(earlier, between):
            yield Finding("popped-twice", f"{uid} by {later}, after {acked}")
        elif later.ended_ms < _visible_ms(earlier, between) - losses.promises.slack_ms:
            yield Finding("popped-twice", f"{uid} by {later}, invisible since {earlier}")


def _pairs(uid: str, sent: Call, pops: list[Call], losses: Losses) -> Iterator[tuple[Call, Call]]:
    for at, later in enumerate(pops):
        for earlier in reversed(pops[:at]):
            copied = losses.repeated_between(sent, later)
            if copied and (losses.repeated_between(earlier, later) or _copies(earlier, uid) != _copies(later, uid)):
                continue
            yield earlier, later
            break


def _copies(pop: Call, uid: str) -> list[str]:
    """One take may bring both copies: then nobody can tell them apart any more."""
    return [copy for one, copy in zip(pop["uids"], pop.fields.get("copies") or pop["uids"], strict=True) if one == uid]


def _visible_ms(pop: Call, renewals: list[Call]) -> int:
    """When others may have it at the earliest. A renewal of unknown outcome may have shortened it to nothing."""
    visible: int = pop.begun_ms + pop["invisible_ms"]
    for call in renewals:
        if call.name == "renew":
            visible = call.begun_ms + call["invisible_ms"] if call.is_ok else min(visible, call.begun_ms)
    return visible


def _check_all_taken(
    history: History, taken: dict[tuple[str, str], list[Call]], settled: dict[tuple[str, str], list[Call]],
    losses: Losses,
) -> Iterator[Finding]:  # fmt: skip
    """`pop` with `final` says: long after the last invisible time, this group was given all there is."""
    drained = [call for call in history.ok("pop") if call.fields.get("final")]
    for last in drained:
        for send in history.ok("send"):
            if send["topic"] != last["topic"] or not send.before(last) or losses.fault_behind(send) is not None:
                continue
            for uid in send["uids"]:
                key = last["group"], uid
                pops = taken[key]
                acked = any(one.name == "ack" for one in settled[key])
                if not pops or (not acked and max(one.ended for one in pops) < last.begun):
                    yield Finding("never-popped", f"{uid} of {send}, group {last['group']}")
