"""Commands that show and change a cluster, as scripts run them: exit codes, and names that are not there."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import time
from collections.abc import Iterator

import pytest
from tests.e2e.cli.commands import HANG, argv, environment, piped, rows, sprocket
from tests.e2e.processes import Sprocket

from sprocketmq.client import ConsumerSettings, PushConsumer, ReceivedMessage, Retry
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        for topic in ("orders", "other"):
            assert sprocket(running.nameserver, "send", topic, "x").returncode == 0
        for group in ("billing", "idle"):
            assert sprocket(running.nameserver, "group", "create", group).returncode == 0
        consume = ("consume", "orders", "--group", "billing", "--from", "first", "--count", "1")
        assert sprocket(running.nameserver, *consume).returncode == 0
        yield running


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("topic", "delete", "ordrs", "--yes"), "no topic ordrs: did you mean orders?"),
        (("topic", "status", "ordrs"), "no topic ordrs: did you mean orders?"),
        (("topic", "groups", "ordrs"), "no topic ordrs: did you mean orders?"),
        (("topic", "perm", "ordrs", "6"), "no topic ordrs: did you mean orders?"),
        (("group", "delete", "biling", "--yes"), "no group biling: did you mean billing?"),
        (("group", "lag", "biling"), "no group biling: did you mean billing?"),
        (("group", "members", "nobody"), "no group nobody. `sprocket group list`"),
        (("offset", "get", "biling", "orders"), "no group biling: did you mean billing?"),
        (("offset", "get", "billing", "ordrs"), "no topic ordrs: did you mean orders?"),
        (("offset", "reset", "biling", "orders", "--to", "first", "--dry-run"), "no group biling"),
        (("offset", "clone", "biling", "idle", "orders"), "no group biling: did you mean billing?"),
        (("offset", "clone", "idle", "billing", "other"), "has consumed nothing of other"),
        (("broker", "status", "broker-b"), "no broker broker-b: did you mean broker-a?"),
        (("broker", "writing", "broker-b", "--forbid"), "no broker broker-b: did you mean broker-a?"),
        (("message", "find", "ordrs", "--key", "k"), "no topic ordrs: did you mean orders?"),
        (("message", "get", "C0A8012A2EE818B4AAC25F2E2C880007"), "no message C0A8012A2EE818B4AAC25F2E2C880007"),
    ],
)
def test_a_name_that_is_not_there(server: EmbeddedCluster, arguments: tuple[str, ...], says: str) -> None:
    done = sprocket(server.nameserver, *arguments)
    assert done.returncode == 1
    assert says in done.stderr.decode()
    assert (done.stderr.count(b"\n"), done.stdout) == (1, b"")


def test_a_key_that_is_not_there(server: EmbeddedCluster) -> None:
    done = sprocket(server.nameserver, "broker", "config", "broker-a", "listenPrt")
    assert (done.returncode, b"did you mean listenPort?" in done.stderr) == (2, True)


def test_nobody_connected_is_no_error(server: EmbeddedCluster) -> None:
    assert rows(server.nameserver, "group", "members", "idle") == []


def test_a_command_that_shows_changes_nothing(server: EmbeddedCluster) -> None:
    shown = sprocket(server.nameserver, "broker", "writing", "broker-a")
    assert (shown.returncode, shown.stdout.startswith(b"producers are routed to broker-a")) == (0, True)
    assert sprocket(server.nameserver, "send", "orders", "still").returncode == 0
    assert sprocket(server.nameserver, "broker", "writing", "broker-a", "--forbid").returncode == 0
    try:
        assert rows(server.nameserver, "broker", "writing", "broker-a")["writable_topics"] == 0
    finally:
        assert sprocket(server.nameserver, "broker", "writing", "broker-a", "--allow").returncode == 0


def test_every_id_that_is_printed_finds_the_message(server: EmbeddedCluster) -> None:
    (sent,) = rows(server.nameserver, "send", "ids", "needle")
    place = f"{sent['broker']}:{sent['queue']}+{sent['offset']}"
    for words in ((sent["id"],), (sent["offset_id"],), (f"ids@{place}",), (place, "--topic", "ids")):
        assert rows(server.nameserver, "message", "get", *words)["body"] == "needle"


def test_only_the_names_of_a_namespace(server: EmbeddedCluster) -> None:
    assert sprocket(server.nameserver, "send", "a1", "x").returncode == 0
    assert sprocket(server.nameserver, "send", "a1", "x", "--namespace", "ns1").returncode == 0
    assert [row["topic"] for row in rows(server.nameserver, "topic", "list", "--namespace", "ns1")] == ["a1"]
    assert sprocket(server.nameserver, "group", "create", "g1", "--namespace", "ns1").returncode == 0
    assert [row["group"] for row in rows(server.nameserver, "group", "list", "--namespace", "ns1")] == ["g1"]


def test_check_has_the_exit_codes_of_monitoring(server: EmbeddedCluster) -> None:
    lenient = ("--disk-warning", "101", "--disk-critical", "101")
    well = sprocket(server.nameserver, "check", *lenient, "--group", "billing")
    assert (well.returncode, well.stdout.startswith(b"OK: ")) == (0, True)
    assert sprocket(server.nameserver, "check", "--disk-warning", "0", "--disk-critical", "101").returncode == 1
    late = sprocket(server.nameserver, "check", *lenient, "--group", "billing", "--lag-critical", "0", "--json")
    assert (late.returncode, json.loads(late.stdout)["status"]) == (2, "critical")
    assert sprocket(server.nameserver, "check", *lenient, "--group", "billing", "--online").returncode == 2
    assert sprocket(server.nameserver, "check", *lenient, "--group", "nobody").returncode == 3
    assert sprocket(server.nameserver, "check", "--nonsense").returncode == 3
    assert sprocket(server.nameserver, "check", "--access-key", "without-a-secret").returncode == 3
    assert sprocket("127.0.0.1:1", "check").returncode == 2


def test_dead_letters_go_back_to_their_group(server: EmbeddedCluster) -> None:
    (sent,) = rows(server.nameserver, "send", "dying", "poison", "--key", "k1")
    create = ("group", "create", "mourners", "--retries", "0")
    assert sprocket(server.nameserver, *create).returncode == 0
    asyncio.run(bury(server.nameserver, "dying", "mourners"))
    assert rows(server.nameserver, "dlq", "list")[0]["messages"] == 1
    (letter,) = rows(server.nameserver, "dlq", "show", "mourners")
    assert (letter["id"], letter["topic"], letter["body"]) == (sent["id"], "dying", "poison")
    assert rows(server.nameserver, "dlq", "resend", "mourners", "--all", "--dry-run")[0]["sent"] is False
    assert rows(server.nameserver, "dlq", "resend", "mourners", sent["id"]) == [
        {"id": sent["id"], "topic": "dying", "sent": True}
    ]
    again = sprocket(
        server.nameserver, "consume", "dying", "--group", "mourners", "-c", "1", "--timeout", "60", "--json"
    )
    assert json.loads(again.stdout)["id"] == sent["id"]
    assert sprocket(server.nameserver, "dlq", "resend", "mourners", "--all", "--to", "copies").returncode == 0
    copy = sprocket(server.nameserver, "consume", "copies", "-e", "-f", "%k %s")
    assert copy.stdout == b"k1 poison"
    assert sprocket(server.nameserver, "dlq", "resend", "mourners", "nope").returncode == 1


async def bury(nameserver: str, topic: str, group: str) -> None:
    """Consume one message and give up on it."""
    failed = asyncio.Event()
    settings = ConsumerSettings(consume_from="first", max_reconsume_times=0)
    consumer = PushConsumer(group, nameserver, settings=settings)

    async def fail(_: ReceivedMessage) -> Retry:
        failed.set()
        return Retry(-1)

    consumer.add_handler(topic, fail)
    async with consumer:
        await asyncio.wait_for(failed.wait(), 60)


def test_mqadmin_names(server: EmbeddedCluster) -> None:
    done = sprocket("", "mqadmin", "topicRoute", "-n", server.nameserver, "-t", "orders", "--", "--json")
    assert json.loads(done.stdout)[0]["broker"] == "broker-a"
    assert sprocket(server.nameserver, "mqadmin", "topicRoute", "-t", "ordrs").returncode == 1
    assert b"updateTopic" in sprocket(server.nameserver, "mqadmin").stdout


def test_details_of_lists(server: EmbeddedCluster) -> None:
    topics = {row["topic"]: row for row in rows(server.nameserver, "topic", "list", "--details")}
    assert (topics["other"]["brokers"], topics["other"]["messages"]) == (["broker-a"], 1)
    groups = {row["group"]: row for row in rows(server.nameserver, "group", "list", "--details")}
    assert (groups["billing"]["members"], groups["billing"]["topics"]) == (0, ["orders"])


def test_a_reset_shows_where_the_group_was(server: EmbeddedCluster) -> None:
    moved = rows(server.nameserver, "offset", "reset", "billing", "orders", "--to", "first")
    assert sum(row["moved"] for row in moved if row["moved"] is not None) == -1
    assert sum(row["before"] or 0 for row in moved) == 1


def test_saying_no_changes_nothing(server: EmbeddedCluster) -> None:
    done = sprocket(server.nameserver, "topic", "delete", "orders", stdin=b"n\n")
    assert (done.returncode, done.stderr.endswith(b"aborted: nothing was changed\n")) == (1, True)


def test_a_cluster_that_is_not_whole_is_no_success() -> None:
    nameserver = Sprocket("nameserver", "--port", 0).ready("nameserver")
    try:
        address = f"127.0.0.1:{nameserver.ports['nameserver']}"
        assert sprocket(address, "cluster").returncode == 1
    finally:
        nameserver.end()


def test_a_port_in_use_says_what_to_do(server: EmbeddedCluster) -> None:
    port = server.nameserver.rpartition(":")[2]
    done = sprocket(server.nameserver, "nameserver", "--host", "127.0.0.1", "--port", port)
    assert (done.returncode, b"--port" in done.stderr.splitlines()[-1]) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--version",), 0, ""),
        ((), 0, ""),
        (("toppic",), 2, "did you mean topic?"),
        (("topic", "lst"), 2, "list"),
        (("broker", "config", "broker-a", "flushDiskType", "SYNC_FLUSH"), 1, "cannot be changed"),
        (("message", "trace", "x"), 1, "no client of this cluster traces"),
        (("topic", "status", "orders", "--watch", "soon"), 2, "`sprocket topic status --help`"),
        (("consume", "orders", "--count"), 2, "`sprocket consume --help`"),
    ],
)
def test_small_things(server: EmbeddedCluster, arguments: tuple[str, ...], code: int, says: str) -> None:
    done = sprocket(server.nameserver, *arguments)
    errors = done.stderr.decode()
    assert (done.returncode, says in errors) == (code, True), errors
    assert "?." not in errors
    assert "--access-key" not in errors


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_has_closed(server: EmbeddedCluster, closed: str) -> None:
    code, said, errors = piped(server.nameserver, f'"$@" {closed}', "topic", "status", "orders")
    assert (code, errors) == (0, "")
    assert bool(said) == (" >&-" not in f" {closed}")


def test_watching_needs_no_number(server: EmbeddedCluster) -> None:
    watch = argv("group", "lag", "billing", "--watch")
    with subprocess.Popen(watch, env=environment(server.nameserver), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        totals = (line for line in process.stdout if line.startswith("lag "))
        assert next(totals) == next(totals), "drawn once and once more"
        process.terminate()


def test_shells_complete_names_of_the_cluster(server: EmbeddedCluster) -> None:
    asked = {"_SPROCKET_COMPLETE": "bash_complete", "COMP_WORDS": "sprocket topic status or", "COMP_CWORD": "3"}
    while not (names := sprocket(server.nameserver, stdin=b"", **asked).stdout):
        pass  # a shell waits a second at most, and a busy machine may take longer
    assert b"plain,orders\n" in names
    assert b"_SPROCKET_COMPLETE=bash_complete" in sprocket(server.nameserver, "completion", "bash").stdout
    keys = {**asked, "COMP_WORDS": "sprocket broker config broker-a flushDisk", "COMP_CWORD": "4"}
    assert b"plain,flushDiskType\n" in sprocket(server.nameserver, stdin=b"", **keys).stdout


def on_terminal(nameserver: str, columns: int, *arguments: object) -> str:
    """What a person sees in a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {key: value for key, value in environment(nameserver, NO_COLOR="1").items() if key != "COLUMNS"}
    with subprocess.Popen(argv(*arguments), stdin=theirs, stdout=theirs, env=plain):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(ours, 65536):
                seen += data
    os.close(ours)
    return seen.decode()


def test_eighty_columns_cut_nothing(server: EmbeddedCluster) -> None:
    (sent,) = rows(server.nameserver, "send", "narrow", "needle", "--key", "k80")
    find = ("message", "find", "narrow", "--key", "k80")
    until = time.monotonic() + HANG
    while not rows(server.nameserver, *find) and time.monotonic() < until:
        pass  # the index is built behind the log
    narrow = on_terminal(server.nameserver, 80, *find).splitlines()
    assert f"id         {sent['id']}" in narrow
    assert f"offset id  {sent['offset_id']}" in narrow
    wide = on_terminal(server.nameserver, 300, *find).splitlines()
    assert wide[0].split()[:2] == ["topic", "broker"]
    assert sent["id"] in wide[2]
