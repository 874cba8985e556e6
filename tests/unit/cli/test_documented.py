"""Every command that the README and the page of the command line print is one that there is, with these options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from sprocketmq.cli.main import main

ROOT = Path(__file__).parents[3]


def printed(page: str) -> list[str]:
    """The commands of indented lines, as typed."""
    found = []
    for line in (ROOT / page).read_text().splitlines():
        if re.match(r" {4}.*\bsprocket ", line):
            words = re.split(r"\s{3,}|\s#", line.strip())[0]
            found += [part.strip() for part in re.split(r"[|;] ", words) if part.strip().startswith("sprocket ")]
    return found


COMMANDS = printed("docs/cli.md") + printed("README.md")


def test_there_are_some() -> None:
    assert len(COMMANDS) > 25


@pytest.mark.parametrize("line", COMMANDS)
def test_it_parses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda *_: None)
    words = shlex.split(line.rstrip(' &)"'))
    assert main.main(words[1:], prog_name="sprocket", standalone_mode=False) in (None, 0)
