"""`make steady` on a small suite: it counts runs, goes on where it was, and no second look hides a failure."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.repository.test_run_tests import FINE, UNSTEADY

ROOT = Path(__file__).parents[2]
ARGUMENTS = ["--interpreted", "tests/unit", "--apart", "tests/e2e"]
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
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load() -> Any:
    spec = importlib.util.spec_from_file_location("steady", ROOT / "scripts" / "steady.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steady(runs: int, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and what was printed; its busy loops end at once."""
    script = load()
    script.BUSY = "pass"
    return script.main(runs, ARGUMENTS), capfd.readouterr().out


def tally_of(suite: Path) -> Path:
    (tally,) = (suite / ".cache").glob("steady-*.jsonl")
    return tally


def counted(suite: Path) -> list[tuple[int, str]]:
    lines = [json.loads(line) for line in tally_of(suite).read_text().splitlines()]
    return sorted((line["run"], line["name"]) for line in lines)


def table(printed: str) -> list[list[str]]:
    lines = printed.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("run "))
    return [line.split()[:5] for line in lines[start + 1 :] if line[:1].isdigit()]


def test_an_ended_campaign_goes_on_where_it_was(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steady(1, capfd)
    tally = tally_of(suite)
    kept = [line for line in tally.read_text().splitlines() if json.loads(line)["name"] != "interpreted"]
    tally.write_text("\n".join(kept) + "\n")
    code, printed = steady(2, capfd)
    assert tally.read_text().splitlines()[:2] == kept
    assert printed.count("==== e2e tests begin") == 1, "of the second run"
    assert printed.count("==== interpreted tests begin") == 2
    assert table(printed) == [[run, "3", "0", "0", "0"] for run in ("1", "2")]
    assert code == 0


def test_who_passes_at_the_second_try_has_failed(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (suite / "tests" / "e2e" / "test_b.py").write_text(UNSTEADY)
    code, printed = steady(2, capfd)
    assert code == 1
    assert counted(suite) == [(run, part) for run in (1, 2) for part in PARTS]
    assert table(printed) == [["1", "3", "0", "1", "0"], ["2", "3", "0", "0", "0"]]
    assert printed.endswith("FAILED 1 times e2e: tests.e2e.test_b::test_unsteady\n")


def test_the_loops_are_busy_until_the_run_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str]) -> None:
            super().__init__(command)
            made.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with load().busy_loops(2):
        assert [loop.poll() for loop in made] == [None, None]
    assert [loop.poll() for loop in made] == [-9, -9]
