"""Every `sprocket` command that the documents print is one that `sprocket` takes, with its options and values.

Fenced `sh` blocks are run as well (tests/e2e/test_doc_pages.py). What is printed for other machines, or goes on until
it is ended, stands indented by four spaces or in a fence without a language; it is parsed here as the command would,
and not run. What prose and hints name between backticks is a command that is there, with options that it has.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from sprocketmq.cli.main import main

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")))
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".html"))
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?:`|<code>)sprocket ([^`<{\n]+)(?:`|</code>)")
#: `[--dir certs]` is how a synopsis says "if you like"; `...` says "and more".
_SYNOPSIS = re.compile(r"[\[\]]|\.\.\.")


def printed(page: str) -> list[list[str]]:
    """The words of each command behind `sprocket`; explanations stand two spaces or a `#` away."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    lines = re.findall(r"^    (\S.*sprocket .*|sprocket .*)$", _FENCED.sub("", text), re.MULTILINE)
    lines += re.findall(r"^((?:\S.*\| *)?sprocket .*)$", "".join(_SHELL.findall(text)), re.MULTILINE)
    found = []
    for line in lines:
        command = re.split(r"(?<=\S)\s{2,}(?![-'])|\s+# ", _SYNOPSIS.sub("", re.sub(r"\s{5,}--", " --", line)))[0]
        found += simple_commands(command)
    return found


def simple_commands(line: str) -> list[list[str]]:
    """As a shell takes a line apart."""
    commands: list[list[str]] = [[]]
    words = shlex.shlex(line, posix=True, punctuation_chars=";|&")
    words.whitespace_split = True
    for word in words:
        if set(word) <= set(";|&"):
            commands.append([])
        else:
            commands[-1].append(word)
    assert all(re.fullmatch("[a-z]+", words[0]) for words in commands if words), f"{line}: a `;` without quotes?"
    return [words[1:] for words in commands if words and words[0] == "sprocket"]


def parse(words: list[str]) -> None:
    """As far as a command comes before it does anything."""
    context = main.make_context("sprocket", list(words))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("page", [page for page in PAGES if printed(page)])
def test_printed_commands_are_taken(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for words in printed(page):
        try:
            parse(words)
        except click.ClickException as error:
            pytest.fail(f"{page}: sprocket {shlex.join(words)}: {error.format_message()}")


def mentioned(page: str) -> list[str]:
    return _INLINE.findall((ROOT / page).read_text())


def fault_of(mention: str) -> str | None:
    """What is wrong with the names in a mention; it need not be a whole command."""
    context = click.Context(main, info_name="sprocket")
    here: click.Command = main
    words = _SYNOPSIS.sub(" ", mention.split(" -- ")[0]).removesuffix("&").split()
    while words and isinstance(here, click.Group) and not words[0].startswith("-"):
        names = words.pop(0)
        found = [here.get_command(context, name) for name in names.split("|")]
        if None in found and not names.isupper():
            return f"no command {names}"
        here = next((each for each in found if each is not None), here)
    takes_words = isinstance(here, click.Group) or any(isinstance(each, click.Argument) for each in here.params)
    if words and not words[0].startswith("-") and not takes_words:
        return f"no argument {words[0]}"
    known = {name for option in here.get_params(context) for name in [*option.opts, *option.secondary_opts]}
    wrong = [word for word in words if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word) and word.split("=")[0] not in known]
    return f"no option {wrong[0]}" if wrong else None


@pytest.mark.parametrize("page", [page for page in (*PAGES, *SOURCES) if mentioned(page)])
def test_mentioned_commands_are_there(page: str) -> None:
    faults = [f"sprocket {each}: {fault}" for each in mentioned(page) if (fault := fault_of(each)) is not None]
    assert faults == []


def test_printed_settings_are_known() -> None:
    """The reference is made from the code, and held complete by a test."""
    known = set(re.findall(r"`([\w.]+)`", "".join(path.read_text() for path in (ROOT / "docs/reference").glob("*.md"))))
    for page in PAGES:
        text = _FENCED.sub("", (ROOT / page).read_text())
        printed_keys = set(re.findall(r"^    ([a-z][\w.]*)=\S", text, re.MULTILINE))
        printed_keys |= set(re.findall(r"--set '?([a-z][\w.]*)=", text))
        assert printed_keys <= known, page


def test_a_wrong_command_would_be_seen() -> None:
    with pytest.raises(click.ClickException):
        parse(["topic", "list", "--nope"])
    with pytest.raises(click.ClickException):
        parse(["topics", "list"])
    assert next(words[:2] for words in printed("docs/broker.md")) == ["broker", "-c"], "a fence without a language"
    assert fault_of("topic list --nope") == "no option --nope"
    assert fault_of("topic lost") == "no command lost"
    assert fault_of("topic list orders") == "no argument orders"
    assert fault_of("broker --nope x") == "no option --nope"
    assert fault_of("user|acl list") is None
