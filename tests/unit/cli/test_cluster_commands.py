"""The commands that talk to a cluster, against an embedded one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sprocketmq.cli.main import main
from sprocketmq.client.settings import ConsumerSettings
from sprocketmq.client.sync import PushConsumer
from sprocketmq.errors import SprocketError
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


def sprocket(nameserver: str, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin, env={"SPROCKET_NAMESERVER": nameserver})


def ok(nameserver: str, *arguments: str, stdin: str | None = None) -> Any:
    result = sprocket(nameserver, *arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output or result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_send_and_consume(cluster: EmbeddedCluster) -> None:
    ((sent,),) = ok(cluster.nameserver, "send", "cli-one", "hello", "--tag", "A", "--key", "k", "--property", "c=red")
    assert sent["status"] == "OK"
    (seen,) = ok(
        cluster.nameserver, "consume", "cli-one", "--group", "g1", "--from", "first", "-n", "1", "--timeout", "60"
    )
    assert (seen["body"], seen["tag"], seen["keys"], seen["id"]) == ("hello", "A", ["k"], sent["id"])
    assert seen["properties"]["c"] == "red"


def test_lines_of_the_standard_input(cluster: EmbeddedCluster) -> None:
    (receipts,) = ok(cluster.nameserver, "send", "cli-lines", "-", "--shard", "s", stdin="a\nb\n\nc\n")
    assert [receipt["offset"] for receipt in receipts] == [0, 1, 2]
    seen = ok(cluster.nameserver, "consume", "cli-lines", "--group", "g", "--from", "first", "-n", "3", "--orderly")
    assert [message["body"] for message in seen] == ["a", "b", "c"]


def test_where_a_group_is(cluster: EmbeddedCluster) -> None:
    ok(cluster.nameserver, "send", "cli-place", "x")
    ok(cluster.nameserver, "consume", "cli-place", "--group", "g3", "--from", "first", "-n", "1")
    (rows,) = ok(cluster.nameserver, "offset", "get", "g3", "cli-place")
    assert sum(row["offset"] or 0 for row in rows) == 1


def test_topics_and_routes(cluster: EmbeddedCluster) -> None:
    ok(cluster.nameserver, "send", "cli-route", "x")
    (topics,) = ok(cluster.nameserver, "topic", "list")
    assert {"topic": "cli-route"} in topics
    (((row),),) = ok(cluster.nameserver, "topic", "route", "cli-route")
    assert (row["broker"], row["address"]) == (cluster.broker_name, cluster.broker)


def test_finding_a_message(cluster: EmbeddedCluster) -> None:
    ((sent,),) = ok(cluster.nameserver, "send", "cli-find", "needle", "--key", "k7")
    (found,) = ok(cluster.nameserver, "message", "get", sent["offset_id"])
    assert found["body"] == "needle"


def test_bench(cluster: EmbeddedCluster) -> None:
    (rows,) = ok(cluster.nameserver, "bench", "-n", "500", "--in-flight", "4")
    assert [(row["what"], row["messages"]) for row in rows] == [
        ("send in batches", 500), ("consume", 500), ("send one by one", 50),
    ]  # fmt: skip
    (topics,) = ok(cluster.nameserver, "topic", "list")
    assert not [row for row in topics if row["topic"].startswith("bench-")]


def test_consuming_what_is_not_there_yet_says_so(cluster: EmbeddedCluster) -> None:
    result = sprocket(cluster.nameserver, "consume", "cli-absent", "--group", "g", "-n", "1", "--timeout", "0.1")
    assert (result.exit_code, "not there yet" in result.stderr) == (0, True)


def test_what_is_behind_the_end_of_an_expression_is_told(cluster: EmbeddedCluster) -> None:
    sprocket(cluster.nameserver, "send", "cli-sql", "x")
    for expression, is_told in (("a is null", False), ("a is null b", True)):
        result = sprocket(cluster.nameserver, "consume", "cli-sql", "-e", "--sql", expression)
        assert (result.exit_code, "ends before 'b'" in result.stderr) == (0, is_told)


def test_failures_say_what_to_do_next(cluster: EmbeddedCluster) -> None:
    offline = sprocket("127.0.0.1:1", "topic", "list")
    assert isinstance(offline.exception, SprocketError)
    assert "sprocket up" in str(offline.exception)
    unknown = sprocket(cluster.nameserver, "topic", "route", "no-such-topic")
    assert "sprocket topic list" in str(unknown.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("offset", "reset", "g", "t"),
        ("offset", "reset", "g", "t", "--to", "first", "--to-offset", "3"),
        ("send", "t", "x", "--property", "novalue"),
        ("consume", "t", "--group", "g", "--from", "whenever"),
        ("consume", "t", "--group", "a b"),
        ("consume", "a b"),
        ("consume", "t", "--group", "g", "--from", "-10"),
        ("consume", "t", "--pop"),
        ("consume", "t", "--json", "--raw"),
        ("consume", "t", "--format", "%z"),
        ("send", "t", "x", "--tag", "a||b"),
        ("send", "t", "x", "--delay", "-1"),
        ("send", "t", "x", "--file", "y"),
    ],
)
def test_bad_use_is_two(cluster: EmbeddedCluster, arguments: tuple[str, ...]) -> None:
    assert sprocket(cluster.nameserver, *arguments).exit_code == 2


def test_a_group_that_hangs_in_its_first_messages_has_a_lag_that_is_not_known(cluster: EmbeddedCluster) -> None:
    """Its retry queue has an offset, its topic has none: a zero would say that all is consumed."""
    at, held, done = cluster.nameserver, threading.Event(), threading.Event()
    ok(at, "send", "cli-stuck", "never consumed")
    consumer = PushConsumer("hangers", at, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe("cli-stuck")
    def handle(_message: object) -> None:
        held.set()
        assert done.wait(60)

    with consumer:
        try:
            assert held.wait(60)
            (rows,) = ok(at, "group", "lag", "hangers")
            (stuck,) = (row for row in rows if row["topic"] == "cli-stuck")
            assert (stuck["lag"], stuck["consumer_offset"]) == (None, None)
            said = sprocket(at, "group", "lag", "hangers").stdout
            assert said.endswith("\nlag -; no offset committed for cli-stuck\n")
            (listed,) = ok(at, "group", "list", "--details")
            assert {"group": "hangers", "members": 1, "topics": ["cli-stuck"], "lag": None} in listed
            checked = sprocket(at, "check", "--group", "hangers")
            assert checked.exit_code == 3
            assert "the lag of hangers is not known: no offset committed for cli-stuck" in checked.stdout
        finally:
            done.set()
