"""What a newcomer types in one go: a cluster in the background, and commands behind it that do not wait for it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.cli.commands import HANG, argv, environment, sprocket
from tests.e2e.processes import Sprocket, running
from tests.peers.process import free_port

#: Seconds: as long as a cluster may need to start on a machine that has other things to do.
PATIENCE = ("--timeout", HANG)


def up(directory: Path, port: int) -> tuple[object, ...]:
    set_up = ("--set", "metricsExporterType=DISABLE")
    ports = ("--nameserver-port", port, "--port", 0, "--dashboard-port", 0)
    return ("up", "--data", directory / "data", *ports, *set_up)


def test_a_send_in_the_same_instant_as_the_cluster(tmp_path: Path) -> None:
    port = free_port()
    nameserver = f"127.0.0.1:{port}"
    first = subprocess.Popen(
        argv("send", "orders", "hello", *PATIENCE),
        env=environment(nameserver), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with running(*up(tmp_path, port)):
        said, errors = first.communicate(timeout=HANG)
        assert (first.returncode, "OK" in said) == (0, True), errors
        assert len(errors.splitlines()) <= 1  # that it waits, when it had to
        consumed = sprocket(nameserver, "consume", "orders", "--group", "billing", "--from", "first", "--count", 1)
        assert consumed.stdout.endswith(b" hello\n"), consumed.stderr.decode()
        lag = sprocket(nameserver, "group", "lag", "billing")
        assert lag.stdout.splitlines()[-1] == b"lag 0", lag.stderr.decode()


@pytest.mark.parametrize("group", [(), ("--group", "billing")])
def test_a_consumer_in_the_same_instant_as_the_cluster(tmp_path: Path, group: tuple[str, ...]) -> None:
    """The topic is there already: a cluster that starts again has not lost it."""
    before = Sprocket(*up(tmp_path, 0)).ready("nameserver", "broker-a")
    sent = sprocket(f"127.0.0.1:{before.ports['nameserver']}", "send", "orders", "hello")
    assert sent.returncode == 0, sent.stderr.decode()
    before.end()
    port = free_port()
    consumer = subprocess.Popen(
        argv("consume", "orders", *group, "--from", "first", "--count", 1, *PATIENCE),
        env=environment(f"127.0.0.1:{port}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with running(*up(tmp_path, port)):
        said, errors = consumer.communicate(timeout=HANG)
    assert said.endswith(" hello\n"), errors


@pytest.mark.parametrize("command", [("send", "t", "x"), ("consume", "t"), ("consume", "t", "--group", "g")])
def test_a_wrong_nameserver_is_named_when_the_time_is_up(command: tuple[str, ...]) -> None:
    done = sprocket("127.0.0.1:1", *command, "--timeout", "0.3")
    *warnings, error = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert len(warnings) <= 1  # none when the first try alone takes that long
    assert error.startswith("sprocket: ")
    assert "nameserver 127.0.0.1:1 " in error


@pytest.mark.parametrize("command", [("send", "t", "x"), ("consume", "t"), ("consume", "t", "--group", "g")])
def test_who_has_waited_enough_is_let_go_at_once(command: tuple[str, ...]) -> None:
    longer_than_a_hang = ("--timeout", 10 * HANG)
    process = subprocess.Popen(
        argv(*command, *longer_than_a_hang), env=environment("127.0.0.1:1"), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert "waiting for the cluster" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, more = process.communicate(timeout=HANG)
    assert (process.returncode, more.strip()) == (130, "")


def test_a_command_that_shows_does_not_wait() -> None:
    done = sprocket("127.0.0.1:1", "topic", "list")
    (error,) = done.stderr.decode().splitlines()
    assert (done.returncode, error.startswith("sprocket: nameserver 127.0.0.1:1 cannot be reached")) == (1, True)
