"""Each rule of the checker finds the history that breaks it, and no other rule does; and a good history is passed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fault.history.checker import check
from tests.fault.history.events import History, OpenCall, merge
from tests.fault.history.findings import Promises

ASYNC = Promises(may_lose_ms={"power": 500})


class Told:
    """Writes a history: each call takes a millisecond on either side."""

    def __init__(self) -> None:
        self.now = 0
        self.history = History(self._tick)

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def __call__(self, name: str, process: str = "a", **fields: Any) -> OpenCall:
        defaults: dict[str, Any] = {"topic": "T"}
        if name in ("send", "read", "commit", "fetch", "end", "lock", "unlock", "handle"):
            defaults["queue"] = 0
        if name in ("commit", "fetch", "pop", "ack", "renew", "lock", "unlock", "handle", "retry"):
            defaults["group"] = "G"
        return self.history.begin(process, name, **{**defaults, **fields})

    def ok(self, name: str, process: str = "a", answer: dict[str, Any] | None = None, **fields: Any) -> None:
        self(name, process, **fields).ok(**(answer or {}))

    def send(self, offset: int, *uids: str, process: str = "a", **fields: Any) -> None:
        self.ok("send", process, {"offset": offset}, uids=list(uids), **fields)

    def read(self, *found: tuple[int, str], at: int = 0, final: bool = False, topic: str = "T") -> None:
        upto = found[-1][0] + 1 if found else at
        self.ok("read", "r", {"found": list(found), "upto": upto}, at=at, final=final, topic=topic)

    def fault(self, kind: str) -> None:
        self.ok("fault", "nemesis", kind=kind)


def phantom(told: Told) -> None:
    told.read((0, "torn"), final=True)


def aborted_read(told: Told) -> None:
    told("send", uids=["x"]).fail()
    told.read((0, "x"), final=True)


def duplicate(told: Told) -> None:
    told.send(0, "x")
    told.read((0, "x"), (1, "x"), final=True)


def inconsistent(told: Told) -> None:
    told("send", "b", uids=["y"]).ok(offset=0)
    told.read((0, "y"))
    told.send(0, "x", process="c")


def lost_prefix(told: Told) -> None:
    told.send(0, "x")
    told.send(1, "y")
    told.read((1, "y"), final=True)


def lost_middle(told: Told) -> None:
    for offset, uid in enumerate("xyz"):
        told.send(offset, uid)
    told.read((0, "x"), (2, "z"), final=True)


def lost_postfix(told: Told) -> None:
    told.send(0, "x")
    told.send(1, "y")
    told.fault("kill")
    told.read((0, "x"), final=True)


def vanished(told: Told) -> None:
    told("send", uids=["x"]).info()
    told.read((0, "x"))
    told.fault("power")
    told.read(final=True)


def hole(told: Told) -> None:
    told.send(0, "x")
    told("send", uids=["y"]).info()
    told.read((0, "x"), (2, "y"), final=True)


def reordered(told: Told) -> None:
    told.send(5, "x")
    told.send(4, "y")


def back_from_the_dead(told: Told) -> None:
    told.send(0, "x")
    told.ok("delete")
    told.fault("kill")
    told.read((0, "x"), final=True)


def offset_back(told: Told) -> None:
    told.ok("commit", offset=10)
    told.fault("stop")
    told.ok("fetch", answer={"offset": 3})


def offset_forward(told: Told) -> None:
    told.ok("commit", offset=10)
    told.fault("kill")
    told.ok("fetch", answer={"offset": 11})


def offset_ahead(told: Told) -> None:
    told.ok("commit", offset=15)
    told.fault("power")
    told.ok("fetch", answer={"offset": 15})
    told.ok("end", answer={"offset": 5})


def dirty_read(told: Told) -> None:
    told.ok("half", uid="x")
    told.read((0, "x"))
    told.ok("decide", uid="x", commit=True)


def rolled_back(told: Told) -> None:
    told.ok("half", uid="x")
    told.ok("decide", uid="x", commit=False)
    told.read((0, "x"), final=True)


def lost_commit(told: Told) -> None:
    told.ok("half", uid="x")
    told.ok("decide", uid="x", commit=True)
    told.fault("power")
    told.read(final=True)


def visible_twice(told: Told) -> None:
    told("sink", query="q", batch=1, uids=["x", "y"]).info()
    told.ok("sink", query="q", batch=1, uids=["x", "y"])
    told.read((0, "x"), (1, "y"), final=True)
    told.ok("read", "r", {"found": [(0, "x")], "upto": 1}, queue=1, at=0, final=True)


def torn_batch(told: Told) -> None:
    told("sink", query="q", batch=1, uids=["x", "y"]).info()
    told.read((0, "x"), final=True)


def early(told: Told) -> None:
    told.ok("delay", uid="x", delay_ms=1000)
    told.read((0, "x"))


def late(told: Told) -> None:
    told.ok("delay", uid="x", delay_ms=1000, watched=True)
    told.now += 60_000
    told.read((0, "x"))


def undelivered(told: Told) -> None:
    told.ok("delay", uid="x", delay_ms=1000)
    told.now += 60_000
    told.read(final=True)


def retry_gone(told: Told) -> None:
    told.send(0, "x")
    told.ok("retry", uid="x")
    told.read(final=True, topic="%RETRY%G")


def delivered_twice(told: Told) -> None:
    told.ok("delay", uid="x", delay_ms=0)
    told.read((0, "x"), final=True)
    told.ok("read", "r", {"found": [(0, "x")], "upto": 1}, queue=1, at=0, final=True)


def recalled(told: Told) -> None:
    told.ok("delay", uid="x", delay_ms=5)
    told.ok("recall", uid="x")
    told.now += 50
    told.read((0, "x"))


def popped_twice(told: Told) -> None:
    told.ok("pop", answer={"uids": ["x"]}, invisible_ms=100)
    told.now += 60
    told.ok("renew", uid="x", invisible_ms=100)
    told.now += 60
    told.ok("pop", "b", {"uids": ["x"]}, invisible_ms=100)


def popped_after_ack(told: Told) -> None:
    told.ok("pop", answer={"uids": ["x"]}, invisible_ms=100)
    told.ok("ack", uid="x")
    told.now += 200
    told.ok("pop", "b", {"uids": ["x"]}, invisible_ms=100)


def never_popped(told: Told) -> None:
    told.send(0, "x")
    told.ok("pop", answer={"uids": ["x"]}, invisible_ms=100)
    told.now += 200
    told.ok("pop", answer={"uids": []}, invisible_ms=100, final=True)


def held_by_two(told: Told) -> None:
    told.ok("lock", "a", lease_ms=60_000)
    told.ok("lock", "b", lease_ms=60_000)


def handled_by_two(told: Told) -> None:
    first = told("handle", "a", uid="x")
    told.ok("handle", "b", uid="y")
    first.ok()


def two_leaders(told: Told) -> None:
    told.ok("lead", node="n1", epoch=3)
    told.ok("lead", node="n2", epoch=3)


def diverged(told: Told) -> None:
    told.ok("log", node="n1", digests=["1", "2", "3"])
    told.ok("log", node="n2", digests=["1", "x"])


Story = Callable[[Told], None]
BROKEN: list[tuple[str, Story]] = [
    ("phantom", phantom), ("aborted-read", aborted_read), ("duplicate", duplicate), ("inconsistent", inconsistent),
    ("lost-prefix", lost_prefix), ("lost-middle", lost_middle), ("lost-postfix", lost_postfix), ("vanished", vanished),
    ("hole", hole), ("reordered", reordered), ("back-from-the-dead", back_from_the_dead), ("offset-back", offset_back),
    ("offset-forward", offset_forward), ("offset-ahead", offset_ahead), ("dirty-read", dirty_read),
    ("dirty-read", rolled_back), ("lost-commit", lost_commit), ("visible-twice", visible_twice),
    ("torn-batch", torn_batch), ("early", early), ("late", late), ("undelivered", undelivered),
    ("undelivered", retry_gone), ("delivered-twice", delivered_twice), ("recalled", recalled),
    ("popped-twice", popped_twice), ("popped-twice", popped_after_ack), ("never-popped", never_popped),
    ("held-by-two", held_by_two), ("handled-by-two", handled_by_two), ("two-leaders", two_leaders),
    ("diverged", diverged),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "story"), BROKEN, ids=[story.__name__ for _, story in BROKEN])
def test_a_broken_history_is_found_by_its_rule(rule: str, story: Story) -> None:
    told = Told()
    story(told)
    rules = {finding.rule for finding in check(told.history)}
    assert rule in rules
    assert rules <= {rule, *COMPANIONS.get(rule, ())}


#: What cannot happen without another rule being broken as well.
COMPANIONS = {
    "inconsistent": {"lost-postfix", "reordered"},
    "lost-prefix": {"hole"},
    "lost-middle": {"hole"},
    "hole": {"lost-middle"},
    "duplicate": set(),
    "early": {"undelivered"},
}


def test_every_rule_has_a_history_that_breaks_it() -> None:
    """The heads of the modules name the rules, one at the beginning of a line."""
    named: set[str] = set()
    for module in ("queues", "topics", "offsets", "transactions", "deliveries", "locks"):
        head = Path(__file__).with_name(f"{module}.py").read_text().split('"""')[1]
        named |= set(
            re.findall(r"^([a-z-]+)(?=(?:, [a-z-]+)*$|(?:, [a-z-]+)* {2,}| )", head.partition("\n\n")[2], re.M)
        )
        named |= set(re.findall(r"(?<=, )(lost-[a-z]+|late)\b", head))
    assert named == {rule for rule, _ in BROKEN}


