"""Power cuts for as long as one likes.

    python -m tests.fault.crash.chaos --cycles 1000 [--mode SYNC_FLUSH|ASYNC_FLUSH] [--kill] [--seed N]

Prints one JSON object: cycles, acknowledged, lost, invented, wrong, restart times. Exits 1 when anything is not as it
must be. Power cuts need root; `--kill` kills the process instead and needs nothing.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.fault.crash.cycles import Cycles, Outcome, kill
from tests.fault.crash.loopfs import LoopFileSystem, why_not


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fault.crash.chaos", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--mode", choices=["SYNC_FLUSH", "ASYNC_FLUSH"], default="SYNC_FLUSH")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    reason = None if options.kill else why_not()
    if reason is not None:
        sys.exit(f"chaos: {reason}; --kill works without")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the file system is unmounted
    outcome = run(options.cycles, options.mode, options.seed, options.kill)
    print(json.dumps(report(outcome, options.mode, options.seed), indent=2))
    sys.exit(1 if outcome.lost or outcome.invented or outcome.wrong else 0)


def run(count: int, mode: str, seed: int, by_kill: bool) -> Outcome:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        disk = None if by_kill else stack.enter_context(LoopFileSystem(folder, megabytes=512))
        cycles = Cycles((disk.mount_point if disk else folder) / "store", mode, seed, not by_kill)
        for number in range(count):
            if disk is None:
                cycles.run(kill, lambda: None)
            else:
                cycles.run(lambda _writer: disk.cut_power(), disk.power_on)
            if sys.stderr.isatty():
                print(f"\r{number + 1}/{count} {cycles.outcome.acknowledged} acknowledged", end="", file=sys.stderr)
        return cycles.outcome


def report(outcome: Outcome, mode: str, seed: int) -> dict[str, object]:
    times = sorted(outcome.restart_ms)
    return {
        "mode": mode,
        "seed": seed,
        "cycles": outcome.cycles,
        "acknowledged": outcome.acknowledged,
        "unflushed": outcome.unflushed,
        "lost": outcome.lost,
        "invented": outcome.invented,
        "wrong": outcome.wrong,
        "restartMs": {"median": round(statistics.median(times), 1), "max": round(times[-1], 1)} if times else None,
    }


if __name__ == "__main__":
    main()
