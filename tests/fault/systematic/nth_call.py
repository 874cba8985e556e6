"""One call of the disk that fails, at every place of the script: EIO, ENOSPC, EMFILE, EINTR.

    SPROCKETMQ_PURE=1 python -m tests.fault.systematic.nth_call [--modes SYNC_FLUSH,ASYNC_FLUSH] [--endings stop,power]
                                                                [--stride 1] [--first 0] [--together 24]
                                                                [--done FILE] [--seconds N] [--json FILE]

A run without a fault finds the calls, each known again by the lines that make it and by how often they made it before,
for threads give it another number at each run. What has failed a store is followed by no other fault before the next
start. Prints one JSON object and exits 1 when a promise was broken, or when a failure was seen by nobody: no line in
the log, no refused request, no refused start. `company.py` says how several fail in one run of the script.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fault.disk import Faults
from tests.fault.history.events import Kind
from tests.fault.history.findings import Finding
from tests.fault.systematic.company import Company, new_result
from tests.fault.systematic.program import options_of, perform
from tests.fault.systematic.script import Play, Signs, signs

import sprocketmq
from sprocketmq.codes import ResponseCode

SOURCE = str(Path(sprocketmq.__file__).parent) + "/"
CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EINTR)
ENDINGS = ("stop", "power")


@dataclass(frozen=True)
class Call:
    """The `time`th call of this kind that these lines make, innermost first."""

    kind: str
    lines: str
    time: int

    def __str__(self) -> str:
        return f"{self.kind} #{self.time} of {self.lines}"


@dataclass(frozen=True)
class Fault:
    mode: str
    ending: str
    code: int
    call: Call

    def __str__(self) -> str:
        return f"{self.mode}, {self.ending}, {errno.errorcode[self.code]} at {self.call}"


class Observed(Faults):
    """Knows each call again; `fails` is asked for the error of each."""

    def __init__(self, fails: Callable[[Call], int | None]) -> None:
        super().__init__()
        self._fails = fails
        self._times: Counter[tuple[str, str]] = Counter()
        self._counting = threading.Lock()

    def enter(self, kind: str) -> None:
        super().enter(kind)
        lines = _lines(sys._getframe(1))
        with self._counting:
            self._times[kind, lines] += 1
            call = Call(kind, lines, self._times[kind, lines])
        code = self._fails(call)
        if code is not None:
            raise OSError(code, os.strerror(code))


def _lines(frame: FrameType | None) -> str:
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            found.append(f"{frame.f_code.co_filename.removeprefix(SOURCE)}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(found)


async def calls_of(mode: str, ending: str) -> list[Call]:
    """What the script asks of the disk before its last start, when nothing fails."""
    play, found = Play(mode, ending), list[Call]()

    def note(call: Call) -> None:
        found.append(call)

    assert await play.perform(lambda play: _observe(play, note)) == []
    return found


async def inject(faults: Sequence[Fault]) -> tuple[list[Fault], list[Finding]]:
    """Of one mode and one ending, in one run: which were met, and what went wrong then."""
    play = Play(faults[0].mode, faults[0].ending, company=len(faults) > 1)
    left = {fault.call: fault for fault in faults}
    met: list[Fault] = []
    lines_before: list[int] = []

    def fails(call: Call) -> int | None:
        if call not in left or (met and play.has_failed):
            return None
        fault = left.pop(call)
        met.append(fault)
        lines_before.append(len(seen.lines))
        play.met_fault(str(call))
        return fault.code

    with signs() as seen:
        findings = await play.perform(lambda play: _observe(play, fails))
    silent = _silent(play, seen, lines_before)
    if play.company:  # it may have been told behind the next fault
        return [fault for number, fault in enumerate(met) if number not in silent], findings
    return met, [*findings, *(Finding("silent", "nobody was told") for _ in silent)]


def _observe(play: Play, fails: Callable[[Call], int | None]) -> None:
    play.world.disk.faults = Observed(fails)


def _silent(play: Play, seen: Signs, lines_before: Sequence[int]) -> set[int]:
    """Which of the faults nobody was told of before the next: by a line of the log, or by an answer."""
    calls = play.world.history.calls
    faults = [call for call in calls if call.name == "fault" and call["kind"] == "error"]
    told = [call for call in calls if call.kind is not Kind.OK and not _is_absent(call.fields.get("code"))]
    found = set()
    for number, fault in enumerate(faults):
        following = faults[number + 1].begun if number + 1 < len(faults) else sys.maxsize
        lines = slice(lines_before[number], lines_before[number + 1] if number + 1 < len(faults) else None)
        if fault["what"].startswith("remove "):
            continue  # a file that stays when its topic is deleted: the note of the deletion hides it
        if not seen.lines[lines] and not any(fault.begun < call.ended and call.begun < following for call in told):
            found.add(number)
    return found


def _is_absent(code: int | None) -> bool:
    """What the script's readers are told of topics that nobody has sent to yet."""
    return code == ResponseCode.TOPIC_NOT_EXIST


def main() -> None:
    parser = options_of("nth_call", __doc__)
    parser.add_argument("--endings", default=",".join(ENDINGS))
    perform(run, parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    result = new_result(options)
    company = Company[Fault](lambda faults, _number: asyncio.run(inject(faults)), options, result)
    for mode in options.modes.split(","):
        for ending in options.endings.split(","):
            calls = asyncio.run(calls_of(mode, ending))
            result["places"][f"{mode}, {ending}"] = len(calls)
            chosen = calls[options.first :: options.stride]
            faults = [Fault(mode, ending, code, call) for call in chosen for code in CODES]
            company.go_through(faults, options.together)
    return result


if __name__ == "__main__":
    main()
