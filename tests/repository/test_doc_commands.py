"""Every `sprocket` line that a document prints, also where no test runs it: its command, options and keys are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.cli.main import main
from sprocketmq.config import settings_of
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.store.config import StoreConfig

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KEYS = {key for table in (BrokerConfig, StoreConfig, ControllerConfig, NameserverConfig) for key in settings_of(table)}
#: With the lines that it goes on in.
_LINE = re.compile(r"^(?:    )?(sprocket [a-z](?:\\\n|.)*)", re.MULTILINE)
#: What is said of a line stands behind it, in a column of its own or as a comment.
_SAID = re.compile(r"\s{3,}|\s+#\s|\s+&")


def printed() -> Iterator[tuple[str, str]]:
    """Each command with its page; brackets show what may be left out."""
    for page in PAGES:
        for text in _LINE.findall(page.read_text()):
            line = re.sub(r"\s*\\\n\s*", " ", text)
            line = _SAID.split(line)[0].replace("[", "").replace("]", "")
            yield from ((page.name, part.strip()) for part in re.split(r"[;|] (?=sprocket )", line))


@pytest.mark.parametrize(("page", "line"), [*printed()])
def test_it_can_be_typed(page: str, line: str) -> None:
    command: click.Command = main
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        names = words.pop(0).split("|")
        found = [command.get_command(click.Context(command), name) for name in names]
        assert None not in found, line
        command = next(each for each in found if each is not None)
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    options = [word.partition("=")[0] for word in words if re.match(r"-{1,2}[a-zA-Z]", word)]
    if command.name != "mqadmin":  # whose commands have options of their own
        assert [option for option in options if option not in known] == [], line
    keys = [value.partition("=")[0] for word, value in pairwise(words) if word == "--set"]
    assert [key for key in keys if key not in KEYS | {"KEY"}] == [], line


def test_there_are_many() -> None:
    """A pattern that finds nothing would find nothing wrong."""
    assert len({page for page, _ in printed()}) > 10
    assert any("controllerAddr" in line for _, line in printed()), "one that goes on in a second line"
