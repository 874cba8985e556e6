"""The `sprocket` command. Each group lives in a module of its own and is imported when it is called."""

from __future__ import annotations

import io
import os
import re
import sys
from importlib import import_module

import click

#: Command name to (module in sprocketmq.cli, attribute, one-line help).
COMMANDS = {
    "inspect": ("offline.inspect", "inspect", "Decode raw frames or stored messages."),
    "up": ("serve.up", "up", "Run a nameserver and brokers in one go."),
    "nameserver": ("serve.nameserver", "nameserver", "Run a nameserver."),
    "controller": ("serve.controller", "controller", "Run a controller, which elects masters."),
    "broker": ("serve.broker", "broker", "Run a broker, or look at one that runs."),
    "dashboard": ("serve.dashboard", "dashboard", "Serve the console: a cluster in the browser."),
    "send": ("messages.send", "send", "Send messages."),
    "consume": ("messages.consume", "consume", "Print messages as they come."),
    "topic": ("admin.topic", "topic", "List, create, inspect and delete topics."),
    "group": ("admin.group", "group", "List, create, inspect and delete consumer groups."),
    "offset": ("admin.offset", "offset", "See and move the offsets of a group."),
    "message": ("admin.message", "message", "Find messages and see what became of them."),
    "cluster": ("admin.cluster", "cluster", "Every broker of the cluster, and whether it answers."),
    "replica": ("admin.replica", "replica", "Replicas of a broker set: see, elect, remove."),
    "user": ("admin.user", "user", "Who may sign requests: list, add, change, remove."),
    "acl": ("admin.acl", "acl", "What users may do: list, add, change, remove, test, export, import."),
    "dlq": ("admin.dlq", "dlq", "Messages that groups gave up on; resend them."),
    "check": ("admin.check", "check", "Is all well? Exit codes for monitoring: 0, 1, 2, 3."),
    "mqadmin": ("mqadmin.command", "mqadmin", "mqadmin's commands, by its names and options."),
    "filter": ("offline.filter", "filter_command", "Try an SQL92 expression on a message's properties."),
    "store": ("offline.store", "store", "Look into a store directory: stat, scan, verify, rebuild."),
    "pipeline": ("offline.pipeline", "pipeline", "Jobs on Spark: archive, replay, audit, rebuild, report, query."),
    "bench": ("messages.bench", "bench", "How many messages a second a cluster takes and gives."),
    "profile": ("profiles.command", "profile", "Named clusters: addresses, accounts and TLS."),
    "certs": ("certs.command", "certs", "Certificates for development: an authority, servers, clients."),
    "completion": ("completion", "completion", "Teach a shell to complete commands and names."),
    "version": ("version", "version", "Version, and whether the hot modules are compiled."),
}

#: Servers, and what looks into their files; `broker` asks for itself, for its commands do not need it.
LINUX_ONLY = frozenset({"up", "nameserver", "controller", "dashboard", "store"})

#: click calls a number with bounds a "range".
_NO_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?")
_NUMBERS = {"integer": "is not a whole number", "float": "is not a number"}
#: As a shell tells of a program that SIGPIPE has ended.
CLOSED_PIPE = 141


class ClosedPipe(Exception):
    """Whoever read us has enough. click would end with 1 for a BrokenPipeError."""


class LazyGroup(click.Group):
    """Knows every command by name and help, and imports only the one that runs: start-up stays short."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ClosedPipe from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in LINUX_ONLY:
            from sprocketmq.extras import need_linux

            need_linux(f"sprocket {cmd_name}")
        module, attribute, _ = COMMANDS[cmd_name]
        found = getattr(import_module(f"sprocketmq.cli.{module}"), attribute)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from sprocketmq.cli.nearest import did_you_mean

            ctx.fail(f"No such command {name!r}{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup, invoke_without_command=True, no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.option("-V", "--version", "show_version", is_flag=True, help="Show the version and end.")
@click.pass_context
def main(ctx: click.Context, show_version: bool) -> None:
    """SprocketMQ: a message queue for Python people."""
    if ctx.invoked_subcommand is not None:
        return
    if show_version:
        from sprocketmq.cli.version import version_line

        click.echo(version_line())
    else:
        click.echo(ctx.get_help())


def run() -> None:
    """The entry point: 0 on success, 2 on bad use, 1 on failure, one clear line and no traceback."""
    from sprocketmq.errors import ConfigError, FilterError, SprocketError

    _print_anything()
    try:
        code = main(prog_name="sprocket", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        sys.exit(_fail(*_usage(error)))
    except (ConfigError, FilterError) as error:
        sys.exit(_fail(str(error), 2))
    except ClosedPipe:
        _silence_stdout()
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        sys.exit(_fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1))
    except (SprocketError, click.ClickException) as error:
        sys.exit(_fail(str(error), 1))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(code)


def _usage(error: click.UsageError) -> tuple[str, int]:
    """What was wrong with a call, and the exit code."""
    where = error.ctx.command_path if error.ctx is not None else _called(sys.argv[1:])
    said = _NO_NUMBER.sub(lambda found: _NUMBERS[found[1]], error.format_message()).rstrip(".")
    if isinstance(error, click.NoSuchOption) and where == "sprocket":
        said += ": options stand behind the command, as in `sprocket topic list -n HOST:PORT`"
    end = "" if said.endswith("?") else "."
    code = getattr(error.ctx.command, "usage_exit", 2) if error.ctx is not None else 2
    return f"{said}{end} `{where} --help` shows what there is.", code


def _called(words: list[str]) -> str:
    """The command that was called, for errors of click's parser, which know of none."""
    command: click.Command | None = main
    path = ["sprocket"]
    for word in words:
        if not isinstance(command, click.Group) or not (command := command.get_command(click.Context(command), word)):
            break
        path.append(word)
    return " ".join(path)


def _print_anything() -> None:
    """What the output's encoding lacks is shown escaped, as errors are: a name in Chinese ends no command."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Whoever read us has enough: Python must not try to write the rest when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None  # not a file


def _fail(text: str, code: int) -> int:
    print(f"sprocket: {' '.join(text.split())}", file=sys.stderr)
    return code
