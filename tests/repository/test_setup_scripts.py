"""What `make` says while it sets up: a line per stage with its seconds, and nothing of a stage that went well."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[2]


def stage(*command: str) -> tuple[int, str, str]:
    source = ". scripts/stages.sh; stage 'some packages' \"$@\""
    done = subprocess.run(["sh", "-c", source, "sh", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_stage_is_one_line_with_its_seconds() -> None:
    code, said, errors = stage("echo", "noise")
    assert (code, errors) == (0, "")
    assert re.fullmatch(r"setup  some packages \.* \d+ s\n", said)


def test_a_stage_that_fails_shows_why() -> None:
    code, said, errors = stage("sh", "-c", "echo why; exit 3")
    assert (code, errors) == (3, "why\n")
    assert said.startswith("setup  some packages ")


def test_the_demo_says_first_what_it_will_take() -> None:
    said = (ROOT / "scripts/setup-demo").read_text().split("echo ", 1)[1].splitlines()[0]
    assert "minute" in said
    assert "GB" in said


def test_the_demo_installs_what_the_readme_goes_on_with() -> None:
    """Its environment is the one in which a newcomer types `sprocket up`, and opens the console."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements-demo.lock").read_text(), re.MULTILINE))
    wanted = [each for part in ("cli", "broker", "dashboard", "spark") for each in extras[part]]
    assert {re.split(r"[<>=;\[ ]", each)[0].lower() for each in wanted} <= locked


def test_an_index_page_has_what_it_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["dynamic"]) == {"readme", "urls"}
    assert "Programming Language :: Python :: 3.11" in project["classifiers"]
    assert len(project["dependencies"]) <= 3


def metadata(directory: Path, home: str) -> Message:
    """What a wheel that is built in a copy of the project says of itself."""
    (directory / "src/sprocketmq").mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, directory)
    build = "from setuptools.build_meta import prepare_metadata_for_build_wheel as made; print(made('.'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=directory, capture_output=True, text=True, check=True,
        env={**os.environ, "SPROCKETMQ_PURE": "1", "SPROCKETMQ_HOME_PAGE": home},
    )  # fmt: skip
    return message_from_string((directory / done.stdout.splitlines()[-1] / "METADATA").read_text())


def relative_links(page: str) -> list[str]:
    return re.findall(r"\]\((?!https://|#)[^)]*\)", page)


def test_the_links_of_an_index_page_lead_to_where_the_project_lives(tmp_path: Path) -> None:
    told = metadata(tmp_path, "https://example.org/someone/project/")
    assert "Source, https://example.org/someone/project" in told.get_all("Project-URL", [])
    page = told.get_payload()
    assert isinstance(page, str)
    assert not relative_links(page)
    assert "[Quick start](https://example.org/someone/project/blob/main/docs/quick-start.md)" in page
    assert "](https://example.org/someone/project/raw/main/docs/images/console-overview.png)" in page
    assert told["Description-Content-Type"] == "text/markdown"


def test_nobody_is_led_nowhere_by_an_index_page(tmp_path: Path) -> None:
    told = metadata(tmp_path, "")
    assert told.get_all("Project-URL") is None
    page = told.get_payload()
    assert isinstance(page, str)
    assert not relative_links(page)
    assert "Quick start" in page
    assert "console-overview.png" not in page
