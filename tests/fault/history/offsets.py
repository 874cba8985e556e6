"""What a group has committed is a promise in both directions.

offset-back     a commit that was acknowledged is forgotten, and no fault explains it
offset-forward  an offset that nobody committed
offset-ahead    a committed offset behind the end of its queue: what comes there next is never consumed
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.fault.history.events import Call, History
from tests.fault.history.findings import Finding, Losses
from tests.fault.history.topics import Generations


def check_offsets(history: History, losses: Losses, generations: Generations) -> Iterator[Finding]:
    commits: dict[tuple[str, str, int], list[Call]] = defaultdict(list)
    ends: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in history.of("commit"):
        if call.kind != "fail":
            commits[call["group"], call["topic"], call["queue"]].append(call)
    for call in history.ok("end"):
        ends[call["topic"], call["queue"]].append(call)
    for fetch in history.ok("fetch"):
        if not generations.certain(fetch):
            continue
        generation = generations.of(fetch)
        mine = [
            one
            for one in commits[fetch["group"], fetch["topic"], fetch["queue"]]
            if one.begun < fetch.ended and generations.of(one) == generation
        ]
        yield from _check_fetch(fetch, mine, losses)
        yield from _check_end(fetch, ends[fetch["topic"], fetch["queue"]], losses, generations)


def _check_fetch(fetch: Call, commits: list[Call], losses: Losses) -> Iterator[Finding]:
    offset = fetch["offset"] or 0  # none at all is as good as the beginning
    if offset > max((one["offset"] for one in commits), default=0):
        yield Finding("offset-forward", f"{fetch}: nobody committed that")
    settled = [one for one in commits if one.is_ok and one.before(fetch) and not losses.repeated_between(one, fetch)]
    if not settled:
        return
    last = max(settled, key=lambda one: one.ended)
    overlapping = [one["offset"] for one in commits if one.ended > last.begun]
    if offset < min(overlapping):
        yield Finding("offset-back", f"{fetch}, after {last}")


def _check_end(fetch: Call, ends: list[Call], losses: Losses, generations: Generations) -> Iterator[Finding]:
    """Ends only grow, but for a fault that takes messages or a deletion."""
    for end in ends:
        if (
            fetch.before(end)
            and end["offset"] < (fetch["offset"] or 0)
            and generations.of(end) == generations.of(fetch)
            and not losses.any_between(fetch, end)
        ):
            yield Finding("offset-ahead", f"{fetch}, but {end}")
            return
