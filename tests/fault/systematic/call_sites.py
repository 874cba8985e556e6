"""One exception at every call that a broker's background work makes: threads, jobs, alarms, timers of the loop.

    SPROCKETMQ_PURE=1 python -m tests.fault.systematic.call_sites [--modes SYNC_FLUSH,ASYNC_FLUSH] [--stride 1]
                                                                  [--first 0] [--one-each] [--together 24]
                                                                  [--done FILE] [--seconds N] [--json FILE]

The calls are found by running the script under a profile: each line of this project that calls something, by the task
it does that for. What a client's request calls is no background work: it is answered. In another process the profile
raises at the call, for much is called once in the life of a process. That must be said in the log; nothing that was
acknowledged may be lost; and the task must go on, or the store must have stopped taking messages. Interpreted code
alone can be looked into. --one-each takes one call of each task, alone. `company.py` says how several are raised at in
one run of the script; while a store takes no more messages, none is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import thread as pool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from tests.fault.history.findings import Finding
from tests.fault.systematic.alive import at_rest
from tests.fault.systematic.company import Company, new_result
from tests.fault.systematic.forked import in_a_fork
from tests.fault.systematic.program import options_of, perform
from tests.fault.systematic.script import Play, signs

import sprocketmq

SOURCE = str(Path(sprocketmq.__file__).parent) + "/"
#: Who is called by these is a client, a request, or whoever starts and stops the broker: each is told by its own call.
NO_TASKS = (
    "remoting/", "protocol/", "config.py", "store/config.py", "auth/config.py", "broker/broker.py:Broker.",
    "broker/background_jobs.py:_warm_filters",
    "broker/send/admission.py:", "broker/static_topic/handler.py:", "broker/handlers/heartbeat.py:",
    "nameserver/server.py:Nameserver.start", "nameserver/server.py:Nameserver.stop", "tests/",
    "broker/replication/master.py:Master._open.<locals>.<lambda>",  # asyncio says nothing of it; a slave comes again
)  # fmt: skip
#: A lock that cannot be given back, a loop that is not there or takes no timer, a set that cannot forget what is gone:
#: no failures that there are.
NO_FAILURES = (
    "__exit__", "__aexit__", "get_running_loop", ".call_later", ".call_at", ".call_soon", "Periodic._sleep",
    "WeakSet.__init__.<locals>._remove", "_get_module_lock.<locals>.cb",
)  # fmt: skip


class Injected(Exception):
    """What nobody expects."""


@dataclass(frozen=True, order=True)
class Site:
    """`task` is the outermost of our functions, `caller` a line, `callee` what it calls."""

    task: str
    caller: str
    line: int
    callee: str

    def __str__(self) -> str:
        return f"{self.task}: {self.caller}:{self.line} calls {self.callee}"


def site_of(frame: FrameType, event: str, argument: Any) -> Site | None:
    """The call that is being made, when it is one of ours and of a background task."""
    if event == "c_call":
        caller, callee = frame, getattr(argument, "__qualname__", "?")
    elif event == "call" and frame.f_back is not None:
        caller, callee = frame.f_back, frame.f_code.co_qualname
    else:
        return None
    if not caller.f_code.co_filename.startswith(SOURCE):
        return None
    if callee.endswith(NO_FAILURES):
        return None
    task = _task_of(caller)
    if task.startswith(NO_TASKS):
        return None
    return Site(task, caller.f_code.co_filename.removeprefix(SOURCE), caller.f_lineno, callee)


def _task_of(frame: FrameType) -> str:
    outermost, here = frame, frame.f_back
    while here is not None:
        if here.f_code.co_filename.startswith(SOURCE):
            outermost = here
        here = here.f_back
    if outermost.f_back is not None and "/tests/" in outermost.f_back.f_code.co_filename:
        return "tests/"
    return f"{outermost.f_code.co_filename.removeprefix(SOURCE)}:{outermost.f_code.co_qualname}"


@contextmanager
def profiled(profile: Any) -> Iterator[None]:
    """In every thread; one that has lost its profile by raising gets it back when it waits, or takes its next job."""

    def again(work: Callable[..., Any]) -> Callable[..., Any]:
        def profiled_work(*arguments: Any, **named: Any) -> Any:
            sys.setprofile(threading.getprofile())
            return work(*arguments, **named)

        return profiled_work

    threading.setprofile(profile)
    sys.setprofile(profile)
    with ExitStack() as patches:
        for owner, method in ((threading.Condition, "wait"), (pool._WorkItem, "run")):
            patches.enter_context(patch.object(owner, method, again(getattr(owner, method))))
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


async def sites(mode: str) -> list[Site]:
    """Every call of the first part of the script, in the order in which they were made first."""
    found: dict[Site, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        site = site_of(frame, event, argument)
        if site is not None:
            found.setdefault(site)

    play = Play(mode, "stop")
    with profiled(note):
        assert await play.perform(lambda _play: None) == []
    return list(found)


async def inject(mode: str, chosen: Sequence[Site], ending: str) -> tuple[list[Site], list[Finding]]:
    """Raise once at each of the calls: which of them were made, and what went wrong then."""
    play = Play(mode, ending, company=len(chosen) > 1)
    play.before_end = lambda: problems.extend(at_rest(play.world.broker))
    problems: list[str] = []
    met: list[Site] = []
    left = set(chosen)
    loop, home = asyncio.get_running_loop(), threading.get_ident()
    of_file: dict[str, set[int]] = {}
    for site in chosen:
        of_file.setdefault(SOURCE + site.caller, set()).add(site.line)
    lines_of: dict[int, tuple[CodeType, frozenset[int]]] = {}

    def lines_in(code: CodeType) -> frozenset[int]:
        """Of the chosen ones; the code is kept, so that no other has its id."""
        known = lines_of.get(id(code))
        if known is None:
            chosen_here = of_file.get(code.co_filename, set())
            own = {line for _start, _end, line in code.co_lines() if line} if chosen_here else set()
            known = lines_of[id(code)] = code, frozenset(chosen_here & own)
        return known[1]

    def throw(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            caller: FrameType | None = frame
        elif event == "call":
            caller = frame.f_back
        else:
            return
        if caller is None:
            return
        lines = lines_in(caller.f_code)
        if not lines or caller.f_lineno not in lines:
            return
        site = site_of(frame, event, argument)
        if site not in left or (met and play.has_failed):
            return
        left.discard(site)
        met.append(site)
        play.met_fault(str(site))
        if not left:
            threading.setprofile(None)
            loop.call_soon_threadsafe(sys.setprofile, None)
        elif threading.get_ident() == home:
            loop.call_soon(sys.setprofile, throw)  # a profile that raises is taken from its thread
        raise Injected(str(site))

    with signs() as seen, profiled(throw):
        findings = await play.perform(lambda _play: None)
    findings += [Finding("asleep", problem) for problem in problems]
    told = "\n".join(line for line in seen.lines if "Injected" in line)
    findings += [Finding("silent", str(site)) for site in met if str(site) not in told]
    return met, findings


def main() -> None:
    parser = options_of("call_sites", __doc__)
    parser.add_argument("--one-each", action="store_true")
    perform(run, parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    result = new_result(options)
    for mode in options.modes.split(","):
        found = in_a_fork(lambda mode=mode: asyncio.run(sites(mode)))  # type: ignore[misc]
        result["places"][mode] = len(found)
        chosen = _one_each(found) if options.one_each else found[options.first :: options.stride]
        company = Company[Raised](_raised_at, options, result)
        company.go_through([Raised(mode, site) for site in chosen], 1 if options.one_each else options.together)
    return result


@dataclass(frozen=True)
class Raised:
    """A call that is raised at in a flush mode."""

    mode: str
    site: Site

    def __str__(self) -> str:
        return f"{self.mode} {self.site}"


def _raised_at(some: Sequence[Raised], number: int) -> tuple[list[Raised], list[Finding]]:
    mode, ending = some[0].mode, ("power", "stop")[number % 2]
    met, findings = in_a_fork(lambda: asyncio.run(inject(mode, [one.site for one in some], ending)))
    return [Raised(mode, site) for site in met], findings


def _one_each(found: list[Site]) -> list[Site]:
    """From the middle of what each task calls."""
    tasks: dict[str, list[Site]] = {}
    for site in found:
        tasks.setdefault(site.task, []).append(site)
    return [calls[len(calls) // 2] for calls in tasks.values()]


if __name__ == "__main__":
    main()
