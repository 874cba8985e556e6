from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripts import audit

HOLE = {"id": "CVE-2026-1", "fix_versions": ["2.0"]}


def pip_audit(folder: Path, dependencies: list[dict[str, Any]] | None, complaint: str = "") -> str:
    """A program that answers as pip-audit does."""
    program = folder / "pip-audit"
    answer = "" if dependencies is None else json.dumps({"dependencies": dependencies})
    program.write_text(f"#!/bin/sh\necho '{answer}'\necho '{complaint}' >&2\nexit 1\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([{"name": "a", "version": "1.0", "vulns": [HOLE]}], 1, "a 1.0: CVE-2026-1, fixed in 2.0"),
        ([{"name": "a", "version": "1.0", "vulns": []}], 0, "no known hole in 1 packages"),
        ([{"name": "a", "version": "1.0", "vulns": []}, {"name": "b", "skip_reason": "?"}], 0, "1 are unknown"),
        ([{"name": "b", "skip_reason": "not found"}], 0, "not asked"),
        (None, 0, "cannot be reached: no route to host"),
    ],
)
def test_what_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dependencies: list[dict[str, Any]] | None, code: int, said: str
) -> None:
    program = pip_audit(tmp_path, dependencies, "trace\nno route to host")
    assert audit.main(program, "requirements.lock") == code
    printed = capsys.readouterr()
    (line,) = (printed.out + printed.err).splitlines()
    assert said in line
