"""One call of the disk that fails, at every place of the script: EIO, ENOSPC, EMFILE, EINTR.

    python -m tests.fault.systematic.nth_call [--modes SYNC_FLUSH,ASYNC_FLUSH] [--endings stop,power] [--stride 1]
                                              [--first 1] [--json FILE]

Prints one JSON object and exits 1 when a promise was broken, or when a failure was seen by nobody: no line in the log,
no refused request, no refused start.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import json
import time
from dataclasses import dataclass
from typing import Any

from tests.fault.history.findings import Finding
from tests.fault.systematic.program import keep, options_of, perform
from tests.fault.systematic.script import Play, signs

CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EINTR)
ENDINGS = ("stop", "power")


@dataclass(frozen=True)
class Fault:
    mode: str
    ending: str
    code: int
    number: int

    def __str__(self) -> str:
        return f"{errno.errorcode[self.code]} at call {self.number}, {self.mode}, then {self.ending}"


@dataclass(frozen=True)
class Outcome:
    fault: Fault
    #: The kind of call that failed; empty when the script made fewer calls.
    met: str
    findings: list[Finding]


async def calls_of(mode: str) -> int:
    """How many calls the script makes when nothing fails."""
    play = Play(mode, "stop")
    disk = play.world.disk
    assert await play.perform(lambda _play: None) == []
    return disk.faults.entered


async def inject(fault: Fault) -> Outcome:
    play = Play(fault.mode, fault.ending)

    def plan(play: Play) -> None:
        faults = play.world.disk.faults
        faults.fail_at, faults.fail_with, faults.on_failure = fault.number, fault.code, play.met_fault

    with signs() as seen:
        findings = await play.perform(plan)
    if play.met and not seen.lines and not _refused(play):
        findings.append(Finding("silent", f"nobody was told of {play.met[0]}"))
    return Outcome(fault, play.met[0] if play.met else "", findings)


def _refused(play: Play) -> bool:
    """Whether anybody was told by the answer."""
    return any("code" in call.fields for call in play.world.history.calls)


def main() -> None:
    parser = options_of("nth_call", __doc__)
    parser.add_argument("--endings", default=",".join(ENDINGS))
    parser.add_argument("--first", type=int, default=1)
    perform(run, parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """A run that was ended goes on behind the last number that `--json` holds."""
    result: dict[str, Any] = {"stride": options.stride, "faults": 0, "met": {}, "seconds": 0.0, "findings": [],
                              "done": {}}  # fmt: skip
    if options.json is not None and options.json.exists():
        result = json.loads(options.json.read_text())
    for mode in options.modes.split(","):
        calls = asyncio.run(calls_of(mode))
        for number in range(result["done"].get(mode, options.first), calls + 1, options.stride):
            for ending in options.endings.split(","):
                for code in CODES:
                    _note(result, Fault(mode, ending, code, number))
            result["done"][mode] = number + options.stride
            keep(result, options.json)
    return result


def _note(result: dict[str, Any], fault: Fault) -> None:
    began = time.monotonic()
    outcome = asyncio.run(inject(fault))
    result["faults"] += 1
    result["met"][outcome.met] = result["met"].get(outcome.met, 0) + 1
    result["seconds"] = round(result["seconds"] + time.monotonic() - began, 1)
    result["findings"] += [f"{fault} ({outcome.met}): {finding}" for finding in outcome.findings][:5]


if __name__ == "__main__":
    main()
