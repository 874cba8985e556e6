"""What every command that talks to a cluster shares: the letter -n, hints, and a ^C at any moment."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sprocketmq.cli import cluster_options
from sprocketmq.cli.cluster_options import CountCommand, advice, run_client
from sprocketmq.client.errors import Refused
from sprocketmq.client.options import ClientOptions
from sprocketmq.codes import ResponseCode
from sprocketmq.spark.options.connection import CONNECTION_OPTIONS


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


def test_spark_gets_the_same_by_its_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients are made in other processes: secrets are read here, and TLS is settings instead of a context."""
    monkeypatch.setenv("SPROCKET_CONFIG", "none")
    (tmp_path / "secret").write_text("s3cret\n")
    found: list[dict[str, str]] = []

    @click.command()
    @cluster_options.connection_options
    def job(connecting: dict[str, object]) -> None:
        found.append(cluster_options.spark_options_of(connecting))

    words = ["--access-key", "ada", "--secret-key-file", str(tmp_path / "secret"), "--tls-ca", "ca.pem"]
    for arguments in (words, [*words, "--no-tls"], ["--tls", "--tls-no-verify", "--namespace", "eu"], []):
        assert CliRunner().invoke(job, arguments, env={"SPROCKET_NAMESPACE": None}).exit_code == 0
    keys = {"accessKey": "ada", "secretKey": "s3cret"}
    assert found == [
        {**keys, "tls": "true", "tlsCaFile": "ca.pem"}, keys,
        {"namespace": "eu", "tls": "true", "tlsVerify": "false"}, {},
    ]  # fmt: skip
    assert {name for each in found for name in each} <= set(CONNECTION_OPTIONS)


def test_a_command_that_is_started_is_told_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its environment: every word about the cluster that the one which starts it was given, flags as well."""
    monkeypatch.setenv("SPROCKET_CONFIG", "none")
    told: list[dict[str, str]] = []

    @click.command()
    @cluster_options.cluster_options
    def starting(options: ClientOptions) -> None:
        told.append(cluster_options.environment_of(click.get_current_context()))

    @click.command()
    @cluster_options.connection_options
    def started(connecting: dict[str, object]) -> None:
        click.echo(cluster_options.spark_options_of(connecting))

    (tmp_path / "secret").write_text("s3cret")
    keys = ["--access-key", "ada", "--secret-key-file", str(tmp_path / "secret"), "--namespace", "eu"]
    for words in ([*keys, "--tls", "--tls-no-verify", "--tls-no-check-hostname"], ["--no-tls"], []):
        begun = CliRunner().invoke(starting, ["-n", "host:1", *words])
        assert begun.exit_code == 0, begun.output
        by_words, by_environment = CliRunner().invoke(started, words), CliRunner().invoke(started, env=told[-1])
        assert by_environment.exit_code == 0, by_environment.output
        assert by_environment.stdout == by_words.stdout
    assert "host:1" not in "".join(told[0].values())
    assert told[1:] == [{"SPROCKET_TLS": "false"}, {}]


URL = "rocketmqs://key:s%40cret@host:1?namespace=ours"


def test_a_nameserver_s_url_says_how_to_reach_it() -> None:
    options = cluster_options.options_of({"nameserver": URL})
    assert (options.nameservers, options.namespace, options.ssl is not None) == (("host:1",), "ours", True)
    assert options.credentials is not None
    assert (options.credentials.access_key, options.credentials.secret_key) == ("key", "s@cret")


def test_what_is_given_by_an_option_counts_more_than_the_url() -> None:
    given = {"nameserver": URL, "access_key": "other", "secret_key": "more", "namespace": "theirs", "tls": False}
    options = cluster_options.options_of(given)
    assert options.credentials is not None
    assert (options.credentials.access_key, options.namespace, options.ssl) == ("other", "theirs", None)
