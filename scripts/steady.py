"""`make steady RUNS=10`: whole runs of the suite in a row beside a busy loop per core, and a table of what failed.

    steady.py RUNS ARGUMENT...      the arguments are those of run_tests.py, which runs each of them

A suite that passes on a machine with nothing else to do may still count on its speed. The results of a commit are kept
in .cache/steady-COMMIT.jsonl, part by part: a campaign that was ended, by a reboot say, goes on where it was, with
the part that was under way. Another commit begins anew.

A test that failed and passed when it was run again has failed here. So the campaign ends with 0 only when every test
of every run passed at its first try.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CACHE = Path(".cache")
RUNNER = Path(__file__).with_name("run_tests.py")
BUSY = "while True: pass"


def main(runs: int, arguments: Sequence[str]) -> int:
    CACHE.mkdir(exist_ok=True)
    tally = CACHE / f"steady-{commit()}.jsonl"
    for run in range(1, runs + 1):
        print(f"======== run {run} of {runs}", flush=True)
        with busy_loops(os.cpu_count() or 1):
            # Its exit code says what the tally says.
            subprocess.call([sys.executable, str(RUNNER), *arguments, "--tally", str(tally), "--run", str(run)])
    results = [json.loads(line) for line in tally.read_text().splitlines()]
    return report([result for result in results if result["run"] <= runs])


def commit() -> str:
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def report(results: list[dict[str, Any]]) -> int:
    """Prints a row for each run and a line for each test that failed in any; 0 when there is none."""
    failures = Counter(
        f"{result['name']}: {test}" for result in results for test in result["failures"] + result["unsteady"]
    )
    print(f"\n{'run':<5}{'passed':>8}{'failed':>8}{'unsteady':>9}{'skipped':>8}{'seconds':>8}")
    for run in sorted({result["run"] for result in results}):
        parts = [result for result in results if result["run"] == run]
        passed, failed, skipped = (sum(part[kind] for part in parts) for kind in ("passed", "failed", "skipped"))
        unsteady = sum(len(part["unsteady"]) for part in parts)
        # Several parts run at a time, so this is the time of the parts and not of the run.
        seconds = sum(part["seconds"] for part in parts)
        print(f"{run:<5}{passed:>8}{failed:>8}{unsteady:>9}{skipped:>8}{seconds:>8.0f}")
    for test, times in failures.most_common():
        print(f"FAILED {times} times {test}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
