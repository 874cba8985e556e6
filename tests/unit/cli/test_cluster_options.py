"""What every command that talks to a cluster shares: the letter -n, hints, and a ^C at any moment."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner, Result

from sprocketmq.cli import cluster_options
from sprocketmq.cli.cluster_options import CountCommand, advice, run_client
from sprocketmq.client.errors import Refused
from sprocketmq.client.options import ClientOptions
from sprocketmq.codes import ResponseCode


@click.command(cls=CountCommand)
@click.argument("words", nargs=-1)
@click.option("-c", "--count", default=1)
@cluster_options.cluster_options
def counting(options: ClientOptions, words: tuple[str, ...], count: int) -> None:
    click.echo(f"{options.nameservers[0]} {count} {' '.join(words)}")


def ran(*arguments: str) -> Result:
    result = CliRunner().invoke(counting, arguments, env={"SPROCKET_NAMESERVER": "env:1", "SPROCKET_CONFIG": "none"})
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    ("arguments", "out", "noted"),
    [
        (("-n", "host:1"), "host:1 1", False),
        (("-n", "5"), "env:1 5", True),
        (("-n5", "-n", "host:1"), "host:1 5", True),
        (("-c", "5"), "env:1 5", False),
        (("--", "-n", "5"), "env:1 1 -n 5", False),
    ],
)
def test_a_number_behind_n_is_a_count_still(arguments: tuple[str, ...], out: str, noted: bool) -> None:
    result = ran(*arguments)
    assert result.stdout.strip() == out
    assert ("-c or --count" in result.stderr) == noted


def test_an_interrupt_before_the_work_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    async def work() -> None:
        return

    monkeypatch.setattr("sprocketmq.remoting.loop.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_client(work())  # a coroutine that nobody awaits would be a warning, which is an error here


def test_hints_of_refusals() -> None:
    assert "--access-key" in advice(Refused(ResponseCode.NO_PERMISSION, "the topic may not be written"))
    assert advice(Refused(ResponseCode.NO_PERMISSION, "flushDiskType cannot be changed while the broker runs")) == ""
    assert "--nameserver" in advice(Refused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, None))