def busy_day(told: Told) -> None:
    told.send(0, "a0", "a1")
    told("send", "b", uids=["b0"]).info()
    told.read((0, "a0"), (1, "a1"), (2, "b0"))
    told.ok("commit", offset=3)
    told.ok("fetch", answer={"offset": 3})
    told.ok("half", uid="h")
    told.ok("half", uid="open")
    told.ok("decide", uid="h", commit=True)
    told.ok("delay", uid="d", delay_ms=100)
    told.now += 200
    told.ok("lock", "a", lease_ms=60_000)
    told.ok("unlock", "a")
    told.ok("lock", "b", lease_ms=60_000)
    told.ok("pop", answer={"uids": ["a0"]}, invisible_ms=50)
    told.now += 60
    told.ok("pop", answer={"uids": ["a0"]}, invisible_ms=50)
    told.ok("ack", uid="a0")
    told.fault("kill")
    told.ok("fetch", answer={"offset": 2})
    told.ok("end", answer={"offset": 5})
    told.read((0, "a0"), (1, "a1"), (2, "b0"), (3, "h"), (4, "d"), final=True)


def test_a_good_history_is_passed() -> None:
    told = Told()
    busy_day(told)
    assert check(told.history) == []


def test_a_mode_that_may_lose_the_end_of_a_queue_may_lose_nothing_else() -> None:
    told = Told()
    for offset, uid in enumerate("wxyz"):
        told.send(offset, uid)
    told.read((0, "w"), (1, "x"), (2, "y"), (3, "z"))
    told.fault("power")
    told.read((0, "w"), (1, "x"))
    told.send(2, "new")
    told.read((0, "w"), (1, "x"), (2, "new"), final=True)
    assert check(told.history, ASYNC) == []
    assert {finding.rule for finding in check(told.history)} >= {"lost-postfix", "inconsistent"}
    told.read((0, "w"), (2, "new"), final=True)
    assert {finding.rule for finding in check(told.history, ASYNC)} >= {"hole"}


