"""Writes docs/reference/ and docs/mqadmin.md from the code: keys of servers, commands, errors and answer codes.

python scripts/reference.py           writes the pages
python scripts/reference.py --check   fails when one is not what the code says
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import click

import sprocketmq.client.errors
import sprocketmq.errors
from sprocketmq.cli.main import COMMANDS
from sprocketmq.cli.main import main as sprocket
from sprocketmq.cli.mqadmin.tasks import TASKS
from sprocketmq.cli.output.config_help import broker_settings
from sprocketmq.codes import ResponseCode
from sprocketmq.config import Setting, settings_of
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.errors import SprocketError
from sprocketmq.nameserver.config import NameserverConfig

DOCS = Path(__file__).parents[1] / "docs"
MADE = "Made from the code by `scripts/reference.py`; a test holds it complete.\n"
SETTINGS = """A key stands in a properties file (`--config FILE`, RocketMQ's own works) or behind `--set KEY=VALUE`,
which wins. Keys marked *run time* can be changed by `sprocket broker config` or mqadmin while the server runs. A key
that no server knows is warned of, with the nearest that one does."""
ERRORS = """Every exception is a `SprocketError`; `retriable` says whether the same call may succeed when it is made
again."""
MQADMIN = """mqadmin itself works against our servers unmodified. Where it is not at hand, `sprocket mqadmin NAME` takes
its names and options for the tasks below, and says which command of ours that is:

    sprocket mqadmin topicList -n 127.0.0.1:9876"""
SERVERS: dict[str, tuple[str, Callable[[], Mapping[str, Setting]]]] = {
    "broker": ("`sprocket broker`, and each broker of `sprocket up`", broker_settings),
    "nameserver": ("`sprocket nameserver`", lambda: settings_of(NameserverConfig)),
    "controller": ("`sprocket controller`", lambda: settings_of(ControllerConfig)),
}


def settings_page() -> Iterator[str]:
    yield from ("# Settings of the servers", "", MADE)
    yield SETTINGS
    for name, (who, table) in SERVERS.items():
        rows = table()
        yield from (
            "",
            f"## {name}",
            "",
            f"Of {who}.",
            "",
            "| key | type | default | run time | |",
            "|---|---|---|---|---|",
        )
        yield from (setting_row(rows[key]) for key in sorted(rows, key=str.lower))


def setting_row(row: Setting) -> str:
    kind = " ".join(row.kind.__members__) if issubclass(row.kind, Enum) else row.kind.__name__.lower()
    low = f" ≥ {row.low:g}" if row.low is not None else ""
    return f"| `{row.key}` | {kind}{low} | {shown(row)} | {'yes' if row.runtime else ''} | {row.doc} |"


def shown(row: Setting) -> str:
    value = row.default
    if row.key == "brokerName":
        return "the machine's name"
    if isinstance(value, Path):
        return f"`{str(value).replace(str(Path.home()), '~')}`"
    text = value.name if isinstance(value, Enum) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else ""


def commands_page() -> Iterator[str]:
    yield from ("# Commands", "", MADE)
    yield "What they have in common is in [The command line](../cli.md). `--help` behind any of them shows the same."
    context = click.Context(sprocket, info_name="sprocket")
    for name in COMMANDS:
        command = sprocket.get_command(context, name)
        assert command is not None
        yield from command_lines(command, f"sprocket {name}", "##")


def command_lines(command: click.Command, name: str, mark: str) -> Iterator[str]:
    yield from ("", f"{mark} {name}", "", (command.help or "").strip().split("\f")[0])
    context = click.Context(command, info_name=name)
    rows = [row for parameter in command.params if (row := parameter_row(parameter, context))]
    if rows:
        yield from ("", "| | |", "|---|---|", *rows)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from command_lines(found, f"{name} {each}", "###")


def parameter_row(parameter: click.Parameter, context: click.Context) -> str | None:
    if isinstance(parameter, click.Argument):
        return f"| `{parameter.make_metavar(context)}` | |"
    record = parameter.get_help_record(context)
    if record is None:
        return None
    escaped = [" ".join(part.split()).replace("|", "\\|").replace("<", "&lt;") for part in record]
    return f"| `{escaped[0].replace('&lt;', '<')}` | {escaped[1]} |"


def errors_page() -> Iterator[str]:
    yield from ("# Errors", "", MADE)
    yield ERRORS
    yield from ("", "## Exceptions", "", "| exception | is a | retriable | |", "|---|---|---|---|")
    for kind in sorted(all_errors(SprocketError), key=lambda found: (found.__module__, found.__name__)):
        first = (kind.__doc__ or "").strip().split("\n")[0]
        again = "yes" if is_retriable(kind) else ""
        yield f"| `{kind.__name__}` | `{kind.__bases__[0].__name__}` | {again} | {first} |"
    yield from (
        "",
        "## Answers",
        "",
        "The codes that servers answer with; `Refused.code` has them.",
        "",
        "| code | name |",
        "|--:|---|",
    )
    yield from (f"| {code.value} | {code.name} |" for code in sorted(ResponseCode, key=lambda found: found.value))


def all_errors(base: type[SprocketError]) -> set[type[SprocketError]]:
    modules = {sprocketmq.errors.__name__, sprocketmq.client.errors.__name__}
    found = {base}
    for kind in base.__subclasses__():
        found |= all_errors(kind)
    return {kind for kind in found if kind.__module__ in modules}


def is_retriable(kind: Any) -> bool:
    return getattr(kind, "retriable", False) is True


def mqadmin_page() -> Iterator[str]:
    yield from ("# For mqadmin people", "", MADE, MQADMIN, "", "| mqadmin | here |", "|---|---|")
    yield from (f"| `{name}` | `sprocket {' '.join(task.words)}` |" for name, task in sorted(TASKS.items()))


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/settings.md": settings_page,
    "reference/commands.md": commands_page,
    "reference/errors.md": errors_page,
    "mqadmin.md": mqadmin_page,
}


def main() -> int:
    wrong = []
    (DOCS / "reference").mkdir(exist_ok=True)
    for name, page in PAGES.items():
        text = "\n".join(page()) + "\n"
        if "--check" not in sys.argv:
            (DOCS / name).write_text(text)
        elif not (DOCS / name).exists() or (DOCS / name).read_text() != text:
            wrong.append(name)
    if wrong:
        print(f"{', '.join(wrong)}: not what the code says; run scripts/reference.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
