"""`sprocket consume` in pipes: what was not written was not consumed, and nothing is sent back."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cli.commands import HANG, argv, environment, piped, rows, sprocket

from sprocketmq.client import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync_admin import AdminClient
from sprocketmq.testing import EmbeddedCluster

HOW = [(), ("--orderly",)]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(conf={"defaultTopicQueueNums": "1"}) as running:
        yield running


def send(server: EmbeddedCluster, topic: str, count: int, width: int = 1) -> None:
    lines = "".join(f"{number:0{width}}\n" for number in range(count)).encode()
    assert sprocket(server.nameserver, "send", topic, "-", "--shard", "s", stdin=lines).returncode == 0


def place(server: EmbeddedCluster, group: str, topic: str) -> int:
    """How far the group is, and that nobody has sent anything back: that would wait with the delayed messages."""
    with AdminClient(server.nameserver) as admin:
        for waiting in (f"%RETRY%{group}", "SCHEDULE_TOPIC_XXXX"):
            assert all(offset.max_offset == 0 for offset in admin.topics.stats(waiting).values())
        return sum(offset or 0 for offset in admin.offsets.get(group, topic).values())


@pytest.mark.parametrize("how", HOW)
def test_a_reader_that_goes_away(server: EmbeddedCluster, how: tuple[str, ...]) -> None:
    topic, group = f"pipe{len(how)}", f"pipe-g{len(how)}"
    send(server, topic, 500, 4_000)  # far more than a pipe holds: a slow `head` stops the writing, not the end
    code, out, errors = piped(server.nameserver, '"$@" | head -n 3', "consume", topic, "--group", group,
                              "--from", "first", *how)  # fmt: skip
    assert (code, errors) == (141, "")
    assert len(out.splitlines()) == 3
    assert 3 <= place(server, group, topic) < 500


@pytest.mark.parametrize("how", HOW)
def test_an_output_that_is_full(server: EmbeddedCluster, how: tuple[str, ...]) -> None:
    topic, group = f"full{len(how)}", f"full-g{len(how)}"
    send(server, topic, 5)
    code, _, errors = piped(server.nameserver, '"$@" > /dev/full', "consume", topic, "--group", group,
                            "--from", "first", *how)  # fmt: skip
    assert code == 1
    assert errors.count("\n") == 1
    assert "No space left" in errors
    assert place(server, group, topic) == 0


@pytest.mark.parametrize("how", HOW)
def test_as_many_as_were_asked_for(server: EmbeddedCluster, how: tuple[str, ...]) -> None:
    topic, group = f"count{len(how)}", f"count-g{len(how)}"
    assert sprocket(server.nameserver, "topic", "create", topic, "--queues", 4).returncode == 0
    with Producer("tests", server.nameserver) as producer:
        for _ in range(12):  # to all queues
            producer.send(Message(topic, b"x"))
    for count, expected in ((1, 1), (2, 3)):
        words = ("consume", topic, "--group", group, "--from", "first", "-n", count)
        done = sprocket(server.nameserver, *words, *how)
        assert done.returncode == 0, done.stderr
        assert place(server, group, topic) == expected


def test_a_reader_that_goes_away_while_nothing_comes(server: EmbeddedCluster) -> None:
    send(server, "idle", 1)
    code, out, errors = piped(server.nameserver, '"$@" | head -n 1', "consume", "idle", "--group", "idle-g",
                              "--from", "first")  # fmt: skip
    assert (code, out.endswith(" 0\n"), errors) == (141, True, "")
    assert rows(server.nameserver, "group", "lag", "idle-g")[0]["lag"] == 0


def test_what_was_sent_back_comes_again(server: EmbeddedCluster) -> None:
    send(server, "again", 1)
    first = sprocket(server.nameserver, "consume", "again", "--group", "again-g", "--from", "first", "-n", "1")
    assert first.returncode == 0, first.stderr
    with Producer("tests", server.nameserver) as producer:
        producer.send(Message("%RETRY%again-g", b"retried"))
    again = sprocket(server.nameserver, "consume", "again", "--group", "again-g", "-n", "1", "--timeout", "60")
    assert again.stdout.decode().endswith(" retried\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_the_place(server: EmbeddedCluster, number: signal.Signals, code: int) -> None:
    topic, group = f"signal{code}", f"signal-g{code}"
    send(server, topic, 3)
    command = argv("consume", topic, "--group", group, "--from", "first", "--raw")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(server.nameserver)) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [b"0\n", b"1\n", b"2\n"]
        process.send_signal(number)
        assert process.wait(HANG) == code
    assert place(server, group, topic) == 3


def test_popping_and_broadcasting(server: EmbeddedCluster, tmp_path: Path) -> None:
    send(server, "kinds", 5)
    words = ("consume", "kinds", "--group", "kinds-g", "--from", "first", "--raw", "--timeout", "60")
    popped = sprocket(server.nameserver, *words, "--pop", "-c", "1")
    assert (popped.returncode, len(popped.stdout.splitlines())) == (0, 1)
    done = sprocket(server.nameserver, *words, "--broadcast", "-c", "2", HOME=str(tmp_path))
    assert (done.stdout, done.returncode) == (b"0\n1\n", 0)


def test_no_output_at_all(server: EmbeddedCluster) -> None:
    send(server, "closed", 1)
    code, _, errors = piped(server.nameserver, '"$@" >&-', "consume", "closed", "-e")
    assert (code, errors) == (1, "sprocket: the standard output is closed\n")