def test_what_was_long_safe_is_lost_in_any_mode() -> None:
    told = Told()
    told.send(0, "x")
    told.now += 10_000
    told.fault("power")
    told.read(final=True)
    assert [finding.rule for finding in check(told.history, ASYNC)] == ["lost-postfix"]


def test_a_topic_that_was_made_again_begins_anew() -> None:
    told = Told()
    told.send(0, "old")
    told.ok("delete")
    told.send(0, "new")
    told.read((0, "new"), final=True)
    assert check(told.history) == []
    told.read(final=True)
    assert [finding.rule for finding in check(told.history)] == ["lost-postfix"]


def test_histories_of_several_processes_are_merged_by_time() -> None:
    now = 0

    def tick() -> int:
        nonlocal now
        now += 1
        return now

    files = io.StringIO(), io.StringIO()
    one, other = (History(tick, file) for file in files)
    one.begin("a", "send", topic="T", queue=0, uids=["x"]).ok(offset=0)
    began = other.begin("b", "send", topic="T", queue=0, uids=["y"])
    one.begin("a", "send", topic="T", queue=0, uids=["z"]).ok(offset=1)
    began.ok(offset=2)
    merged = merge(*(file.getvalue().splitlines() for file in files))
    assert [(call["uids"], call["offset"]) for call in merged.calls] == [(["x"], 0), (["y"], 2), (["z"], 1)]
    assert check(merged) == []
    other.begin("b", "send", topic="T", queue=0, uids=["late"]).ok(offset=0)
    merged = merge(*(file.getvalue().splitlines() for file in files))
    assert {finding.rule for finding in check(merged)} == {"inconsistent", "reordered"}
