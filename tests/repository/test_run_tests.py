"""The runner of `make test`, on a small suite with a failure, a skip and a part that dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = [sys.executable, str(ROOT / "scripts" / "run_tests.py"), "--interpreted", "tests/unit", "--apart", "tests/e2e"]
FINE = "def test_fine():\n    pass\n"
BAD = "import pytest\n\ndef test_bad():\n    assert False\n\ndef test_not_today():\n    pytest.skip('no')\n"
DEAD = "import os\n\ndef test_dead():\n    os._exit(7)\n"
#: Fails when hot modules are interpreted, which only one part asks for.
COMPILED_ONLY = "import os\n\ndef test_compiled():\n    assert 'SPROCKETMQ_PURE' not in os.environ\n"


def run(
    root: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, *more: str
) -> subprocess.CompletedProcess[str]:
    monkeypatch.delenv("SPROCKETMQ_PURE", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to load than all of this to run
    (root / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        path = root / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([*RUNNER, *more], cwd=root, capture_output=True, text=True, check=False)


def test_all_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(tmp_path, {"unit/test_a.py": FINE, "fault/test_b.py": FINE, "e2e/test_c.py": FINE}, monkeypatch)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith("\n4 passed, 0 failed, 0 skipped\n"), "the unit test runs twice"


def test_a_failing_part_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"unit/test_a.py": COMPILED_ONLY, "fault/test_b.py": BAD, "e2e/test_c.py": FINE}
    ran = run(tmp_path, files, monkeypatch)
    assert ran.returncode == 1
    rows = [line.split()[:4] for line in ran.stdout.splitlines()[-6:-2]]
    assert rows == [
        ["part", "passed", "failed", "skipped"],
        ["compiled", "1", "1", "1"],
        ["e2e", "1", "0", "0"],
        ["interpreted", "0", "1", "0"],
    ]
    assert "FAILED interpreted: tests.unit.test_a::test_compiled" in ran.stdout
    assert ran.stdout.endswith("\n2 passed, 2 failed, 1 skipped\n")


def test_what_is_a_part_of_its_own_is_in_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"unit/test_a.py": FINE, "e2e/test_b.py": FINE, "e2e/cli/test_c.py": BAD}
    ran = run(tmp_path, files, monkeypatch, "tests/e2e/cli")
    rows = [line.split()[:4] for line in ran.stdout.splitlines()[-6:-2]]
    assert rows == [
        ["compiled", "1", "0", "0"],
        ["e2e", "1", "0", "0"],
        ["cli", "0", "1", "1"],
        ["interpreted", "1", "0", "0"],
    ]


def test_a_part_that_dies_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(tmp_path, {"unit/test_a.py": FINE, "e2e/test_c.py": DEAD}, monkeypatch)
    assert ran.returncode == 1
    assert "FAILED e2e: pytest ended with exit code 7" in ran.stdout
    assert ran.stdout.endswith("\n2 passed, 1 failed, 0 skipped\n")


#: Fails where a command of a test would compile what it imports, and the next command again.
COMPILED_ONCE = """
import pathlib, subprocess, sys

def test_byte_code_is_kept():
    pathlib.Path("imported.py").touch()
    subprocess.run([sys.executable, "-c", "import imported"], check=True)
    assert list(pathlib.Path().rglob("imported.*.pyc"))
    assert not pathlib.Path("__pycache__").exists()
"""


def test_byte_code_is_kept_where_none_may_lie_beside_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    ran = run(tmp_path, {"unit/test_a.py": FINE, "e2e/test_c.py": COMPILED_ONCE}, monkeypatch)
    assert ran.returncode == 0, ran.stdout + ran.stderr


#: Fails when it is run for the first time.
UNSTEADY = """
from pathlib import Path

def test_unsteady():
    before = Path("before")
    known = before.exists()
    before.touch()
    assert known
"""


@pytest.mark.parametrize(("folder", "part"), [("e2e", "e2e"), ("fault", "compiled")])
def test_who_fails_once_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, part: str) -> None:
    files = {"unit/test_a.py": FINE, "e2e/test_c.py": FINE, f"{folder}/test_b.py": UNSTEADY}
    ran = run(tmp_path, files, monkeypatch)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"UNSTEADY {part}: tests.{folder}.test_b::test_unsteady failed" in ran.stdout
    assert ran.stdout.endswith("\n4 passed, 0 failed, 0 skipped\n")


def test_more_than_a_handful_of_failures_have_one_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"fault/test_{number}.py": UNSTEADY.replace("before", f"before_{number}") for number in range(6)}
    ran = run(tmp_path, {"unit/test_a.py": FINE, "e2e/test_c.py": FINE, **many}, monkeypatch)
    assert ran.returncode == 1
    assert ran.stdout.endswith("\n3 passed, 6 failed, 0 skipped\n")


def test_who_fails_twice_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(tmp_path, {"unit/test_a.py": FINE, "e2e/test_c.py": BAD}, monkeypatch)
    assert ran.returncode == 1
    assert "FAILED e2e: tests.e2e.test_c::test_bad" in ran.stdout
    assert ran.stdout.endswith("\n2 passed, 1 failed, 1 skipped\n")
