"""`sprocket mqadmin NAME ...`: what fingers and scripts know, carried out by our own commands."""

from __future__ import annotations

import click

from sprocketmq.cli.mqadmin.tasks import TASKS, Flag, Ignored, Option, Switch, Task, Word, find_option
from sprocketmq.cli.nearest import did_you_mean
from sprocketmq.errors import ConfigError


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name", required=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS]...")
@click.pass_context
def mqadmin(ctx: click.Context, /, name: str | None, words: tuple[str, ...]) -> None:
    """Carry out the mqadmin command NAME, with mqadmin's options; without a NAME, list them.

    `--json` and the options of our own commands may be given behind `--`.
    """
    if name is None:
        click.echo("\n".join(f"{each:<24}sprocket {' '.join(task.words)}" for each, task in TASKS.items()))
        return
    if name not in TASKS:
        raise ConfigError(
            f"no mqadmin command {name} here{did_you_mean(name, TASKS) or '.'} `sprocket mqadmin` lists all"
        )
    from sprocketmq.cli.main import main

    code = main.main(translate(TASKS[name], name, list(words)), prog_name="sprocket", standalone_mode=False)
    ctx.exit(code if isinstance(code, int) else 0)


def translate(task: Task, name: str, words: list[str]) -> list[str]:
    """The words of our own command; ConfigError for an option that it does not have."""
    places: dict[int, str] = {}
    options: list[str] = []
    own: list[str] = []
    while words:
        given = words.pop(0)
        if given == "--":
            own = words
            break
        if given in ("-h", "--help"):
            return [*task.words, "--help"]
        if not given.startswith("-"):
            raise ConfigError(f"mqadmin {name}: {given!r} belongs to no option")
        given, _, attached = given.partition("=")
        meaning = find_option(task, given)
        if meaning is None:
            known = ", ".join(f"-{letter} --{long}" for letter, long in task.options)
            raise ConfigError(f"mqadmin {name}: no option {given} here; it has {known or 'none'} and -n --namesrvAddr")
        if isinstance(meaning, Flag) or (isinstance(meaning, Ignored) and not meaning.has_value):
            options += [meaning.name] if isinstance(meaning, Flag) else []
            continue
        value = attached or (words.pop(0) if words else "")
        if not value:
            raise ConfigError(f"mqadmin {name}: {given} needs a value")
        try:
            _place(meaning, value.strip(), places, options)
        except ConfigError as error:
            raise ConfigError(f"mqadmin {name}: {given}: {error}") from None
    _check_places(task, name, places)
    return [*_command(task, places), *options, *own, *(["--", *_ordered(places)] if places else [])]


def _place(meaning: Word | Option | Switch | Ignored, value: str, places: dict[int, str], options: list[str]) -> None:
    if isinstance(meaning, Word):
        places[meaning.at] = meaning.convert(value)
    elif isinstance(meaning, Option):
        options += [f"{meaning.name}={meaning.convert(value)}"]
    elif isinstance(meaning, Switch):
        options += _switched(meaning, value)


def _switched(switch: Switch, value: str) -> list[str]:
    """A word that is neither of the two would choose one of them in silence: a policy that denies would allow."""
    if value.lower() == switch.on.lower():
        return [switch.name]
    if value.lower() != switch.off.lower():
        raise ConfigError(f"{value!r} is neither {switch.on} nor {switch.off}")
    return [] if switch.otherwise is None else [switch.otherwise]


def _check_places(task: Task, name: str, places: dict[int, str]) -> None:
    """The words behind one that is missing would take its place."""
    for (letter, long), meaning in task.options.items():
        if isinstance(meaning, Word) and meaning.at not in places and any(at > meaning.at for at in places):
            raise ConfigError(f"mqadmin {name}: -{letter} --{long} is missing")


def _command(task: Task, places: dict[int, str]) -> list[str]:
    if task.without is not None and not places:
        return list(task.without)
    return [*task.words, *task.always]


def _ordered(places: dict[int, str]) -> list[str]:
    return [places[at] for at in sorted(places)]
