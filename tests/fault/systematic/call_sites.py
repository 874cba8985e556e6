"""One exception at every call that a broker's background work makes: threads, jobs, alarms, timers of the loop.

    SPROCKETMQ_PURE=1 python -m tests.fault.systematic.call_sites [--modes SYNC_FLUSH,ASYNC_FLUSH] [--stride 1]
                                                                  [--first 0] [--one-each] [--json FILE]
                                                                  [--together 8] [--done FILE] [--seconds N]

The calls are found by running the script under a profile: each line of this project that calls something, by the task
it does that for. What a client's request calls is no background work: it is answered. In another process the profile
raises at the call. That must be said in the log; nothing that was acknowledged may be lost; and the task must go on, or
the store must have stopped taking messages. Interpreted code alone can be looked into. --one-each takes one call of
each task. --together raises at so many calls in one run of the script, at half of them where that shows something, and
at fewer, down to one, where a call is not made. --done FILE names the calls that were tried, a line each: the next run
with the file goes on behind them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fault.history.findings import Finding
from tests.fault.systematic.alive import at_rest
from tests.fault.systematic.program import keep, mute, options_of, perform
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
    threading.setprofile(profile)
    sys.setprofile(profile)
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
    play = Play(mode, ending)
    play.before_end = lambda: problems.extend(at_rest(play.world.broker))
    problems: list[str] = []
    met: list[Site] = []
    left = set(chosen)
    places = {(SOURCE + site.caller, site.line) for site in chosen}
    loop, home = asyncio.get_running_loop(), threading.get_ident()

    def throw(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            caller: FrameType | None = frame
        elif event == "call":
            caller = frame.f_back
        else:
            return
        if caller is None or (caller.f_code.co_filename, caller.f_lineno) not in places:
            return
        site = site_of(frame, event, argument)
        if site not in left:
            return
        left.discard(site)
        met.append(site)
        play.met_fault(str(site))
        if left and threading.get_ident() == home:
            loop.call_soon(sys.setprofile, throw)  # a profile that raises is taken from its thread
        raise Injected(str(site))

    with signs() as seen, profiled(throw):
        findings = await play.perform(lambda _play: None)
        left.clear()
    findings += [Finding("asleep", problem) for problem in problems]
    told = "\n".join(line for line in seen.lines if "Injected" in line)
    findings += [Finding("silent", str(site)) for site in met if str(site) not in told]
    return met, findings


def main() -> None:
    parser = options_of("call_sites", __doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--one-each", action="store_true")
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--done", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    perform(run, parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {
        "stride": options.stride, "sites": {}, "tried": 0, "raised": 0, "seconds": 0.0, "findings": []
    }  # fmt: skip
    done = set(options.done.read_text().splitlines()) if options.done and options.done.exists() else set()
    began = time.monotonic()
    for mode in options.modes.split(","):
        found = asyncio.run(sites(mode))
        result["sites"][mode] = len(found)
        chosen = _one_each(found) if options.one_each else found[options.first :: options.stride]
        todo = [site for site in chosen if f"{mode} {site}" not in done]
        together = options.together
        while todo and time.monotonic() - began <= options.seconds:
            unmet = _raise_at(mode, todo, together, options, result, began)
            # A call that another fault kept from being made is tried with others, then with fewer, and alone.
            together = together if 2 * len(unmet) < len(todo) else max(1, together // 2)
            todo = unmet
    return result


def _raise_at(
    mode: str, todo: list[Site], together: int, options: argparse.Namespace, result: dict[str, Any], began: float
) -> list[Site]:
    """At so many calls in each run of the script; those that were not made."""
    unmet: list[Site] = []
    runs = -(-len(todo) // together)
    for number in range(runs):
        if time.monotonic() - began > options.seconds:
            break
        some = todo[number::runs]  # from everywhere, so that they are in each other's way but little
        tried = _tried(mode, some, ("power", "stop")[number % 2], result)
        if together == 1:
            tried = some  # a call that is not made by itself is not made
        unmet += [site for site in some if site not in tried]
        result["tried"] += len(tried)
        result["seconds"] = round(time.monotonic() - began, 1)
        keep(result, options.json)
        if options.done:
            with options.done.open("a") as file:
                file.writelines(f"{mode} {site}\n" for site in tried)
    return unmet


def _tried(mode: str, some: Sequence[Site], ending: str, result: dict[str, Any]) -> list[Site]:
    """Those that were made. Of several that break a promise together, each half is tried again, down to the one."""
    met, findings = _in_a_process(mode, some, ending)
    if findings and len(some) > 1:
        halves = some[: len(some) // 2], some[len(some) // 2 :]
        return [site for half in halves for site in _tried(mode, half, ending, result)]
    result["raised"] += len(met)
    result["findings"] += [f"{mode}, {some[0]}: {finding}" for finding in findings][:5]
    return met


def _in_a_process(mode: str, some: Sequence[Site], ending: str) -> tuple[list[Site], list[Finding]]:
    """Of its own: much is called once in the life of a process, and then kept. What ends the script is a finding."""
    with ProcessPoolExecutor(1, get_context("spawn"), mute) as pool:
        try:
            return pool.submit(_injected, mode, some, ending).result()
        except Exception as error:  # noqa: BLE001 - whatever it is, it came of the fault
            return list(some), [Finding("ended", repr(error))]


def _injected(mode: str, some: Sequence[Site], ending: str) -> tuple[list[Site], list[Finding]]:
    return asyncio.run(inject(mode, some, ending))


def _one_each(found: list[Site]) -> list[Site]:
    """From the middle of what each task calls."""
    tasks: dict[str, list[Site]] = {}
    for site in found:
        tasks.setdefault(site.task, []).append(site)
    return [calls[len(calls) // 2] for calls in tasks.values()]


if __name__ == "__main__":
    main()
