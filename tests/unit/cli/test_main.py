"""The entry point: one line and the right exit code, whatever goes wrong."""

from __future__ import annotations

import errno
import sys

import click
import pytest

from sprocketmq.cli.main import COMMANDS, LazyGroup, main, run


def outcome(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what went to stderr."""
    monkeypatch.setattr("sys.argv", ["sprocket", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("version",), 0, ""),
        (("topic", "list", "--nope"), 2, "`sprocket topic list --help`"),
        (("frobnicate",), 2, "`sprocket --help`"),
        (("send",), 2, "TOPIC"),
        (("topic", "list", "--access-key", "a"), 2, "secret key"),
        (("topic", "list", "--nameserver", "127.0.0.1:1"), 1, "`sprocket up`"),
        (("consume", "t", "--group", "g", "--nameserver", "127.0.0.1:1"), 1, "`sprocket up`"),
        (("send", "t", "", "--nameserver", "127.0.0.1:1"), 2, "body"),
    ],
)
def test_one_line_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    got, errors = outcome(monkeypatch, capsys, *arguments)
    assert got == code
    assert says in errors
    assert errors.count("\n") == (1 if code else 0)


def test_no_command_shows_the_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(monkeypatch, capsys) == (0, "")
    assert (outcome(monkeypatch, capsys, "topic")[0]) == 2


def test_a_reader_that_has_enough(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(click.Group, "invoke", broken)
    monkeypatch.setattr("sys.stdout", sys.stdout)  # so that it is put back
    assert outcome(monkeypatch, capsys, "topic", "list") == (141, "")


def reads(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, click.Command]]:
    """Every command at the end of a path."""
    context = click.Context(group)
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += reads(command, (*path, name))
        else:
            found.append((" ".join((*path, name)), command))
    return found


#: They change something, or run until they are stopped, and have nothing to tell but that.
SILENT = {
    "up", "nameserver", "broker", "version", "filter", "completion", "mqadmin", "profile set", "profile use",
    "profile remove",
}  # fmt: skip


def test_every_command_that_reads_has_json() -> None:
    assert isinstance(main, LazyGroup)
    commands = [(name, command) for name, command in reads(main) if not name.startswith("pipeline")]
    assert {name.split()[0] for name, _ in commands} >= set(COMMANDS) - {"pipeline"}
    without = {name for name, command in commands if not any("--json" in p.opts for p in command.params)}
    assert without <= SILENT, without - SILENT
