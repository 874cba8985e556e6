"""Commands that show and change a cluster, as scripts run them: exit codes, and names that are not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.commands import rows, sprocket

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
