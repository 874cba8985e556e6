"""`make test`: every part of the suite, whatever becomes of the others, and a closing table of what ran.

interpreted     the folders of --interpreted, with the hot modules as plain Python
compiled        everything that is not apart
clients, e2e, fault, browser ...
                each of the folders of --apart, without those below it that are parts of their own

Some parts more than there are processors run at a time: those with real peers wait for them most of theirs.

A test that failed is run once more when its part has ended, unless more than a handful did: machines, and the virtual
machines, browsers and brokers of others, have moments of their own. One that passes then counts as passed and is named
as UNSTEADY, for somebody to mend.

Every module is compiled to byte code once, also where PYTHONDONTWRITEBYTECODE says that none may lie beside the
sources, as in many containers: it lies in .cache/bytecode then. Hundreds of commands, brokers and Spark's workers would
each compile all they import anew.

A part's output comes in one piece when it ends, and stays in .cache/test-PART.log.  The last line counts all parts
together; a part that ended without a report (a hang that was cut short, a crash) counts as one failure.

With --tally FILE each part adds its result to FILE when it ends, as one of run --run, and parts of that run that are
in FILE already do not run again: who runs the suite many times over (steady.py) goes on where he was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

CACHE = Path(".cache")
NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"
OUTPUT = threading.Lock()
PASSED, SKIPPED, FAILED = range(3)
#: So many failures of one part are no moment of weakness.
HANDFUL = 5
#: So many parts wait for their peers at any time, and leave the processors to others.
WAITING = 3


@dataclass(frozen=True)
class Part:
    name: str
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Result:
    name: str
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)

    def row(self) -> tuple[str, int, int, int, str]:
        return self.name, self.passed, self.failed, self.skipped, f"{self.seconds:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run every part of the suite.")
    parser.add_argument("--interpreted", nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--apart", nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--tally", type=Path, metavar="FILE")
    parser.add_argument("--run", type=int, default=1, metavar="NUMBER")
    chosen = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    apart = [Part(Path(folder).name, [*without(chosen.apart, folder), folder]) for folder in chosen.apart]
    pure = Part("interpreted", chosen.interpreted, {"SPROCKETMQ_PURE": "1"})
    compiled = Part("compiled", [*without(chosen.apart, "tests"), "tests"])
    # Those that need the processors stand between those that wait.
    parts = [compiled, *apart[:4], pure, *apart[4:]]
    tally = Tally(chosen.tally, chosen.run)
    with ThreadPoolExecutor((os.cpu_count() or 1) + WAITING) as pool:
        results = list(pool.map(partial(tally.count, run), [part for part in parts if part.name not in tally.parts]))
    report(results)
    return 1 if any(result.failed for result in results) else 0


def without(folders: list[str], folder: str) -> list[str]:
    """The options that leave out of `folder` those of the others that are below it."""
    return [f"--ignore={other}" for other in folders if Path(folder) in Path(other).parents]


class Tally:
    """The results of many runs, one JSON object per line: `run` is its number, the rest are the fields of a Result."""

    def __init__(self, path: Path | None, run: int) -> None:
        self._path, self._run = path, run
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.parts = {each["name"] for each in map(json.loads, lines) if each["run"] == run}

    def count(self, of: Callable[[Part], Result], part: Part) -> Result:
        result = of(part)
        if self._path is not None:
            with OUTPUT, self._path.open("a") as out:
                out.write(json.dumps({"run": self._run, **asdict(result)}) + "\n")
        return result


def run(part: Part) -> Result:
    """The part's result; its output is shown when it ended."""
    began = time.monotonic()
    result = look(part, part.name)
    if 0 < len(result.failures) <= HANDFUL and report_of(part.name).exists():
        again = look(part, f"{part.name}-again", "--last-failed")
        if report_of(again.name).exists():
            settle(result, again)
    result.seconds = time.monotonic() - began
    return result


def look(part: Part, name: str, *more: str) -> Result:
    """One run of pytest over the part, in which it is called `name`."""
    log, counts = CACHE / f"test-{name}.log", report_of(name)
    counts.unlink(missing_ok=True)
    # Folders of its own for each part: pytest's shared ones count on nobody else cleaning or writing them.
    options = ["-q", f"--basetemp={CACHE / f'test-{name}'}", f"--junitxml={counts}"]
    options += ["-o", f"cache_dir={CACHE / f'pytest-{part.name}'}", *more]
    command = [sys.executable, "-m", "pytest", *options, *part.arguments]
    say(f"==== {name} tests begin")
    began = time.monotonic()
    with log.open("wb") as out:
        code = subprocess.call(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment(os.environ) | part.environment
        )
    result = read(counts, Result(name, time.monotonic() - began), code)
    say(f"==== {name} tests\n{log.read_text(errors='replace')}")
    return result


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """That of all parts: `given`, but every module is compiled once."""
    if not given.get(NO_BYTE_CODE):
        return dict(given)
    kept = {name: value for name, value in given.items() if name != NO_BYTE_CODE}
    return {**kept, "PYTHONPYCACHEPREFIX": str((CACHE / "bytecode").resolve())}


def report_of(name: str) -> Path:
    return CACHE / f"test-{name}.xml"


def settle(result: Result, again: Result) -> None:
    """What failed has had its second look."""
    result.unsteady = [name for name in result.failures if name not in again.failures]
    result.failures = again.failures
    result.passed += len(result.unsteady)
    result.failed = len(result.failures)


def read(counts: Path, result: Result, code: int) -> Result:
    """What pytest counted; a test that failed and then could not be cleaned up after is one."""
    cases = ElementTree.parse(counts).iter("testcase") if counts.exists() else []
    worst: dict[str, int] = {}
    for case in cases:
        name = f"{case.get('classname', '')}::{case.get('name', '')}".lstrip(":")
        worst[name] = max(worst.get(name, PASSED), outcome(case))
    result.failures = [name for name, it in worst.items() if it == FAILED]
    if code and not result.failures:
        result.failures = [f"pytest ended with exit code {code}"]
    outcomes = list(worst.values())
    result.passed, result.failed, result.skipped = outcomes.count(PASSED), len(result.failures), outcomes.count(SKIPPED)
    return result


def outcome(case: ElementTree.Element) -> int:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return FAILED
    return SKIPPED if "skipped" in kinds else PASSED


def report(results: list[Result]) -> None:
    for result in results:
        for name in result.failures:
            say(f"FAILED {result.name}: {name}")
        for name in result.unsteady:
            say(f"UNSTEADY {result.name}: {name} failed, and passed when it was run again")
    say(f"\n{'part':<12}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>8}")
    for row in (result.row() for result in results):
        say("{:<12}{:>8}{:>8}{:>8}{:>8}".format(*row))
    passed, failed, skipped = (sum(getattr(r, kind) for r in results) for kind in ("passed", "failed", "skipped"))
    say(f"\n{passed} passed, {failed} failed, {skipped} skipped")


def say(text: str) -> None:
    with OUTPUT:
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
