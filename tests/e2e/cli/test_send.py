"""`sprocket send` in pipes: lines go out as they come, errors name their line, ^C ends it at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cli.commands import HANG, argv, environment, lines, piped, rows, sprocket

from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


def bodies(server: EmbeddedCluster, topic: str) -> list[bytes]:
    return sprocket(server.nameserver, "consume", topic, "-e", "--raw").stdout.splitlines()


def start(server: EmbeddedCluster, *arguments: object, stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv("send", *arguments), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(server.nameserver),
    )  # fmt: skip


def test_lines_are_sent_as_they_come(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "topic", "create", "stream").returncode == 0
    with start(server, "stream", "--timeout", 60) as process:
        assert process.stdin is not None
        for number in range(2):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            seen = sprocket(server.nameserver, "consume", "stream", "--group", "s", "--from", "first", "-c", 1, "--raw")
            assert seen.stdout == b"%d\n" % number
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 130
        assert b"Traceback" not in (process.stderr.read() if process.stderr else b"")


def test_a_terminal_gets_a_hint_and_ends_at_the_first_interrupt(server: EmbeddedCluster) -> None:
    ours, theirs = pty.openpty()
    try:
        with start(server, "tty", stdin=theirs) as process:
            assert process.stderr is not None
            assert b"one message per line" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(HANG) == 130
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("how", [("--delay", 1), ("--delay-level", 1), ()])
def test_what_no_batch_takes_is_sent_all_the_same(server: EmbeddedCluster, tmp_path: Path, how: tuple[object]) -> None:
    body = tmp_path / "body"
    body.write_bytes(bytes(range(256)) * 100)
    topic = f"alone{len(how)}{how[:1] == ('--delay',)}"
    (receipt,) = rows(server.nameserver, "send", topic, "--file", body, *how)
    assert receipt["status"] == "OK"
    seen = sprocket(server.nameserver, "consume", topic, "--from", "first", "-c", 1, "-f", "%s")
    assert seen.stdout == body.read_bytes()


def test_an_error_names_its_line(server: EmbeddedCluster) -> None:
    data = b"1\n2\n" + b"x" * 5_000_000 + b"\n4\n"
    done = sprocket(server.nameserver, "send", "lines", stdin=data)
    assert done.returncode == 2
    first, second = done.stderr.decode().splitlines()
    assert first == "sent 2 messages to lines before this:"
    assert second.startswith("sprocket: line 3: ")
    assert bodies(server, "lines") == [b"1", b"2"]


def test_one_message_is_not_many(server: EmbeddedCluster) -> None:
    done = sprocket(server.nameserver, "send", "one-line", stdin=b"1\n" + b"x" * 5_000_000 + b"\n")
    assert done.stderr.decode().splitlines()[0] == "sent 1 message to one-line before this:"


def test_a_cluster_that_goes_away_is_told_once() -> None:
    with EmbeddedCluster() as gone, start(gone, "away", "--timeout", 10) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        assert sprocket(gone.nameserver, "consume", "away", "-c", 1, "--from", "first", "--group", "g").returncode == 0
        gone.stop()
        _, errors = process.communicate(b"more\n" * 50_000, HANG)
        assert process.returncode == 1
        told = [
            line for line in errors.decode().splitlines() if not line.startswith(("connection lost", "waiting for"))
        ]
        assert len(told) <= 2, told
        assert told[-1].count("line ") == 1
        assert b"line " in errors


def test_keys_in_lines(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "send", "keyed", "-K:", stdin=b"k1:a:b\nk2:c\n").returncode == 0
    found = lines(server.nameserver, "consume", "keyed", "-e")
    assert {(tuple(each["keys"]), each["body"]) for each in found} == {(("k1",), "a:b"), (("k2",), "c")}
    bad = sprocket(server.nameserver, "send", "keyed", "-K:", stdin=b"k1:a\nnone\n")
    assert (bad.returncode, b"line 2: no key" in bad.stderr) == (2, True)


def test_a_file_is_one_body(server: EmbeddedCluster, tmp_path: Path) -> None:
    content = b"\x00\xff\nsecond line\n"
    (tmp_path / "body").write_bytes(content)
    assert sprocket(server.nameserver, "send", "file", "--file", tmp_path / "body").returncode == 0
    assert sprocket(server.nameserver, "send", "file", "--file", "-", stdin=b"text").returncode == 0
    binary, text = lines(server.nameserver, "consume", "file", "-e")
    assert (binary["body"], binary["body_base64"]) == (None, "AP8Kc2Vjb25kIGxpbmUK")
    assert (text["body"], "body_base64" in text) == ("text", False)
    assert sprocket(server.nameserver, "consume", "file", "--from", "first", "-c", 1, "-f", "%s").stdout == content


def test_from_one_topic_to_another(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "send", "a", "--shard", "s", stdin=b"1\n2\n3\n").returncode == 0
    words = " ".join(argv())
    code, out, errors = piped(
        server.nameserver, f'"$@" | {words} send b --shard s --json', "consume", "a", "-e", "--raw"
    )
    assert (code, errors, out.count('"OK"')) == (0, "", 3)
    assert bodies(server, "b") == [b"1", b"2", b"3"]


def test_reading_without_a_group(server: EmbeddedCluster) -> None:
    data = b"".join(b"%d\n" % number for number in range(20))
    assert sprocket(server.nameserver, "send", "peek", "--shard", "s", stdin=data).returncode == 0
    (queue,) = {each["queue"] for each in lines(server.nameserver, "consume", "peek", "-e")}
    for start_at, expected in (("first", 20), ("-3", 3), ("17", 3), ("15m", 20), ("last", 0), ("2000-01-01", 20)):
        found = sprocket(server.nameserver, "consume", "peek", "--from", start_at, "-e", "--raw").stdout.splitlines()
        assert found == [b"%d" % number for number in range(20 - expected, 20)], start_at
    assert sprocket(server.nameserver, "consume", "peek", "-e", "--queue", queue + 1).stdout == b""
    follow = sprocket(server.nameserver, "consume", "peek", "--from", "-1", "--timeout", "1", "-f", "%o %g%%\\t%S\\x21")
    assert follow.stdout == b"19 %\t2!"
    assert rows(server.nameserver, "topic", "groups", "peek") == []
    missing = sprocket(server.nameserver, "consume", "peak")
    assert (missing.returncode, b"did you mean peek?" in missing.stderr) == (1, True)


def test_a_group_up_to_the_end(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "send", "ending", stdin=b"1\n2\n3\n").returncode == 0
    for expected in (3, 0):
        done = sprocket(server.nameserver, "consume", "ending", "--group", "ending-g", "-e", "--raw")
        assert (done.returncode, len(done.stdout.splitlines())) == (0, expected)
