"""The commands against each cluster, Apache's and ours: reading, finding, resending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.e2e.cli.commands import lines, rows, sprocket
from tests.peers.servers import Cluster

from sprocketmq.client import ConsumerSettings, PushConsumer, ReceivedMessage, Retry

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]


async def bury(nameserver: str, topic: str, group: str) -> None:
    """Consume one message and give up on it."""
    failed = asyncio.Event()
    consumer = PushConsumer(group, nameserver, settings=ConsumerSettings(consume_from="first"))

    async def fail(_: ReceivedMessage) -> Retry:
        failed.set()
        return Retry(-1)

    consumer.add_handler(topic, fail)
    async with consumer:
        await asyncio.wait_for(failed.wait(), 60)


def test_with_a_group_and_without(cluster: Cluster, unique: Unique) -> None:
    topic, group, at = unique("topic"), unique("g"), cluster.address
    assert sprocket(at, "topic", "create", topic, "--queues", 2).returncode == 0
    sent = rows(at, "send", topic, "--shard", "s", stdin=b"0\n1\n2\n")
    for number in range(3):
        done = sprocket(at, "consume", topic, "--group", group, "--from", "first", "-c", 1, "--raw", "--timeout", 60)
        assert done.stdout == b"%d\n" % number
    assert sum(row["lag"] for row in rows(at, "group", "lag", group)) == 0
    assert [each["body"] for each in lines(at, "consume", topic, "--from", "-2", "-e")] == ["1", "2"]
    assert rows(at, "message", "get", sent[1]["id"])["body"] == "1"
    assert rows(at, "message", "get", sent[1]["offset_id"])["body"] == "1"


def test_dead_letters(cluster: Cluster, unique: Unique) -> None:
    topic, group, at = unique("topic"), unique("g"), cluster.address
    assert sprocket(at, "topic", "create", topic, "--queues", 1).returncode == 0
    assert sprocket(at, "group", "create", group).returncode == 0
    (sent,) = rows(at, "send", topic, "poison")
    asyncio.run(bury(at, topic, group))
    (letter,) = rows(at, "dlq", "show", group)
    assert (letter["id"], letter["topic"]) == (sent["id"], topic)
    assert rows(at, "dlq", "resend", group, sent["id"])[0]["sent"] is True
    (again,) = lines(at, "consume", topic, "--group", group, "-c", 1, "--timeout", 90)
    assert (again["id"], again["body"]) == (sent["id"], "poison")


def test_check(cluster: Cluster) -> None:
    assert sprocket(cluster.address, "check", "--disk-warning", 101, "--disk-critical", 101).returncode == 0
