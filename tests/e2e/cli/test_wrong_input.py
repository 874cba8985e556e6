"""What people mistype: one line that names it, exit code 2 or 1, never a traceback and never a silent nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from tests.e2e.cli.commands import HANG, argv, environment, piped, rows, sprocket

from sprocketmq.testing import EmbeddedCluster

SEND = ("send", "things", "x")
READ = ("consume", "things", "-e")
NO_TEXT = b"\xff"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        assert sprocket(running.nameserver, "topic", "create", "things", "--queues", 4).returncode == 0
        assert sprocket(running.nameserver, "send", "things", "one").returncode == 0
        yield running


def called(server: EmbeddedCluster, *arguments: str | bytes, stdin: bytes = b"") -> tuple[int, str]:
    """Its exit code and the one line that it says."""
    words = [word if isinstance(word, bytes) else word.encode() for word in arguments]
    done = subprocess.run(
        [*argv(), *words], input=stdin, capture_output=True, env=environment(server.nameserver), timeout=HANG,
        check=False,
    )  # fmt: skip
    said = done.stderr.decode().splitlines()
    assert len(said) == 1, said
    return done.returncode, said[0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((*SEND, "--delay", "nan"), 2, "'nan' is not a number"),
        ((*SEND, "--delay", "inf"), 2, "'inf' is not a number"),
        ((*SEND, "--delay", "1e300"), 2, "delay of 1e+300 seconds"),
        ((*SEND, "--delay", "1", "--delay-level", "3"), 2, "exclude one another"),
        ((*SEND, "--timeout", "nan"), 2, "'nan' is not a number"),
        ((*SEND, "--group", "a b"), 2, "the group 'a b' has other characters"),
        ((*SEND, "--key", NO_TEXT), 2, "'--key': b'\\xff' is not UTF-8"),
        ((*SEND, "--property", b"a=" + NO_TEXT), 2, "'--property'"),
        ((*SEND, "--shard", NO_TEXT), 2, "'--shard'"),
        ((*SEND, "--access-key", NO_TEXT, "--secret-key", "s"), 2, "'--access-key'"),
        ((*SEND, "-K:"), 2, "--key-delimiter is a TEXT in the lines of the standard input"),
        (("send", "things", "-K", ""), 2, "--key-delimiter is a TEXT in the lines of the standard input"),
        (("send", "things", "-c", "5"), 2, "--count is for a BODY or a --file"),
        (("send", "things", "--file", "/dev/zero"), 2, "/dev/zero: more than the 4194304 bytes"),
        ((*READ, "--from", "9" * 20), 2, "is not first, last, -N, an offset or a time"),
        ((*READ, "--from", "99999999999d"), 2, "is not first, last, -N, an offset or a time"),
        ((*READ, "--from", "0001-01-01T00:00:00+14:00"), 2, "is not first, last, -N, an offset or a time"),
        ((*READ, "--group", "g", "--from", "1"), 2, "1 is for reading without a group"),
        ((*READ, "--timeout", "nan"), 2, "'nan' is not a number"),
        ((*READ, "--tag", "a", "--sql", "b = 1"), 2, "give --tag or --sql, not both"),
        ((*READ, "--tag", NO_TEXT), 2, "'--tag'"),
        ((*READ, "--queue", "9"), 1, "things has no queue 9: it has 0 to 3"),
        (("topic", "route", NO_TEXT), 2, "'NAME': b'\\xff' is not UTF-8"),
        (("topic", "delete", NO_TEXT, "--yes"), 2, "'NAME'"),
        (("message", "get", NO_TEXT), 2, "'ID'"),
        (("user", "remove", NO_TEXT, "--yes"), 2, "'NAME'"),
        (("cluster", "--watch", "nan"), 2, "'nan' is not a number"),
    ],
)
def test_one_line_names_what_was_wrong(
    server: EmbeddedCluster, arguments: tuple[str | bytes, ...], code: int, said: str
) -> None:
    got, line = called(server, *arguments)
    assert (got, said in line) == (code, True), line


def test_a_line_without_an_end_does_not_fill_the_memory(server: EmbeddedCluster) -> None:
    """It is not read to its end: `head` goes on writing, and finds that nobody reads."""
    line = '(echo first; head -c 100000000 /dev/zero; echo ${PIPESTATUS[0]} >&2) | "$@"'
    code, _, said = piped(server.nameserver, line, "send", "endless")
    assert code == 2
    assert "141" in said.split()
    assert "sprocket: line 2: more than 5242880 bytes" in said


def test_a_body_and_a_format_are_any_bytes(server: EmbeddedCluster) -> None:
    words: list[str | bytes] = [*argv("send", "octets", "--json"), b"\xff\x01"]
    done = subprocess.run(words, capture_output=True, env=environment(server.nameserver), timeout=HANG, check=True)
    assert b'"OK"' in done.stdout
    words = [*argv("consume", "octets", "-e", "-f"), b"\xfe%s"]
    done = subprocess.run(words, capture_output=True, env=environment(server.nameserver), timeout=HANG, check=True)
    assert done.stdout == b"\xfe\xff\x01"


def test_a_tab_parts_keys_from_bodies(server: EmbeddedCluster) -> None:
    rows(server.nameserver, "send", "tabs", "-K", r"\t", stdin=b"k1\tone\nk2\ttwo\n")
    seen = sprocket(server.nameserver, "consume", "tabs", "-e", "-f", r"%k\t%s\n")
    assert seen.stdout == b"k1\tone\nk2\ttwo\n"


def test_more_messages_than_there_can_be_are_all(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "consume", "things", "--from", "-" + "9" * 20, "-e", "--raw").stdout == b"one\n"


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii", "utf-8"])
def test_tables_in_any_encoding(server: EmbeddedCluster, encoding: str) -> None:
    """As in files and pipes of Windows; what the encoding lacks is escaped."""
    assert sprocket(server.nameserver, "send", "words", "你", "--key", "schlüssel").returncode == 0
    done = sprocket(server.nameserver, "message", "find", "words", "--key", "schlüssel", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"words" in done.stdout
    shown = done.stdout.decode("utf-8" if encoding == "ascii" else encoding)
    assert "schlüssel" in shown
    assert ("你" in shown) != ("\\u4f60" in shown)
