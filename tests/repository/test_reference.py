"""The pages that are made from the code, and the figures made from the results, are what those say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["reference.py", "figures.py", "client_settings.py", "request_codes.py"])
def test_the_pages_are_what_the_code_says(script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "HOME": str(Path.home()), "PATH": ""},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_every_setting_of_a_server_has_a_text() -> None:
    rows = [line for line in (ROOT / "docs/reference/settings.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 200
    silent = [row.split("`")[1] for row in rows if row.split(" | ")[-1].strip(" |") == ""]
    assert silent == []


def test_the_site_builds_without_a_dead_link(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "quick-start.html", "reference/settings.html"} <= made


def test_the_site_asks_nothing_from_elsewhere() -> None:
    """Readers behind a firewall see the same page, and nobody learns that they read it."""
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert "http" not in settings


def test_bars_have_names_and_no_runs_in_them() -> None:
    names = re.findall(r"^\| (\S.*?) \| [\d.]+x \|$", (ROOT / "docs" / "figures.md").read_text(), re.MULTILINE)
    assert len(names) > 6
    assert [name for name in names if re.search(r"\d,\d{3}", name)] == []
