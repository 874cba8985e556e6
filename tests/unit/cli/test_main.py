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
        (("consume", "t", "--group", "g", "--nameserver", "127.0.0.1:1", "--timeout", "0"), 1, "`sprocket up`"),
        (("-n", "127.0.0.1:1", "topic", "list"), 2, "options stand behind the command, as in `sprocket topic list -n"),
        (("send", "t", "", "--nameserver", "127.0.0.1:1"), 2, "body"),
        (("send", "bad topic", "x"), 2, "Invalid value for TOPIC: the topic 'bad topic' has other characters"),
        (("send", "t", "--file", "/nowhere"), 2, "Invalid value for --file: File '/nowhere' does not exist"),
        (("send", "t", "x", "--delay", "soon"), 2, "Invalid value for '--delay': 'soon' is not a number"),
        (("send", "t", "x", "--property", "p"), 2, "Invalid value for --property: 'p' is not KEY=VALUE"),
        (("send", "t", "x", "--tag", "a||b"), 2, "Invalid value for --tag: 'a||b'"),
        (("topic", "create", "t", "--attribute", "p"), 2, "Invalid value for --attribute: 'p' is not KEY=VALUE"),
        (("consume", "t", "-c", "few"), 2, "'--count': 'few' is not a whole number"),
        (("consume", "t", "--from", "dawn"), 2, "Invalid value for --from: 'dawn' is not first, last"),
        (("consume", "t", "--group", "g", "--from", "-3"), 2, "Invalid value for --from: -3 is for reading without"),
        (("consume", "t", "--group", "g!"), 2, "Invalid value for --group: the group 'g!' has other characters"),
        (("consume", "t!"), 2, "Invalid value for TOPIC: the topic 't!' has other characters"),
        (("consume", "t", "-f", "%W"), 2, "Invalid value for --format: '%W' is neither a field nor an escape"),
        (("inspect", "frame", "/nowhere"), 2, "File '/nowhere' does not exist"),
        (("certs", "init", "--dir", "/proc/x"), 1, "sprocket: /proc/x: No such file or directory"),
        (("user", "list", "--store", "/nowhere"), 2, "Invalid value for --store: Directory '/nowhere' does not exist"),
        (("up", "--nameserver-port", "99999"), 2, "'--nameserver-port': 99999 is not in the range"),
        (("nameserver", "--port", "-1"), 2, "'--port': -1 is not in the range"),
        (("broker", "--port", "x"), 2, "'--port': 'x' is not a whole number"),
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
    "certs client",
    "certs init",
    "certs server",
    "up", "nameserver", "controller", "broker", "version", "filter", "completion", "mqadmin", "profile set",
    "dashboard",
    "profile use",
    "profile remove",
}  # fmt: skip


def test_every_command_that_reads_has_json() -> None:
    assert isinstance(main, LazyGroup)
    commands = [(name, command) for name, command in reads(main) if not name.startswith("pipeline")]
    assert {name.split()[0] for name, _ in commands} >= set(COMMANDS) - {"pipeline"}
    without = {name for name, command in commands if not any("--json" in p.opts for p in command.params)}
    assert without <= SILENT, without - SILENT
