"""`make steady` on a small suite: it counts runs, goes on where it was, and no second look hides a failure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.test_run_tests import FINE, UNSTEADY

ROOT = Path(__file__).parents[2]
STEADY = [sys.executable, str(ROOT / "scripts" / "steady.py")]
ARGUMENTS = ["--interpreted", "tests/unit", "--peers", "tests/e2e"]
PARTS = ["compiled", "e2e", "interpreted"]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to load than all of this to run
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / ".gitignore").write_text("*\n")
    for name in "unit/test_a.py", "e2e/test_b.py":
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True)
        path.write_text(FINE)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "one"], cwd=tmp_path, check=True)
    return tmp_path


def steady(suite: Path, runs: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STEADY, str(runs), *ARGUMENTS], cwd=suite, capture_output=True, text=True, check=False)


def tally_of(suite: Path) -> Path:
    (tally,) = (suite / ".cache").glob("steady-*.jsonl")
    return tally


def counted(suite: Path) -> list[tuple[int, str]]:
    lines = [json.loads(line) for line in tally_of(suite).read_text().splitlines()]
    return sorted((line["run"], line["name"]) for line in lines)


def table(ran: subprocess.CompletedProcess[str]) -> list[list[str]]:
    lines = ran.stdout.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("run "))
    return [line.split()[:5] for line in lines[start + 1 :] if line[:1].isdigit()]


def test_an_ended_campaign_goes_on_where_it_was(suite: Path) -> None:
    steady(suite, 1)
    tally = tally_of(suite)
    kept = [line for line in tally.read_text().splitlines() if json.loads(line)["name"] != "interpreted"]
    tally.write_text("\n".join(kept) + "\n")
    ran = steady(suite, 2)
    assert tally.read_text().splitlines()[:2] == kept
    assert ran.stdout.count("==== e2e tests begin") == 1, "of the second run"
    assert ran.stdout.count("==== interpreted tests begin") == 2
    assert table(ran) == [[run, "3", "0", "0", "0"] for run in ("1", "2")]
    assert ran.returncode == 0


def test_who_passes_at_the_second_try_has_failed(suite: Path) -> None:
    (suite / "tests" / "e2e" / "test_b.py").write_text(UNSTEADY)
    ran = steady(suite, 2)
    assert ran.returncode == 1
    assert counted(suite) == [(run, part) for run in (1, 2) for part in PARTS]
    assert table(ran) == [["1", "3", "0", "1", "0"], ["2", "3", "0", "0", "0"]]
    assert ran.stdout.endswith("FAILED 1 times e2e: tests.e2e.test_b::test_unsteady\n")
