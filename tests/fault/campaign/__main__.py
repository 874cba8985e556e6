"""Stories for as long as one likes.

    python -m tests.fault.campaign --cycles 1000 [--mode SYNC_FLUSH|ASYNC_FLUSH] [--kinds kill,power,stop]
                                   [--jumps] [--seed N] [--set KEY=VALUE ...] [--json FILE]

A cycle is one fault; a story has four. --set gives the broker other settings: small files, say, find what large ones
hide (mappedFileSizeCommitLog=8192 mappedFileSizeConsumeQueue=40 enableConsumeQueueExt=true
mappedFileSizeConsumeQueueExt=4096). The disk is in memory, and has each file three times: mind the large ones. With
--json the result is written after each story, and a run that was ended goes on behind the last one. Exits 1 when a
promise was broken; the seed of each finding tells its story again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fault.campaign.story import Script, tell


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.campaign", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--mode", choices=["SYNC_FLUSH", "ASYNC_FLUSH"], default="SYNC_FLUSH")
    parser.add_argument("--kinds", default="kill,power,stop")
    parser.add_argument("--jumps", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.disable(logging.ERROR)  # recoveries say what they cut, as they should
    result = run(options)
    print(json.dumps(result, indent=2))
    sys.exit(1 if result["findings"] else 0)


def _script(options: argparse.Namespace, seed: int) -> Script:
    settings = tuple((key, value) for key, _, value in (each.partition("=") for each in options.set))
    kinds = tuple(options.kinds.split(","))
    return Script(options.mode, seed, kinds=kinds, jumps=options.jumps, settings=settings)


def run(options: argparse.Namespace) -> dict[str, Any]:
    result = _begun(options)
    while result["cycles"] < options.cycles:
        began = time.monotonic()
        seed = options.seed + result["stories"]
        told = asyncio.run(tell(_script(options, seed)))
        result["stories"] += 1
        result["cycles"] += told.cycles
        result["seconds"] = round(result["seconds"] + time.monotonic() - began, 1)
        calls = Counter(result["calls"])
        calls.update(f"{call.name} {call.kind}" for call in told.history.calls)
        result["calls"] = dict(sorted(calls.items()))
        result["findings"] += [f"seed {seed}: {finding}" for finding in told.findings]
        if options.json is not None:
            options.json.write_text(json.dumps(result, indent=2) + "\n")
        if sys.stderr.isatty():
            print(f"\r{result['cycles']}/{options.cycles}", end="", file=sys.stderr)
    return result


def _begun(options: argparse.Namespace) -> dict[str, Any]:
    """What an earlier run of the same kind has written, or nothing."""
    asked = {
        "mode": options.mode, "kinds": options.kinds, "jumps": options.jumps, "seed": options.seed, "set": options.set,
    }  # fmt: skip
    if options.json is not None and options.json.exists():
        found: dict[str, Any] = json.loads(options.json.read_text())
        if {key: found.get(key) for key in asked} == asked:
            return found
    return {**asked, "stories": 0, "cycles": 0, "seconds": 0.0, "calls": {}, "findings": []}


if __name__ == "__main__":
    main()
