"""A lock is a mutex, and an epoch has one leader.

held-by-two    two clients were told that they hold one queue's lock, and the times of both overlap for certain
handled-by-two two clients ran an orderly handler for one queue at once
two-leaders    two nodes led in one epoch
diverged       two nodes have different bytes in what both call confirmed
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from tests.fault.history.events import NEVER, Call, History
from tests.fault.history.findings import Finding, Losses


def check_locks(history: History, losses: Losses) -> Iterator[Finding]:
    """A restart of the broker forgets locks, as RocketMQ's does: then a client may hold what another got anew."""
    unlocks = [call for call in history.of("unlock") if call.kind != "fail"]
    held: dict[Hashable, list[tuple[int, int, Call]]] = defaultdict(list)
    for call in history.ok("lock"):
        until = call.begun_ms + call["lease_ms"] - losses.promises.slack_ms
        given = [
            one.begun_ms for one in unlocks if one.process == call.process and call.before(one) and _same(call, one)
        ]
        down = [fault.begun_ms for fault in losses.faults if fault.ended > call.begun]
        held[_queue(call)].append((call.ended_ms, min([until, *given, *down]), call))
    for holds in held.values():
        yield from _overlaps(holds, "held-by-two")


def check_handlers(history: History) -> Iterator[Finding]:
    handled: dict[Hashable, list[tuple[int, int, Call]]] = defaultdict(list)
    for call in history.of("handle"):
        end = call.ended_ms if call.ended < NEVER else call.begun_ms
        handled[_queue(call)].append((call.begun_ms, end, call))
    for holds in handled.values():
        yield from _overlaps(holds, "handled-by-two")


def check_leaders(history: History) -> Iterator[Finding]:
    leaders: dict[tuple[str, int], str] = {}
    for call in history.ok("lead"):
        group = call.fields.get("group", "")
        first = leaders.setdefault((group, call["epoch"]), call["node"])
        if first != call["node"]:
            yield Finding("two-leaders", f"{first} and {call['node']} in epoch {call['epoch']}")


def check_logs(history: History) -> Iterator[Finding]:
    logs = list(history.ok("log"))
    for at, one in enumerate(logs):
        for other in logs[at + 1 :]:
            for piece, (left, right) in enumerate(zip(one["digests"], other["digests"], strict=False)):
                if left != right:
                    yield Finding("diverged", f"{one['node']} and {other['node']} at piece {piece}")
                    break


def _queue(call: Call) -> Hashable:
    return call["group"], call["topic"], call["queue"]


def _same(one: Call, other: Call) -> bool:
    return _queue(one) == _queue(other)


def _overlaps(holds: list[tuple[int, int, Call]], rule: str) -> Iterator[Finding]:
    """Two of different processes whose times overlap for certain."""
    holds = sorted(holds, key=lambda one: (one[0], one[1]))
    latest: tuple[int, int, Call] | None = None
    for hold in holds:
        if latest is not None and hold[0] < latest[1] and hold[2].process != latest[2].process:
            yield Finding(rule, f"{latest[2]} and {hold[2]}")
        if latest is None or hold[1] > latest[1]:
            latest = hold
