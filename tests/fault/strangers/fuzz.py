"""Hostile frames for as long as one likes, in rounds, each with seeds of its own.

    python -m tests.fault.strangers.fuzz --frames 10000000 [--server broker|nameserver] [--round 100000] [--json FILE]

Half of the frames go to a broker and half to a nameserver unless one is named; each lives through all rounds. With
--json the figures are written after each round, and a run that was ended goes on behind the last one. Exits 1 when an
answer was an internal error or no frame, when a server logged an error, or when it holds more memory than it should.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fault.strangers.hostile_frames import Report
from tests.fault.strangers.siege import (
    ATTACKERS,
    GROWTH_MIB,
    Target,
    besiege,
    broker_target,
    everyone_left,
    nameserver_target,
    resident_mib,
)

from sprocketmq.remoting.loop import run

TARGETS = {"broker": broker_target, "nameserver": nameserver_target}


class ErrorLines(logging.Handler):
    """What a server said that an operator should look at."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name}: {record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else
                          f"{record.name}: {record.getMessage()}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fault.strangers.fuzz", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--server", choices=sorted(TARGETS), action="append")
    parser.add_argument("--round", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    servers = options.server or sorted(TARGETS)
    results = _begun(options.json, servers)
    for server in servers:
        run(fuzz(results, server, options.frames // len(servers), options.round, options.json))
    print(json.dumps(results, indent=2))
    sys.exit(1 if any(map(broken, results.values())) else 0)


async def fuzz(results: dict[str, Any], server: str, frames: int, size: int, file: Path | None) -> None:
    result, errors = results[server], ErrorLines()
    logging.getLogger().addHandler(errors)
    with tempfile.TemporaryDirectory() as folder:
        async with TARGETS[server](Path(folder)) as target:
            await besiege(target, min(size, 1000))  # warm: imports, caches, the allocator
            before = _resident()
            while result["frames"] < frames:
                await _one_round(result, target, min(size, frames - result["frames"]))
                result["grownMib"] = round(max(result["grownMib"], _resident() - before), 1)
                result["errors"] = (result["errors"] + errors.lines)[:100]
                errors.lines.clear()
                _keep(results, file)
    logging.getLogger().removeHandler(errors)


async def _one_round(result: dict[str, Any], target: Target, frames: int) -> None:
    began = time.monotonic()
    reports, served = await besiege(target, max(frames, ATTACKERS), result["rounds"] * ATTACKERS)
    await everyone_left(target)
    result["rounds"] += 1
    result["frames"] += _sum(reports, "sent")
    result["connections"] += _sum(reports, "connections")
    result["answers"] += _sum(reports, "answers")
    result["internalErrors"] += _sum(reports, "internal_errors")
    result["nonsense"] += _sum(reports, "nonsense")
    result["goodAnswers"] += served
    result["seconds"] = round(result["seconds"] + time.monotonic() - began, 1)


def _keep(results: dict[str, Any], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(results, indent=2) + "\n")


def broken(result: dict[str, Any]) -> bool:
    wrong = result["internalErrors"] or result["nonsense"] or result["errors"]
    return bool(wrong) or result["grownMib"] >= GROWTH_MIB


def _sum(reports: list[Report], field: str) -> int:
    return sum(getattr(report, field) for report in reports)


def _resident() -> float:
    gc.collect()
    return resident_mib()


def _begun(file: Path | None, servers: list[str]) -> dict[str, Any]:
    """What an earlier run has written, or nothing."""
    found: dict[str, Any] = json.loads(file.read_text()) if file is not None and file.exists() else {}
    counts = ("rounds", "frames", "connections", "answers", "internalErrors", "nonsense", "goodAnswers")
    new: dict[str, Any] = {**dict.fromkeys(counts, 0), "seconds": 0.0, "grownMib": 0.0, "errors": []}
    return {server: found.get(server) or json.loads(json.dumps(new)) for server in servers}


if __name__ == "__main__":
    main()
